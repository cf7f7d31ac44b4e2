// SPDX-License-Identifier: Apache-2.0
// A small XML checker: elements nest and close, attributes are quoted and unique, & and < are escaped.
#pragma once
#include <cctype>
#include <cstddef>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::testing {

// Reason why the text is not one well-formed element, or an empty text. Supports elements, attributes, text
// and references; no declarations, comments or CDATA.
inline std::string xml_fault(const std::string& text) {
  static const std::regex tag(
      R"(<(/?)([A-Za-z][A-Za-z0-9]*)((?:\s+[A-Za-z][A-Za-z0-9:-]*="[^"<]*")*)\s*(/?)>)");
  static const std::regex attribute(R"re(\s([A-Za-z][A-Za-z0-9:-]*)=)re");
  static const std::regex reference("&(amp|lt|gt|quot|apos|#[0-9]+);");
  const auto stray = [&](const std::string& piece) {
    const std::string rest = std::regex_replace(piece, reference, "");
    if (rest.find_first_of("<&") != std::string::npos) return true;
    for (const char c : rest)
      if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') return true;
    return false;
  };
  std::vector<std::string> open;
  std::size_t roots = 0, end = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), tag), none; it != none; ++it) {
    const auto begin = static_cast<std::size_t>(it->position());
    const std::string between = text.substr(end, begin - end), name = it->str(2), attributes = it->str(3);
    end = begin + static_cast<std::size_t>(it->length());
    if (stray(between)) return "a stray character in the text before <" + it->str(1) + name + ">: " + between;
    if (open.empty() && between.find_first_not_of(" \n") != std::string::npos)
      return "text outside of the root";
    if (stray(attributes)) return "a stray character in the attributes of <" + name + ">";
    std::set<std::string> names;
    for (std::sregex_iterator a(attributes.begin(), attributes.end(), attribute); a != none; ++a)
      if (!names.insert(a->str(1)).second) return "<" + name + "> has two attributes " + a->str(1);
    if (!it->str(1).empty()) {
      if (open.empty() || open.back() != name) return "</" + name + "> closes nothing";
      open.pop_back();
    } else {
      if (open.empty() && ++roots > 1) return "a second root <" + name + ">";
      if (it->str(4).empty()) open.push_back(name);
    }
  }
  if (!open.empty()) return "<" + open.back() + "> is never closed";
  if (roots == 0) return "no element";
  return text.find_first_not_of(" \n", end) == std::string::npos ? "" : "text after the root";
}

}  // namespace antiphase::testing
