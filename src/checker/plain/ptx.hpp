// SPDX-License-Identifier: Apache-2.0
// Inline PTX (asm statements of CUDA) as C++ that the CPU executor runs: one table of instructions.
#pragma once
#include <antiphase/plain_cuda.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::plain {

struct asm_operand {
  std::string name;        // of "%[name]"; empty: by number alone
  std::string expression;  // C++
  bool written = false;    // an output
};
struct asm_statement {
  std::string text;  // the template, as the compiler would hand it on: escapes of strings resolved
  std::vector<asm_operand> operands;
};

// A block of C++ that does what the instructions say, calling what antiphase/plain/ptx.h has. If there is an
// instruction, a modifier or an operand that the table does not know: which, and where in the template.
struct asm_refusal {
  std::string what;
  std::size_t at = 0;
};
struct asm_translation {
  std::string text;
  std::optional<asm_refusal> refused;
};
asm_translation translate_asm(const asm_statement& statement);

// The table, for the dialect: what instructions there are, and what they are here.
std::vector<dialect_entry> ptx_dialect();

}  // namespace antiphase::plain
