// SPDX-License-Identifier: Apache-2.0
// The executor that runs kernels on an NVIDIA GPU. This header needs no CUDA.
#pragma once
#include <antiphase/executor/executor.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace antiphase {

struct cuda_options {
  int device = 0;
  std::size_t shared_limit = 0;  // pretend that a block may have no more shared memory than this; 0: what the device says
};

// Devices this build can use, in CUDA's order; empty without a GPU, a driver or the GPU part. `why_none`, if given, receives one
// sentence that says why it is empty.
std::vector<device_limits> cuda_devices(std::string* why_none = nullptr);

// Throws not_supported, with the reason, if the device cannot be used.
std::shared_ptr<const executor> make_cuda_executor(const cuda_options& options = {});

}  // namespace antiphase
