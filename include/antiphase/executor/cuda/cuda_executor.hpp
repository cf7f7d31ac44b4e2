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
  // an artificial limit of shared memory per block; 0: the device's
  std::size_t shared_limit = 0;
};

// The devices that this build can use, in CUDA's order; empty without a GPU, a driver or the GPU part.
// `why_none`, if given, receives one sentence about why it is empty.
std::vector<device_limits> cuda_devices(std::string* why_none = nullptr);

// The number of devices, without querying them: 0 where cuda_devices() is empty. Never throws.
int cuda_device_count();

// The calling thread's current device, whichever copy of the CUDA runtime has set it. Throws not_supported
// without one.
int current_cuda_device();

// Returns the unused memory of an executor's pool (see borrow()) to the device. A no-op for executors without
// one.
void trim_pool(const executor& of);

// Throws not_supported, with the reason, if the device cannot be used. The executor keeps a pool for
// borrow(), which is trimmed to a tenth of the device's memory when a stream is waited for. All unused memory
// is returned before an allocation fails (out_of_memory, a device_error).
std::shared_ptr<const executor> make_cuda_executor(const cuda_options& options = {});

}  // namespace antiphase
