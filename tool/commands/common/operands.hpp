// SPDX-License-Identifier: Apache-2.0
// Operands of products and attention: arrays of f4 in .npy files, and what --cast makes f4.
#pragma once
#include <string>
#include <string_view>

#include "tool/files/npy.hpp"
#include "tool/program/console.hpp"

namespace antiphase::tool {

// Conversions by --cast, as a sentence and as JSON.
struct casts {
  bool allowed = false;  // --cast
  std::string text;
  json value = json::object();
};

// Reads an operand. Throws bad_request if its elements are not f4 and `done` does not allow others. `taker`
// is for the message: "gemm multiplies".
npy_array read_operand(const std::string& path, std::string_view operand, const casts& done,
                       std::string_view taker);
// Converts an operand to f4 unless it has that type.
void cast(npy_array& array, std::string_view operand, casts& done);

}  // namespace antiphase::tool
