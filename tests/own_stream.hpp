// SPDX-License-Identifier: Apache-2.0
// A CUDA stream for tests that need one of their own.
#pragma once
#include <cuda_runtime_api.h>

#include <antiphase/core/error.hpp>

namespace antiphase {

// Non-blocking: does not synchronise with the default stream.
struct own_stream {
  cudaStream_t get = nullptr;
  own_stream() {
    if (cudaStreamCreateWithFlags(&get, cudaStreamNonBlocking) != cudaSuccess)
      throw device_error("no stream");
  }
  own_stream(const own_stream&) = delete;
  own_stream& operator=(const own_stream&) = delete;
  ~own_stream() { cudaStreamDestroy(get); }
};

}  // namespace antiphase
