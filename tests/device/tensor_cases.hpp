// SPDX-License-Identifier: Apache-2.0
// Parameters of the Tensor Core and tensor copy kernels, and the layout of their operands.
#pragma once
#include <antiphase/core/tensor_map.hpp>
#include <antiphase/executor/kernel.hpp>
#include <cstdint>

namespace antiphase::probe {

// One block does one step: sum = c + A B, or A B if `fresh`. A is rows x 16, B is given by columns (columns x
// 16), c and out are rows x columns.
struct step_params {
  const std::uint16_t *a, *b;
  const float* c;
  float* out;
  bool fresh;
};

// The same in FP64, 16 x 8 outputs of `depth` products each, 4 or 8: A 16 x depth, B given by columns (8 x
// depth).
struct double_step_params {
  const double *a, *b, *c;
  double* out;
};

// The same of tf32: A 64 x 8, B given by columns (64 x 8), of FP32 numbers.
struct tf32_step_params {
  const float *a, *b, *c;
  float* out;
  int piece;
  bool fresh;
};

// Result of ldmatrix for 32 rows of eight, out[transposed][matrix][lane].
struct load_params {
  const std::uint16_t* in;
  std::uint32_t* out;
};

// One box, in its shared-memory layout.
struct box_params {
  tensor_map map;
  int first[tensor_dimensions];
  int bytes;
  unsigned char* out;
};
constexpr int box_limit = 32 * 1024;

// out (64 x 64) = A (64 x k) B (k x 64), both row-major, by boxes of 64.
struct product_params {
  tensor_map a, b;
  float* out;
  int k;
};

constexpr int layout_depth = 64;  // k of the layout kernels: out (64 x N) = A B
struct layout_params {
  const std::uint16_t *a, *b;  // 64 x layout_depth, N x layout_depth
  float* out;
};

}  // namespace antiphase::probe
