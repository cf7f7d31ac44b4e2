// SPDX-License-Identifier: Apache-2.0
// Limits of TMA on tensor layouts.
#pragma once
#include <antiphase/core/tensor_map.hpp>

namespace antiphase {

// Throws bad_request, naming the wrong parameter, its value and what was expected.
void require_copyable(const tensor_layout& tensor);

}  // namespace antiphase
