// SPDX-License-Identifier: Apache-2.0
// What the files that call CUB share.
#pragma once
#include <antiphase/core/error.hpp>
#include <memory>
#include <string>

#include <cub/version.cuh>

#include "tool/rivals/rivals.hpp"

namespace antiphase::tool {

// CUB as it is compiled in, without the work.
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

// A call of CUB, call(workspace, its size, stream), with a workspace of the size that a first call without
// one asks for.
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
