// SPDX-License-Identifier: Apache-2.0
// Device-to-device copies on a GPU.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "tool/rivals/rivals.hpp"

namespace antiphase::tool {
namespace {

// 13000 is 13.0
std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

// Versions of the runtime and the driver, which do the copy.
std::string versions() {
  int runtime = 0, driver = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  return fmt::format("CUDA runtime {}, driver for CUDA {}", version_text(runtime), version_text(driver));
}

}  // namespace

rival device_copy(const context& where, void* to, const void* from, std::size_t bytes) {
  return {.key = "memcpy",
          .name = "a copy",
          .run = [where, to, from, bytes](stream on) { where.runs_on().copy(to, from, bytes, on); },
          .version = versions(),
          .mode = "cudaMemcpyAsync, device to device"};
}

}  // namespace antiphase::tool
