// SPDX-License-Identifier: Apache-2.0
// What the copy engine can copy.
#pragma once
#include <antiphase/core/tensor_map.hpp>

namespace antiphase {

// Throws bad_request, which names what is wrong, the value and what was expected.
void require_copyable(const tensor_layout& tensor);

}  // namespace antiphase
