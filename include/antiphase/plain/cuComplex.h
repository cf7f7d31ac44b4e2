// SPDX-License-Identifier: Apache-2.0
// Stands in for the toolkit's header of this name, for plain CUDA under the checker.
#pragma once
#include "cuda_runtime.h"

#include "letters.h"

typedef float2 cuFloatComplex;
typedef float2 cuComplex;
typedef double2 cuDoubleComplex;
#define AP_COMPLEX(T, Real, f, Make)                                                      \
  inline T Make(Real a, Real b) { return {a, b}; }                                        \
  inline Real cuCreal##f(T a) { return a.x; }                                             \
  inline Real cuCimag##f(T a) { return a.y; }                                             \
  inline T cuConj##f(T a) { return {a.x, -a.y}; }                                         \
  inline T cuCadd##f(T a, T b) { return {a.x + b.x, a.y + b.y}; }                         \
  inline T cuCsub##f(T a, T b) { return {a.x - b.x, a.y - b.y}; }                         \
  inline T cuCmul##f(T a, T b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; } \
  inline T cuCfma##f(T a, T b, T c) { return cuCadd##f(cuCmul##f(a, b), c); }             \
  inline T cuCdiv##f(T a, T b) {                                                          \
    const Real d = b.x * b.x + b.y * b.y;                                                 \
    return {(a.x * b.x + a.y * b.y) / d, (a.y * b.x - a.x * b.y) / d};                    \
  }                                                                                       \
  inline Real cuCabs##f(T a) { return std::hypot(a.x, a.y); }
AP_COMPLEX(cuFloatComplex, float, f, make_cuFloatComplex)
AP_COMPLEX(cuDoubleComplex, double, , make_cuDoubleComplex)
#undef AP_COMPLEX
inline cuComplex make_cuComplex(float a, float b) { return {a, b}; }
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return {a.x, a.y}; }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) {
  return {static_cast<float>(a.x), static_cast<float>(a.y)};
}

#include "letters.h"
