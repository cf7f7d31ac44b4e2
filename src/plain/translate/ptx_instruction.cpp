// SPDX-License-Identifier: Apache-2.0
// What the families of PTX instructions share: lists, orders, vectors.
#include "ptx_families.hpp"

namespace antiphase::plain::ptx_code {

std::vector<view> split(view s, char by) {  // outside of brackets
  std::vector<view> all;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    if (i < s.size()) depth += (s[i] == '{' || s[i] == '[') - (s[i] == '}' || s[i] == ']');
    if (i < s.size() && (s[i] != by || depth > 0)) continue;
    view one = s.substr(start, i - start);
    while (!one.empty() && std::isspace(static_cast<unsigned char>(one.front())) != 0) one.remove_prefix(1);
    while (!one.empty() && std::isspace(static_cast<unsigned char>(one.back())) != 0) one.remove_suffix(1);
    all.push_back(one);
    start = i + 1;
  }
  return all;
}

bool has_word(view list, view one) {
  const auto all = split(list, ' ');
  return std::ranges::find(all, one) != all.end();
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
