// SPDX-License-Identifier: Apache-2.0
// What the families of PTX instructions share: lists, orders, vectors.
#include <charconv>

#include "checker/plain/ptx/instructions/ptx_families.hpp"

namespace antiphase::plain::ptx_code {

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

// An instruction's modifiers may follow after blanks, as in "cp.async.bulk .L2::cache_hint [a], ...": the
// blanks then stand after them, so that names are one word and all lines stay where they are.
static void join_modifiers(text& s) {
  const auto is_blank = [&](std::size_t i) { return s[i] == ' ' || s[i] == '\t'; };
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(s[i])) == 0 ||
        (i > 0 && (in_name(s[i - 1]) || s[i - 1] == '.')))
      continue;
    const std::size_t name = i;
    const auto skip_word = [&] {
      while (i < s.size() && (in_name(s[i]) || s[i] == '.' || s[i] == ':')) ++i;
    };
    skip_word();
    if (view(s).substr(name, i - name).find('.') == view::npos) continue;
    for (std::size_t end = i; i < s.size() && is_blank(i); end = i) {
      while (i < s.size() && is_blank(i)) ++i;
      if (i + 1 >= s.size() || s[i] != '.' || std::isalpha(static_cast<unsigned char>(s[i + 1])) == 0) break;
      const std::size_t blanks = i - end;
      skip_word();
      std::rotate(s.begin() + static_cast<std::ptrdiff_t>(end),
                  s.begin() + static_cast<std::ptrdiff_t>(end + blanks),
                  s.begin() + static_cast<std::ptrdiff_t>(i));
      i -= blanks;
    }
  }
}

text without_comments(view s) {
  text out(s);
  constexpr view begin = "// begin inline asm", end = "// end inline asm";
  bool quoted = false;
  for (std::size_t i = 0; i + 1 < out.size(); ++i) {
    if (out[i] == '"') quoted = !quoted;
    if (out[i] == '\n') quoted = false;
    if (quoted || out[i] != '/' || (out[i + 1] != '/' && out[i + 1] != '*')) continue;
    const bool line = out[i + 1] == '/';
    const std::size_t found = line ? out.find('\n', i) : out.find("*/", i + 2);
    const std::size_t stop = found == std::string::npos ? out.size() : found + (line ? 0 : 2);
    const view all = s.substr(i, stop - i);
    const char* const instead = all.starts_with(begin) ? ".asmbegin" : all.starts_with(end) ? ".asmend" : "";
    for (std::size_t k = i; k < stop; ++k)
      if (out[k] != '\n') out[k] = ' ';
    out.replace(i, view(instead).size(), instead);
    i = stop;
  }
  join_modifiers(out);
  return out;
}

text quoted(view s) {
  text out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

view trimmed(view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
  return s;
}
std::vector<view> split(view s, char by) {
  std::vector<view> all;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    if (i < s.size())
      depth += (s[i] == '{' || s[i] == '[' || s[i] == '(') - (s[i] == '}' || s[i] == ']' || s[i] == ')');
    if (i < s.size() && (s[i] != by || depth > 0)) continue;
    all.push_back(trimmed(s.substr(start, i - start)));
    start = i + 1;
  }
  return all;
}

operation operation_of(view all) {
  operation o;
  if (all.starts_with("@")) {
    all = trimmed(all.substr(1));
    o.is_negated = all.starts_with("!");
    if (o.is_negated) all = trimmed(all.substr(1));
    const std::size_t blank = std::min(all.find_first_of(" \t\n"), all.size());
    o.guard = all.substr(0, blank);
    all = trimmed(all.substr(blank));
  }
  std::size_t stop = 0;
  while (stop < all.size() && (in_name(all[stop]) || all[stop] == '.' || all[stop] == ':')) ++stop;
  o.name = all.substr(0, stop);
  o.rest = trimmed(all.substr(stop));
  return o;
}

bool has_word(view list, view one) {
  const auto all = split(list, ' ');
  return std::ranges::find(all, one) != all.end();
}

const char* register_type(view type) {
  if (type == "pred") return "bool";
  if (type == "f32") return "float";
  if (type == "f64") return "double";
  const std::size_t digits = type.find_first_of("0123456789");
  const view bits = digits == view::npos ? type : type.substr(digits);
  if (bits == "128") return "unsigned __int128";
  if (bits == "64") return "unsigned long";
  if (bits == "32" || bits == "16x2") return "unsigned";
  return bits == "16" || bits == "8" ? "unsigned short" : nullptr;
}

// Integers have 64 bits in PTX, whatever the instruction takes of them.
text number(view word) {
  if (word.starts_with("0f") || word.starts_with("0F"))
    return fmt::format("__builtin_bit_cast(float, 0x{}u)", word.substr(2));
  if (word.starts_with("0d") || word.starts_with("0D"))
    return fmt::format("__builtin_bit_cast(double, 0x{}ul)", word.substr(2));
  if (word.ends_with("U") && word.size() > 1) word.remove_suffix(1);
  const view digits = word[0] == '-' ? word.substr(1) : word;
  const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
  for (const char c : word.substr(hex ? word.find_first_of("xX") + 1 : word[0] == '-' ? 1 : 0))
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '+' && c != '-')
      throw unknown{text(word)};
  return fmt::format("({}{})", word, hex || word.find('.') == view::npos ? "l" : "");
}

text order_of(view word) {
  return fmt::format("::antiphase::ordering::{}", word == "acquire"   ? "acquire"
                                                  : word == "release" ? "release"
                                                  : word == "acq_rel" ? "acquire_release"
                                                                      : "relaxed");
}
int vector_of(instruction& i) {
  const view v = i.take_one({"v2", "v4", "v8"});
  return v.empty() ? 1 : v[1] - '0';
}

}  // namespace antiphase::plain::ptx_code
