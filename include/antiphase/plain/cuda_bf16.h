// SPDX-License-Identifier: Apache-2.0
// Stands in for the toolkit's header of this name, for plain CUDA under the checker.
#pragma once
#include "small_floats.h"
#define __CUDA_BF16_H__
#define __CUDA_BF16_TYPES_EXIST__

AP_SMALL_FLOAT(__nv_bfloat16, __nv_bfloat162, bfloat16, to_bfloat, from_bfloat)
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
