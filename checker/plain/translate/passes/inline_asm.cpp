// SPDX-License-Identifier: Apache-2.0
// asm statements.
#include <fmt/format.h>

#include <algorithm>

#include "checker/plain/ptx/instructions/ptx_instruction.hpp"
#include "checker/plain/ptx/ptx.hpp"
#include "checker/plain/translate/dialect.hpp"
#include "checker/plain/translate/passes/source_pass.hpp"

namespace antiphase::plain {

namespace {

constexpr const char* any_instruction =
    "an instruction that antiphase check --dialect lists, or the intrinsic that does the same";

// What to use in place of an instruction that the table does not have.
std::string instead_of(const asm_refusal& r) {
  if (r.instead != nullptr) return r.instead;
  const std::string& text = r.subject;  // inline PTX 'name.modifier'
  const std::size_t quote = std::min(text.find('\'') + 1, text.size());
  const unsupported_name* const known =
      unsupported(std::string_view(text).substr(quote, text.find_first_of(".'", quote) - quote));
  return known != nullptr ? known->instead : any_instruction;
}

}  // namespace

// The statement between the parentheses, and the tokens of its strings, by offset in its text. Nothing: an
// unknown form.
std::optional<asm_statement> source_pass::read_asm(index open, index end,
                                                   std::vector<std::pair<std::size_t, index>>& starts) const {
  asm_statement s;
  int section = 0;
  for (index i = open + 1; i < end; ++i) {
    if (is(i, ":") || is(i, "::")) {
      section += is(i, ":") ? 1 : 2;
    } else if (section == 0 && t_[i].kind == token_kind::text) {
      starts.emplace_back(s.text.size(), i);
      s.text += unescaped(t_[i].text);
    } else if (section == 1 || section == 2) {
      asm_operand o{.expression = {}, .written = section == 1};
      if (is(i, "[")) i = matching(i) + 1;  // a name, which nvcc takes here, and not in the text
      while (i < end && t_[i].kind == token_kind::text) ++i;  // constraint, such as "=r"
      if (!is(i, "(")) {
        if (is(i, ",")) continue;
        return {};
      }
      const index close = matching(i);
      o.expression = on_one_line(t_[i].offset + 1, t_[close].offset);
      s.operands.push_back(std::move(o));
      i = close;
    }
  }
  return s;
}
// asm volatile("text" : "=r"(output) : "r"(input), "n"(input) : "memory");
index source_pass::inline_ptx(index at) {
  index open = at + 1;
  while (is(open, "volatile") || is(open, "__volatile__") || is(open, "inline") || is(open, "__inline__"))
    ++open;
  const index end = is(open, "(") ? matching(open) : t_.size();
  std::vector<std::pair<std::size_t, index>> starts;
  const std::optional<asm_statement> s =
      end == t_.size() || in_namespace() ? std::nullopt : read_asm(open, end, starts);
  if (!s) {
    refuse(at, "this form of asm", any_instruction);
    return at;
  }
  asm_translation code = translate_asm(*s);
  if (file_of(at).find("antiphase/plain/") !=
      std::string::npos)  // instructions as functions: the caller's place
    for (std::size_t k = 0; (k = code.text.find(here, k)) != std::string::npos;)
      code.text.replace(k, here.size(), "ap_at");
  if (code.refused) {
    index where = at;
    for (const auto& [start, i] : starts)
      if (start <= code.refused->offset) where = i;
    refuse(where, code.refused->subject, instead_of(*code.refused));
    refused_.back().second.when_reached = true;
    code.text = fmt::format("{{ {}refused({}); }}", ours, ptx_code::quoted(to_text(refused_.back().second)));
  }
  // Macros of the stand-in headers bring line markers along, so another marker after the code restores the
  // position.
  const token& last = t_[is(end + 1, ";") ? end + 1 : end];
  const std::size_t stop = last.offset + last.text.size();
  edits_.push_back({t_[at].offset, stop - t_[at].offset,
                    fmt::format("{}\n# {} \"{}\"\n", code.text, last.line,
                                list_.files[static_cast<std::size_t>(last.file)])});
  return end;
}
std::string source_pass::on_one_line(std::size_t from, std::size_t to) const {
  std::string flat, out;
  for (std::string_view rest = source_.substr(from, to - from); !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (const std::string_view line = rest.substr(0, end); !line.starts_with("#")) (flat += line) += ' ';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  while (flat.ends_with(' ')) flat.pop_back();
  const token_list words = tokens_of(flat);
  std::size_t at = 0;
  for (index i = 0; i < words.tokens.size(); ++i) {
    const token& t = words.tokens[i];
    const auto known = file_wide_.find(t.text);
    if (known == file_wide_.end() && !reads_built_in(words.tokens, i)) continue;
    (out += flat.substr(at, t.offset - at)) += known != file_wide_.end() ? known->second : built_in(t.text);
    at = t.offset + t.text.size();
  }
  return out + flat.substr(at);
}
std::string source_pass::unescaped(std::string_view literal) {
  std::string out;
  for (std::size_t i = literal.find('"') + 1; i + 1 < literal.size(); ++i) {
    if (literal[i] != '\\') {
      out += literal[i];
      continue;
    }
    const char c = literal[++i];
    out += c == 'n' ? '\n' : c == 't' || c == 'r' || c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace antiphase::plain
