// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels that store boxes of tensors.
#pragma once
#include <antiphase/core/tensor_map.hpp>

namespace antiphase::probe {

// `in`: the box in its shared-memory layout.
struct stored_box_params {
  tensor_map map;
  int first[tensor_dimensions];
  int bytes;
  const unsigned char* in;
};
constexpr int stored_box_limit = 32 * 1024;

}  // namespace antiphase::probe
