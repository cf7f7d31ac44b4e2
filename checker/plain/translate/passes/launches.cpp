// SPDX-License-Identifier: Apache-2.0
// Launches, and addresses of kernels.
#include <fmt/format.h>

#include "checker/plain/translate/dialect.hpp"
#include "checker/plain/translate/passes/source_pass.hpp"

namespace antiphase::plain {

// kernel<types><<<grid, block>>>(arguments) becomes go(kernel<types>, "kernel", config(grid, block),
// place)(arguments)
index source_pass::end_of_configuration(index open) const {
  for (index i = open + 3; i + 1 < t_.size() && !is(i, ";") && !is(i, "{"); ++i) {
    if (is(i, "(") || is(i, "["))
      i = matching(i);
    else if (is(i, ">") && is(i + 1, "(") && is(i - 1, ">") && is(i - 2, ">"))
      return i - 2;
  }
  return none;
}
source_pass::launched_kernel source_pass::kernel_before(index open) const {
  // (kernel)<<<...>>>, as macros write it
  launched_kernel k{.last = open - 1};
  while (is(k.last, ")") && !is_call(opening(k.last))) {
    k.inner = opening(k.last--);
    if (k.outer == none) k.outer = k.inner;
  }
  index first = k.last;
  if (is(first, ">")) {
    int depth = 0;
    for (;; --first) {
      if (is(first, ")")) first = opening(first);
      depth += is(first, ">") - is(first, "<");
      if (depth == 0 || first == 0) break;
    }
    if (first > 0) --first;
  }
  // a kernel from a table, such as table[i] or pick(n)
  while (first > 0 && (is(first, "]") || (is(first, ")") && t_[opening(first) - 1].kind == token_kind::name)))
    first = opening(first) - 1;
  while (first >= 2 && (is(first - 1, ".") || is(first - 1, "->"))) first -= 2;
  k.name = first;
  while (first >= 2 && is(first - 1, "::") && t_[first - 2].kind == token_kind::name) first -= 2;
  if (first >= 1 && is(first - 1, "::")) --first;
  k.expression = k.outer != none && first != k.inner + 1;
  k.first = k.expression ? k.outer : first;
  return k;
}
void source_pass::launch(index open) {
  const index end = end_of_configuration(open);
  if (in_device_) return refuse(open, "a launch by a kernel", launch_by_host);
  const launched_kernel k = kernel_before(open);
  if (end == none || (t_[k.name].kind != token_kind::name && k.outer == none))
    return refuse(open, "this form of a launch",
                  "kernel<<<grid, block, bytes, stream>>>(arguments), with a kernel's name before it");
  const std::string_view name = t_[k.name].text;
  const bool generic = !k.expression && generic_.contains(name) && generic_.at(name);
  if (generic) {
    launch_generic(k, open);
  } else {
    insert_before(k.outer != none ? k.outer : k.first, fmt::format("{}go(", ours));
    replace(open, open + 3, fmt::format(", \"{}\", {}config(", k.expression ? "chosen" : name, ours));
  }
  replace(end, end + 3, fmt::format("), {}place::current())", ours));
  if (const index args = end + 3; generic)
    for (index i = args; i < matching(args); ++i)
      if (is(i, "__null") && (is(i + 1, ",") || is(i + 1, ")"))) replace(i, i + 1, "nullptr");
}
// A template, an overloaded kernel or one with default arguments: go_any() gets a lambda that calls it.
void source_pass::launch_generic(const launched_kernel& k, index open) {
  if (k.outer != none) {
    drop(k.outer, k.inner + 1);
    drop(k.last + 1, open);
  }
  std::string kernel, entry;
  for (index a = k.first; a <= k.last; ++a) {
    std::string_view word_here = t_[a].text;
    std::string constant;
    if ((is(a - 1, "<") || is(a - 1, ",")) && (is(a + 1, ">") || is(a + 1, ",")) && is_auto_parameter(a)) {
      constant = fmt::format("decltype({}){{}}", word_here);  // its type has the value
      replace(a, a + 1, constant);
      word_here = constant;
    }
    const char* const blank = a > k.first && touching(a - 1) ? "" : " ";
    kernel += fmt::format("{}{}", blank, word_here);
    entry += fmt::format("{}{}{}", blank, a == k.name ? "ap_entry_" : "", word_here);
  }
  const std::string_view name = t_[k.name].text;
  std::string address;
  if (const auto known = entries_.find(name); known != entries_.end() && known->second < open)
    address = fmt::format(" [](auto&... ap_a) -> decltype({}(ap_a...)) {{ return {}; }},", entry, kernel);
  insert_before(k.first, fmt::format("{}go_any([](auto&... ap_a) {{ ", ours));
  replace(open, open + 3, fmt::format("(ap_a...); }},{} \"{}\", {}config(", address, name, ours));
}
bool source_pass::take_address(index name) {
  index end = name + 1;
  if (is(end, "<")) end = matching_angle(end) + 1;
  index first = name;
  while (first >= 2 && is(first - 1, "::") && t_[first - 2].kind == token_kind::name) first -= 2;
  if (first >= 1 && is(first - 1, "::")) --first;
  if (first >= 1 && is(first - 1, "&")) --first;
  const auto is_cast = [&](index open, index close) {
    index i = open + 1;
    while (is(i, "const")) ++i;
    if (!is(i, "void")) return false;
    for (++i; is(i, "const") || is(i, "*"); ++i) {
    }
    return i == close && is(close - 1, "*");
  };
  if (first < 1) return false;
  if (is(first - 1, ")")) {
    const index open = opening(first - 1);
    if (!is_cast(open, first - 1) || casts_gone_.contains(open)) return false;
    replace(open, first, fmt::format("{}address_of(", ours));
    insert_before(end, ")");
    return true;
  }
  if (!is(first - 1, "(") || first < 2 || !is(first - 2, ">") || !is(end, ")")) return false;
  index open = first - 2;
  while (open > 0 && !is(open, "<")) --open;
  if (open < 1 || !is(open - 1, "reinterpret_cast") || !is_cast(open, first - 2) ||
      casts_gone_.contains(open - 1))
    return false;
  replace(open - 1, first, fmt::format("{}address_of(", ours));
  return true;
}
void source_pass::keep_type(index i) {
  if (is(i, "(")) {
    const index end = matching(i);
    if (!is(end - 1, "*") || !is(end - 2, "void")) return;
    drop(i, end + 1);
    casts_gone_.insert(i);
  } else if ((is(i, "reinterpret_cast") || is(i, "static_cast")) && is(i + 1, "<")) {
    const index end = matching_angle(i + 1);
    if (!is(end - 1, "*")) return;
    drop(i, end + 1);
    casts_gone_.insert(i);
  }
}

}  // namespace antiphase::plain
