// SPDX-License-Identifier: Apache-2.0
// Stands in for the toolkit's header of this name, for plain CUDA under the checker.
#pragma once
#include "curand.h"

struct curandStateXORWOW {
  unsigned word[12];
};
struct curandStatePhilox4_32_10 {
  unsigned word[16];
};
struct curandStateMRG32k3a {
  unsigned word[18];
};
typedef curandStateXORWOW curandState, curandState_t, curandStateXORWOW_t;
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
typedef curandStateMRG32k3a curandStateMRG32k3a_t;
