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
  // pretend that a block may have no more shared memory than this; 0: what the device says
  std::size_t shared_limit = 0;
};

// Devices this build can use, in CUDA's order; empty without a GPU, a driver or the GPU part. `why_none`, if
// given, receives one sentence that says why it is empty.
std::vector<device_limits> cuda_devices(std::string* why_none = nullptr);

// How many there are, without a look at them: 0 where cuda_devices() is empty. Never throws.
int cuda_device_count();

// The number of the device that is current in this thread, whichever copy of the CUDA runtime made it so.
// Throws not_supported without one.
int current_cuda_device();

// Gives back to the device what an executor keeps for borrow() and no queued work uses. Executors that keep
// nothing: does nothing.
void trim_pool(const executor& of);

// Throws not_supported, with the reason, if the device cannot be used. For borrow() it keeps memory, when a
// stream has been waited for at most a tenth of the device's; all that is free goes back before an allocation
// fails (out_of_memory, a device_error).
std::shared_ptr<const executor> make_cuda_executor(const cuda_options& options = {});

}  // namespace antiphase
