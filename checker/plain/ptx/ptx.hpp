// SPDX-License-Identifier: Apache-2.0
// Translates inline PTX (CUDA's asm statements) to C++ for the CPU executor, by one table of instructions.
#pragma once
#include <antiphase/plain_cuda.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::plain {

struct asm_operand {
  std::string expression;  // C++
  bool written = false;    // an output
};
struct asm_statement {
  std::string text;  // the template, with escape sequences of its strings resolved
  std::vector<asm_operand> operands;
};

// The result is a block of C++ that calls functions of antiphase/plain/ptx.h. `refused`: an instruction,
// modifier or operand that the table does not have, and its offset in the template.
struct asm_refusal {
  std::string subject;
  const char* instead = nullptr;  // null: the dialect's list
  std::size_t offset = 0;
};
struct asm_translation {
  std::string text;
  std::optional<asm_refusal> refused;
};
asm_translation translate_asm(const asm_statement& statement);

// The table for --dialect: supported instructions, and how they behave here.
std::vector<dialect_entry> ptx_dialect();

}  // namespace antiphase::plain
