// SPDX-License-Identifier: Apache-2.0
// Stands in for the toolkit's header of this name, for plain CUDA under the checker.
#pragma once
#include "cublas_v2.h"

// As in cublas_v2.h.
typedef struct antiphase_plain_cublas_lt* cublasLtHandle_t;
typedef struct antiphase_plain_cublas_lt_multiplication* cublasLtMatmulDesc_t;
typedef struct antiphase_plain_cublas_lt_layout* cublasLtMatrixLayout_t;
typedef struct antiphase_plain_cublas_lt_preference* cublasLtMatmulPreference_t;
inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* h) { return *h = nullptr, CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
