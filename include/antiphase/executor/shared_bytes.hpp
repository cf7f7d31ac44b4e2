// SPDX-License-Identifier: Apache-2.0
// A kernel whose shared memory is as large as the launch says.
#pragma once
#include <antiphase/core/error.hpp>
#include <antiphase/executor/kernel.hpp>
#include <string>

namespace antiphase {

// The kernel with so many bytes of shared memory per block in all: its storage, and behind it what
// shared_tail() gives (device/storage.cuh). Throws bad_request if the kernel's storage is not dynamic, or
// larger.
inline kernel with_shared_bytes(kernel k, std::size_t bytes) {
  if (k.shared != shared_kind::dynamic || bytes < k.shared_bytes)
    throw bad_request("kernel " + std::string(k.name) + ": " + std::to_string(bytes) +
                      " bytes of shared memory: expected dynamic storage of " +
                      std::to_string(k.shared_bytes) + " bytes or less");
  k.shared_bytes = bytes;
  return k;
}

}  // namespace antiphase
