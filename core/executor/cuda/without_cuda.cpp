// SPDX-License-Identifier: Apache-2.0
// Stubs of the CUDA executor for builds without the GPU part.
#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>

namespace antiphase {
namespace {
constexpr const char* reason =
    "this build of antiphase has no GPU part (it was configured without a CUDA toolkit)";
}

std::vector<device_limits> cuda_devices(std::string* why_none) {
  if (why_none != nullptr) *why_none = reason;
  return {};
}

int cuda_device_count() { return 0; }
int current_cuda_device() { throw not_supported(fmt::format("there is no current CUDA device: {}", reason)); }
void trim_pool(const executor&) {}

std::shared_ptr<const executor> make_cuda_executor(const cuda_options&) {
  throw not_supported(fmt::format("cannot run on a GPU: {}", reason));
}

}  // namespace antiphase
