// SPDX-License-Identifier: Apache-2.0
// Kernels whose amount of shared memory is chosen at launch.
#pragma once
#include <antiphase/core/error.hpp>
#include <antiphase/executor/kernel.hpp>
#include <string>

namespace antiphase {

// The kernel with `bytes` of shared memory per block: its storage, followed by shared_tail()
// (device/storage.cuh). Throws bad_request if the kernel's storage is not dynamic, or larger than that.
//
//   on.launch(with_shared_bytes(kernel_of<my_kernel>("mine"), 64 * 1024), grid, &params, stream);
//
inline kernel with_shared_bytes(kernel k, std::size_t bytes) {
  if (k.shared != shared_kind::dynamic || bytes < k.shared_bytes)
    throw bad_request("kernel " + std::string(k.name) + ": " + std::to_string(bytes) +
                      " bytes of shared memory: expected dynamic storage of " +
                      std::to_string(k.shared_bytes) + " bytes or less");
  k.shared_bytes = bytes;
  return k;
}

}  // namespace antiphase
