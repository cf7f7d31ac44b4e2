// SPDX-License-Identifier: Apache-2.0
// Stands in for the toolkit's header of this name, for plain CUDA under the checker.
#pragma once
#include "small_floats.h"
#define __CUDA_FP16_H__
#define __CUDA_FP16_TYPES_EXIST__

AP_SMALL_FLOAT(__half, __half2, half, to_half, from_half)
inline __half2 make_half2(__half a, __half b) { return {a, b}; }
typedef __half half;
typedef __half2 half2;
