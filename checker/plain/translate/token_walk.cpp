// SPDX-License-Identifier: Apache-2.0
#include "token_walk.hpp"

namespace antiphase::plain {

std::string_view token_walk::text(index first, index last) const {
  return first >= last ? std::string_view()
                       : source_.substr(t_[first].offset,
                                        t_[last - 1].offset + t_[last - 1].text.size() - t_[first].offset);
}
std::string token_walk::flat(index first, index last) const {
  std::string s;
  for (index i = first; i < last; ++i) (s += i == first || touching(i - 1) ? "" : " ") += t_[i].text;
  return s;
}
index token_walk::opening(index close) const {
  int depth = 0;
  for (index i = close; i > 0; --i) {
    if (t_[i].kind != token_kind::sign) continue;
    const char c = t_[i].text[0];
    if (c == ')' || c == ']' || c == '}') ++depth;
    if ((c == '(' || c == '[' || c == '{') && --depth == 0) return i;
  }
  return 1;
}
index token_walk::matching_angle(index open) const {
  int depth = 0;
  for (index i = open; i < t_.size(); ++i) {
    if (is(i, "(") || is(i, "[") || is(i, "{")) i = matching(i);
    if (is(i, ";")) return t_.size();
    if (is(i, "<")) ++depth;
    if (is(i, ">") && --depth == 0) return i;
  }
  return t_.size();
}
index token_walk::name_before(index open) const {
  index i = open - 1;
  if (open == 0) return none;
  for (int depth = 0; is(i, ">") || depth > 0; --i) {
    if (is(i, ")")) i = opening(i);
    depth += is(i, ">") - is(i, "<");
    if (i == 0 || is(i, ";") || is(i, "{")) return none;
  }
  return t_[i].kind == token_kind::name ? i : none;
}
index token_walk::declared_function(index i, index& open) const {
  for (; i < t_.size() && !is(i, ";") && !is(i, "{"); ++i) {
    if (!is(i, "(")) continue;
    const index name = name_before(i);
    if (name == none) return none;
    if (!takes_arguments(name)) return open = i, name;
    i = matching(i);
  }
  return none;
}
bool token_walk::takes_arguments(index i) const {
  for (const char* w : {"__launch_bounds__", "__cluster_dims__", "__attribute__", "__align__", "alignas",
                        "decltype", "noexcept", "requires", "explicit", "__declspec"})
    if (is(i, w)) return true;
  return false;
}
bool token_walk::is_declaration(index name) const {
  index i = name;
  while (i > 0 && !is(i - 1, ";") && !is(i - 1, "{") && !is(i - 1, "}")) {
    --i;
    if (is(i, "return") || is(i, "else") || is(i, "do") || is(i, "throw") || is(i, "co_return") ||
        (t_[i].kind == token_kind::sign && !is(i, "::") && !is(i, "*") && !is(i, "&") && !is(i, "<") &&
         !is(i, ">") && !is(i, ",") && !is(i, "[") && !is(i, "]")))
      return false;
  }
  return i < name;
}
index token_walk::end_of_statement(index i) const {
  while (is(i, "for") || is(i, "while") || is(i, "if") || is(i, "switch") || is(i, "else") ||
         is(i, "constexpr") || is(i, "(")) {
    i = is(i, "(") ? matching(i) + 1 : i + 1;
  }
  if (is(i, "{"))
    i = matching(i);
  else if (is(i, "do"))
    i = end_of_statement(end_of_statement(i + 1) + 1);
  else
    while (i < t_.size() && !is(i, ";")) i = is(i, "(") || is(i, "[") || is(i, "{") ? matching(i) + 1 : i + 1;
  return is(i + 1, "else") ? end_of_statement(i + 2) : i;
}
index token_walk::end_of_lambda(index i) const {
  if (!is(i, "]")) return none;
  for (++i; is(i, "__device__") || is(i, "__host__") || is(i, "__forceinline__"); ++i) {
  }
  if (is(i, "(")) i = matching(i) + 1;
  while (is(i, "mutable") || is(i, "noexcept")) ++i;
  if (is(i, "->"))
    while (i < t_.size() && !is(i, "{") && !is(i, ";")) ++i;
  return is(i, "{") ? matching(i) : none;
}
index token_walk::declared_name(index i) const {
  for (; i < t_.size(); ++i) {
    if (is(i, "<")) i = matching_angle(i);
    if (is(i, "(") || is(i, "{")) i = matching(i);
    if (i + 1 < t_.size() && t_[i].kind == token_kind::name &&
        (is(i + 1, "[") || is(i + 1, ",") || is(i + 1, ";") || is(i + 1, "=")))
      return i;
    if (is(i, ";")) break;
  }
  return none;
}
index token_walk::pointer_in_parentheses(index i) const {
  while (i < t_.size() && !is(i, "(") && !is(i, ";") && !is(i, "="))
    i = is(i, "<") ? matching_angle(i) + 1 : i + 1;
  if (!is(i, "(") || !is(i + 1, "*")) return none;
  for (const index end = matching(i); i < end; ++i)
    if (t_[i].kind == token_kind::name && !is(i, "const") && !is(i, "volatile")) return i;
  return none;
}
bool token_walk::launch_at(index i) const {
  return is(i + 1, "<") && is(i + 2, "<") && (touching(i) || touching(i + 1)) && i > 0 &&
         !is(i - 1, "operator");
}
bool token_walk::is_call(index open) const {
  return open > 0 && ((t_[open - 1].kind == token_kind::name && !is(open - 1, "return") &&
                       !is(open - 1, "else") && !is(open - 1, "do")) ||
                      is(open - 1, "]") || is(open - 1, ">"));
}
bool token_walk::is_auto_parameter(index i) const {
  for (index k = i; k-- > 1;) {
    if (t_[k].text != t_[i].text || !is(k - 1, "auto") || (!is(k + 1, ")") && !is(k + 1, ","))) continue;
    index body = k + 1;
    while (body < i && !is(body, "{") && !is(body, ";")) ++body;
    if (is(body, "{") && matching(body) > i) return true;
  }
  return false;
}
bool token_walk::names_own_parameter(index i, index first, index last) const {
  while (i > 0 && !is(i, ";") && !is(i, "{") && !is(i, "}") && !is(i, "template")) --i;
  if (!is(i, "template") || !is(i + 1, "<")) return false;
  for (index k = i + 2; k < matching_angle(i + 1); ++k)
    if (t_[k].kind == token_kind::name && (is(k + 1, ",") || is(k + 1, ">") || is(k + 1, "=")))
      for (index use = first; use < last; ++use)
        if (t_[use].text == t_[k].text) return true;
  return false;
}
bool token_walk::may_begin(index i) const {
  return i > 0 && (t_[i - 1].kind == token_kind::sign || is(i - 1, "else") || is(i - 1, "do"));
}
bool token_walk::has_main() const {
  for (index i = 0; i < t_.size(); ++i)
    if (const index end = is(i, "main") && is(i + 1, "(") ? matching(i + 1) + 1 : none;
        end != none && (is(end, "{") || is(end, "->") || is(end, "noexcept") || is(end, "try")))
      return true;
  return false;
}

}  // namespace antiphase::plain
