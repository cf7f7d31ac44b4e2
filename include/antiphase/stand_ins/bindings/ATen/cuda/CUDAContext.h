// SPDX-License-Identifier: Apache-2.0
// Stands in for the header of this name: see bindings.h. It also has cuBLAS, as there.
#pragma once
#include "../../../cublas_v2.h"
#include "../../bindings.h"

namespace at::cuda {
inline cublasHandle_t getCurrentCUDABlasHandle() {
  static const cublasHandle_t all = [] {
    cublasHandle_t h = nullptr;
    cublasCreate(&h);
    return h;
  }();
  cublasSetStream(all, getCurrentCUDAStream());
  return all;
}
}  // namespace at::cuda
#define TORCH_CUDABLAS_CHECK(call)                                          \
  do {                                                                      \
    const cublasStatus_t ap_status = call;                                  \
    TORCH_CHECK(ap_status == CUBLAS_STATUS_SUCCESS, "CUDA error: ", #call); \
  } while (0)
