// SPDX-License-Identifier: Apache-2.0
// Products of cuBLAS as linear layers, whose rows are the rows or the columns of C, whichever are contiguous.
#pragma once
#include "preload/cublas/products.hpp"

namespace antiphase::cublas {

// The product C^T = B^T A^T: the same numbers at the same addresses. Of no arrays of pointers.
antiphase_sgemm_args transposed(antiphase_sgemm_args x);

// True if a request in 16 bits is a linear layer: alpha 1, beta 0 or 1, contiguous lines of C and of what is
// added to it.
bool is_layer(const request& r);
antiphase_linear_args layer_of(const request& r);

}  // namespace antiphase::cublas
