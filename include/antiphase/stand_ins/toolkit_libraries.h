// SPDX-License-Identifier: Apache-2.0
// Functions of cuBLAS and cuRAND with C linkage, for host code that nvcc has made from a source with the
// toolkit's own headers (--nvcc), by the stand-ins for both.
#pragma once
#include <antiphase/plain/toolkit_host.h>

#define AP_C_OR_INLINE extern "C" __attribute__((visibility("hidden"), used))
#define AP_LINE_OF_CALLER
#define AP_CALLER AP_HERE
#define AP_V2(name) name##_v2
#define cublasHgemm_v2 cublasHgemm  // which has one version
#include <antiphase/stand_ins/cublas_v2.h>
#include <antiphase/stand_ins/curand.h>
