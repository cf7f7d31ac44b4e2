// SPDX-License-Identifier: Apache-2.0
// PyTorch's floats of 8 bits, as CUDA's. Those without a zero of two signs (fnuz) no GPU of CUDA has.
#pragma once
#include <antiphase/plain/cuda_fp8.h>
#include "../../bindings.h"

namespace c10 {
using Float8_e4m3fn = __nv_fp8_e4m3;
using Float8_e5m2 = __nv_fp8_e5m2;
struct Float8_e4m3fnuz;
struct Float8_e5m2fnuz;
}  // namespace c10
