// SPDX-License-Identifier: Apache-2.0
#include "checker/plain/translate/passes/statements.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <regex>

namespace antiphase::plain {
namespace {

enum class brace { container, function, block, list };

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Blanks out comments, the contents of strings, and lines for the preprocessor.
void blank_out(std::vector<source_line>& lines) {
  bool comment = false, directive = false;
  for (source_line& l : lines) {
    l.code = l.text;
    const std::size_t first = l.text.find_first_not_of(" \t");
    directive = directive || (!comment && first != std::string::npos && l.text[first] == '#');
    char quote = 0;
    for (std::size_t i = 0; i < l.code.size(); ++i) {
      const char c = l.text[i], next = i + 1 < l.text.size() ? l.text[i + 1] : '\0';
      if (comment) {
        comment = !(c == '*' && next == '/');
        l.code[i] = ' ';
        if (!comment) l.code[++i] = ' ';
      } else if (quote != 0) {
        if (c == quote)
          quote = 0;
        else
          l.code[i] = ' ';
        if (c == '\\' && i + 1 < l.code.size()) l.code[++i] = ' ';
      } else if (c == '/' && next == '/') {
        std::fill(l.code.begin() + static_cast<std::ptrdiff_t>(i), l.code.end(), ' ');
        break;
      } else if (c == '/' && next == '*') {
        comment = true;
        l.code[i] = ' ';
        l.code[++i] = ' ';
      } else if (c == '"' || (c == '\'' && (i == 0 || !in_word(l.text[i - 1])))) {
        quote = c;
      }
    }
    const bool goes_on = !l.text.empty() && l.text.back() == '\\';
    if (directive) std::fill(l.code.begin(), l.code.end(), ' ');
    directive = directive && goes_on;
  }
}

brace kind_of(const std::string& before, bool in_function) {
  static const std::regex container(
      R"(^\s*(template\s*<.*>\s*)?(inline\s+)?(namespace|extern|struct|class|union|enum)\b)");
  std::size_t last = before.size();
  while (last > 0 && is_blank(before[last - 1])) --last;
  const char end = last > 0 ? before[last - 1] : '\0';
  if (end == '=' || end == ',' || end == '(') return brace::list;
  if (std::regex_search(before, container) && (end != ')' || before.find('(') == std::string::npos))
    return brace::container;
  if (in_function) {
    static const std::regex list(R"((\breturn|[\w\]>])\s*$)");
    static const std::regex keyword(R"(\b(else|do|try|const|mutable|noexcept)\s*$)");
    return std::regex_search(before, list) && !std::regex_search(before, keyword) &&
                   before.find("->") == std::string::npos
               ? brace::list
               : brace::block;
  }
  return before.find('(') != std::string::npos ? brace::function : brace::list;
}

}  // namespace

source_text read_source(const std::string& file) {
  source_text out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) out.lines.push_back({.text = line, .code = {}});
  blank_out(out.lines);
  std::vector<brace> open;
  std::string before;  // since the last statement
  int parens = 0, function = -1;
  const auto depth = [&] { return static_cast<int>(open.end() - std::ranges::find(open, brace::function)); };
  for (std::size_t n = 0; n < out.lines.size(); ++n) {
    source_line& l = out.lines[n];
    char last = 0;
    for (const char c : l.code) {
      if (!is_blank(c)) last = c;
      if (c == '(' || c == '[') ++parens;
      if (c == ')' || c == ']') parens = std::max(parens - 1, 0);
      if (c == '{' && parens > 0)
        ++parens;
      else if (c == '}' && parens > 0)
        --parens;
      else if (c == '{') {
        open.push_back(kind_of(before, function >= 0));
        if (open.back() == brace::function) {
          function = static_cast<int>(out.functions.size());
          out.functions.push_back({.first = static_cast<int>(n + 1),
                                   .last = 0,
                                   .on_device = before.find("__global__") != std::string::npos ||
                                                before.find("__device__") != std::string::npos});
        }
        before.clear();
      } else if (c == '}' && !open.empty()) {
        if (open.back() == brace::function) {
          out.functions.back().last = static_cast<int>(n + 1);
          function = -1;
        }
        open.pop_back();
        before.clear();
      } else if (c == ';' && parens == 0) {
        before.clear();
      } else {
        before += c;
      }
    }
    before += ' ';
    l.function = function;
    l.depth = depth();
    const bool in_list = std::ranges::find_if(open, [](brace b) { return b == brace::list; }) != open.end();
    const bool in_container = !open.empty() && open.back() == brace::container;
    l.boundary = function >= 0 && parens == 0 && !in_list && !in_container &&
                 (last == ';' || last == '{' || last == '}');
  }
  // not between a statement and its else
  for (std::size_t n = 0; n < out.lines.size(); ++n) {
    if (!out.lines[n].boundary) continue;
    for (std::size_t next = n + 1; next < out.lines.size(); ++next) {
      const std::string& code = out.lines[next].code;
      const std::size_t at = code.find_first_not_of(" \t\r");
      if (at == std::string::npos) continue;
      for (const std::string_view word : {"else", "while", "catch", "case", "default"})
        if (code.compare(at, word.size(), word) == 0 &&
            (word != "while" || out.lines[n].code.find('}') != std::string::npos))
          out.lines[n].boundary = false;
      if (std::string_view(",;).").find(code[at]) != std::string_view::npos) out.lines[n].boundary = false;
      break;
    }
  }
  return out;
}

statement statement_around(const source_line& line, std::size_t at) {
  const std::string& s = line.code;
  std::size_t begin = at;
  int parens = 0;
  for (; begin > 0; --begin) {
    const char c = s[begin - 1];
    if (c == ')' || c == ']') ++parens;
    if (c == '(' || c == '[') --parens;
    if (parens < 0) return {};
    if (parens == 0 && (c == ';' || c == '{' || c == '}')) break;
    // a blank ends the expression, unless it stands around an operator
    if (parens == 0 && is_blank(c) && begin < s.size() && in_word(s[begin])) break;
  }
  std::size_t before = begin;
  while (before > 0 && is_blank(s[before - 1])) --before;
  const bool starts = before == 0 || std::string_view(";{})").find(s[before - 1]) != std::string_view::npos ||
                      (before >= 4 && s.compare(before - 4, 4, "else") == 0) ||
                      (before >= 2 && s.compare(before - 2, 2, "do") == 0);
  if (!starts) return {};
  while (begin < s.size() && is_blank(s[begin])) ++begin;
  parens = 0;
  for (std::size_t end = begin; end < s.size(); ++end) {
    if (s[end] == '(' || s[end] == '[' || s[end] == '{') ++parens;
    if (s[end] == ')' || s[end] == ']' || s[end] == '}') --parens;
    if (s[end] == ';' && parens == 0) return {begin, end + 1};
  }
  return {};
}

statement find_loosely(std::string_view text, std::string_view what) {
  for (std::size_t begin = 0; begin < text.size(); ++begin) {
    std::size_t at = begin, of = 0;
    while (of < what.size()) {
      if (is_blank(what[of])) {
        ++of;
      } else if (at < text.size() && is_blank(text[at]) && at > begin) {
        ++at;
      } else if (at < text.size() && text[at] == what[of]) {
        ++at, ++of;
      } else {
        break;
      }
    }
    if (of == what.size() && at > begin) return {begin, at};
  }
  return {};
}

}  // namespace antiphase::plain
