// SPDX-License-Identifier: Apache-2.0
// Stands in for the toolkit's header of this name, for plain CUDA under the checker.
#pragma once
#include "cuda_runtime.h"

// Types only: the pre-pass refuses the functions.
enum curandStatus_t { CURAND_STATUS_SUCCESS = 0, CURAND_STATUS_NOT_INITIALIZED = 101 };
enum curandRngType_t {
  CURAND_RNG_PSEUDO_DEFAULT = 100,
  CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141,
  CURAND_RNG_PSEUDO_MT19937 = 142,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
  CURAND_RNG_QUASI_DEFAULT = 200
};
typedef curandStatus_t curandStatus;
typedef struct antiphase_plain_curand* curandGenerator_t;
