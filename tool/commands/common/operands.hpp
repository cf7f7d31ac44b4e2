// SPDX-License-Identifier: Apache-2.0
// Operands of products and attention: arrays of f4 in .npy files.
#pragma once
#include <string>
#include <string_view>

#include "tool/files/npy/npy.hpp"

namespace antiphase::tool {

// Reads an operand. Throws bad_request if its elements are not f4. `taker` is for the message: "gemm
// multiplies".
npy_array read_operand(const std::string& path, std::string_view operand, std::string_view taker);

}  // namespace antiphase::tool
