// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the files that call CUB.
#pragma once
#include <antiphase/core/error.hpp>
#include <memory>
#include <string>

#include <cub/version.cuh>

#include "tool/rivals/rivals.hpp"

namespace antiphase::tool {

// Description of the CUB that is compiled in, without the work.
inline rival cub_as(std::string mode) {
  return {.key = "cub",
          .name = "CUB",
          .version = std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." +
                     std::to_string(CUB_SUBMINOR_VERSION),
          .mode = std::move(mode)};
}

inline void check_cub(cudaError_t result) {
  if (result != cudaSuccess)
    throw device_error(std::string("a scan of CUB failed: ") + cudaGetErrorString(result));
}

// Returns work that runs call(workspace, its size, stream). The workspace has the size that CUB reports for a
// call without one.
template <class Call> work with_workspace(const context& where, Call call) {
  std::size_t bytes = 0;
  check_cub(call(nullptr, bytes, nullptr));
  const auto workspace = std::make_shared<device_array<std::byte>>(where, bytes);
  return [=](stream on) {
    std::size_t size = bytes;
    check_cub(call(workspace->data(), size, on));
  };
}

}  // namespace antiphase::tool
