// SPDX-License-Identifier: Apache-2.0
#include "checker/plain/translate/compile/assembly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace antiphase::plain {
namespace {

constexpr std::string_view begin_of_block = "__sanitizer_cov_trace_pc";
constexpr int expensive = 8;

struct arithmetic {
  int multiplied = 0, added = 0, other = 0;
  int instructions() const { return std::max(multiplied, added) + other; }
};

// Elements that an instruction computes, each counted for its precision; 0: it does not compute floats.
int weight_of(std::string_view mnemonic) {
  if (mnemonic.size() < 5) return 0;
  const std::string_view type = mnemonic.substr(mnemonic.size() - 2);
  return type == "ss" ? 1 : type == "sd" ? 2 : type == "ps" || type == "pd" ? 4 : 0;
}

void add_instruction(arithmetic& to, std::string_view mnemonic) {
  const int weight = weight_of(mnemonic);
  const std::string_view plain = mnemonic.starts_with('v') ? mnemonic.substr(1) : mnemonic;
  if (weight == 0) return;
  if (plain.starts_with("mul"))
    to.multiplied += weight;
  else if (plain.starts_with("add") || plain.starts_with("sub"))
    to.added += weight;
  else if (plain.starts_with("fm") || plain.starts_with("fnm") || plain.starts_with("max") ||
           plain.starts_with("min") || plain.starts_with("cvt"))
    to.other += weight;
  else if (plain.starts_with("div") || plain.starts_with("sqrt"))
    to.other += expensive * weight;
}

void add_call(arithmetic& to, std::string_view function) {
  static constexpr std::array<std::string_view, 16> functions{
      "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin",
      "cos", "tan",  "tanh",  "pow", "erf",  "sqrt",  "cbrt",  "sincos"};
  const bool single = function.ends_with('f') && function != "erf";
  const std::string_view name = single ? function.substr(0, function.size() - 1) : function;
  const int weight = single ? 1 : 2;
  if (name == "fma")
    to.other += weight;
  else if (std::ranges::find(functions, name) != functions.end())
    to.other += expensive * weight;
}

struct line {
  std::string_view text, word, operand;
};
line line_of(std::string_view text) {
  const auto after = [](std::string_view from, std::size_t at, const char* of) {
    return std::min(from.size(), from.find_first_not_of(of, std::min(at, from.size())));
  };
  line l{text, {}, {}};
  const std::size_t begin = after(text, 0, " \t");
  const std::size_t end = std::min(text.size(), text.find_first_of(" \t", begin));
  l.word = text.substr(begin, end - begin);
  const std::size_t operand = after(text, end, " \t");
  l.operand = text.substr(operand, std::min(text.size(), text.find_first_of("@ \t", operand)) - operand);
  return l;
}

}  // namespace

std::string with_counted_arithmetic(std::string_view assembly) {
  std::vector<line> lines;
  for (std::size_t at = 0; at < assembly.size();) {
    const std::size_t end = std::min(assembly.size(), assembly.find('\n', at));
    lines.push_back(line_of(assembly.substr(at, end - at)));
    at = end + 1;
  }
  const auto begins = [](const line& l) { return l.word == "call" && l.operand == begin_of_block; };
  std::string out;
  out.reserve(assembly.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!begins(lines[i])) {
      out += lines[i].text;
      out += '\n';
      continue;
    }
    arithmetic block;
    for (std::size_t j = i + 1; j < lines.size() && !begins(lines[j]); ++j) {
      if (lines[j].word == "jmp" || lines[j].word == "ret") break;
      if (lines[j].word == "call")
        add_call(block, lines[j].operand);
      else
        add_instruction(block, lines[j].word);
    }
    if (const int count = block.instructions(); count > 0)
      out += fmt::format("\tmovl\t${}, %edi\n\tcall\tantiphase_checked_arithmetic@PLT\n", count);
  }
  return out;
}

}  // namespace antiphase::plain
