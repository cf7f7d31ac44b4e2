// Arithmetic whose instruction matters.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cmath>

namespace antiphase {
inline namespace AP_TARGET {

// a * b + c. On the GPU always one rounding (FFMA). On the CPU one rounding where the processor the code is compiled for has the
// instruction, else two: a software fused multiply-add would be a hundred times slower, and no result here depends on it.
template <class T> AP_DEV T multiply_add(T a, T b, T c) {
#if AP_ON_GPU || defined(__FP_FAST_FMAF)
  return fma(a, b, c);
#else
  return a * b + c;
#endif
}

}  // namespace AP_TARGET
}  // namespace antiphase
