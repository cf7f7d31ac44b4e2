// SPDX-License-Identifier: Apache-2.0
// Stands in for the header of CUDA's samples of this name, for plain CUDA under the checker.
#pragma once
#include <antiphase/plain/cuda_runtime.h>
#include "helper_string.h"

#include <antiphase/plain/letters.h>

namespace antiphase::plain {
template <class T> void must(T status, const char* call, const char* file, int line) {
  if (status == T(0)) return;
  std::fprintf(stderr, "CUDA error at %s:%d code=%d \"%s\"\n", file, line, static_cast<int>(status), call);
  std::exit(EXIT_FAILURE);
}
}  // namespace antiphase::plain
#define checkCudaErrors(call) ::antiphase::plain::must((call), #call, __FILE__, __LINE__)
#define getLastCudaError(text) ::antiphase::plain::must(cudaGetLastError(), text, __FILE__, __LINE__)
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
inline int _ConvertSMVer2Cores(int, int) { return 128; }
inline int gpuDeviceInit(int device) { return cudaSetDevice(device) == cudaSuccess ? device : -1; }
inline int gpuGetMaxGflopsDeviceId() { return 0; }
inline int findCudaDevice(int, const char**) { return gpuDeviceInit(0); }
inline bool checkCudaCapabilities(int major, int) { return major <= 9; }

#include <antiphase/plain/letters.h>
