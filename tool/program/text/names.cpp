// SPDX-License-Identifier: Apache-2.0
// Option values that are names.
#include "tool/program/text/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/attention/ladder.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <antiphase/gemm/policies.hpp>
#include <antiphase/scan/ladder.hpp>
#include <utility>

#include "tool/files/file_handle.hpp"
#include "tool/files/npy/npy_header.hpp"

namespace antiphase::tool {
namespace {

// numpy's short name of a type in another spelling: f4 for float32, f32 and single. Empty if the text is no
// type.
std::string short_name_of(std::string_view text) {
  for (const auto& [word, name] : {std::pair{"half", "f2"},
                                   {"single", "f4"},
                                   {"float", "f4"},
                                   {"double", "f8"},
                                   {"int", "i8"},
                                   {"long", "i8"}})
    if (text == word) return name;
  for (const auto& [word, letter] :
       {std::pair{"float", 'f'}, {"uint", 'u'}, {"int", 'i'}, {"f", 'f'}, {"u", 'u'}, {"i", 'i'}})
    for (const int bits : {8, 16, 32, 64})
      if (text == fmt::format("{}{}", word, bits)) return fmt::format("{}{}", letter, bits / 8);
  return {};
}

}  // namespace

std::size_t choice_of(std::string_view option, std::string_view text, const std::vector<std::string>& known) {
  const auto found = std::ranges::find(known, text);
  if (found == known.end())
    throw bad_request(fmt::format("{} {}: {}", option, tool::quoted(text), suggestion(text, known)));
  return static_cast<std::size_t>(found - known.begin());
}

element parse_type(std::string_view option, std::string_view text, std::span<const element> known,
                   const std::vector<std::string>& also) {
  std::vector<std::string> names;
  for (const element type : known) names.push_back(numpy_name(type));
  if (const auto found = std::ranges::find(names, text); found != names.end())
    return known[static_cast<std::size_t>(found - names.begin())];
  const std::string meant = short_name_of(text);
  const bool is_known = std::ranges::find(names, meant) != names.end() && text != meant;
  names.insert(names.end(), also.begin(), also.end());
  throw bad_request(fmt::format("{} {}: {}{} (numpy's names, in bytes)", option, tool::quoted(text),
                                is_known ? fmt::format("did you mean {}? Expected ", meant) : "expected ",
                                listed(names)));
}

std::vector<std::string> policies_of_gemm() {
  std::vector<std::string> names{"auto"};
  for (const gemms::policy_info& p : gemms::policies()) names.emplace_back(p.name);
  return names;
}
std::vector<std::string> policies_of_attention() {
  std::vector<std::string> names{"auto", "fp16", "fp16-short", "fp32"};
  for (const attentions::step& s : attentions::steps) names.emplace_back(s.name);
  return names;
}
std::vector<std::string> policies_of_scan() {
  std::vector<std::string> names{"auto"};
  for (const auto& more :
       {names_of(scans::steps), names_of(scans::short_line_steps), names_of(scans::column_steps)})
    names.insert(names.end(), more.begin(), more.end());
  return names;
}
std::vector<std::string> names_of_types(std::span<const element> types) {
  std::vector<std::string> names;
  for (const element type : types) names.push_back(numpy_name(type));
  return names;
}

}  // namespace antiphase::tool
