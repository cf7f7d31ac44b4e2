// SPDX-License-Identifier: Apache-2.0
// Kernels: their parameters, bounds, clusters, addresses, and where threads leave them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "checker/plain/translate/dialect.hpp"
#include "checker/plain/translate/passes/source_pass.hpp"

namespace antiphase::plain {

void source_pass::note_parameters(index i) {
  index open = none;
  if (declared_function(i + 1, open) == none || !is(matching(open) + 1, "{")) return;
  const index end = matching(open);
  bool by_value = uses_tensor_maps_, is_restricted = false;
  int depth = 0, number = 0;  // depth: of a template's arguments
  for (index k = open + 1; k <= end; ++k) {
    depth += is(k, "<") ? 1 : is(k, ">") && depth > 0 ? -1 : 0;
    if (k == end || (depth == 0 && is(k, ","))) {
      const index name = k - 1;
      static constexpr std::array types{"int",  "float",    "double", "char", "short",
                                        "long", "unsigned", "signed", "bool", "const"};
      if (by_value && t_[name].kind == token_kind::name && name > open + 1 && !is(name - 1, ",") &&
          !is(name - 1, "::") && std::ranges::find(types, t_[name].text) == types.end())
        edits_.push_back({t_[end + 1].offset + 1, 0,
                          fmt::format(" ::antiphase::plain::copied_parameter({});", t_[name].text)});
      if (is_restricted && t_[name].kind == token_kind::name && !t_[name].text.starts_with("__restrict"))
        edits_.push_back(
            {t_[end + 1].offset + 1, 0,
             fmt::format(" ::antiphase::plain::restricted_parameter({}, {});", t_[name].text, number)});
      by_value = uses_tensor_maps_, is_restricted = false;
      ++number;
    } else if (t_[k].text.starts_with("__restrict")) {
      is_restricted = true;
    } else if (is(k, "*") || is(k, "&") || is(k, "...") || is(k, "(") || is(k, "[") || is(k, ".") ||
               is(k, "__grid_constant__")) {
      by_value = false;
    }
  }
}
void source_pass::note_bounds(index i, index end) {
  index open = none;
  if (declared_function(end + 1, open) == none || is(i + 2, ")")) return;
  const index body = matching(open) + 1;
  index first = i + 2;  // of several arguments
  for (int depth = 0; first < end && (depth > 0 || !is(first, ",")); ++first) {
    if (is(first, "(")) first = matching(first);
    depth += is(first, "<") ? 1 : is(first, ">") ? -1 : 0;
  }
  if (!is(body, "{")) return;
  edits_.push_back({t_[body].offset + 1, 0,
                    fmt::format(" ::antiphase::plain::keeps_bounds({});",
                                source_.substr(t_[i + 2].offset, t_[first].offset - t_[i + 2].offset))});
}
// __cluster_dims__(2, 1, 1); returns its last token.
index source_pass::cluster_dimensions(index i) {
  const index end = matching(i + 1);
  index open = none;
  const index name = declared_function(end + 1, open);
  if (name == none || is(i + 2, ")")) {
    refuse(i, "this form of __cluster_dims__", "__global__ void __cluster_dims__(2, 1, 1) kernel(...)");
  } else {
    std::string size(source_.substr(t_[i + 2].offset, t_[end].offset - t_[i + 2].offset));
    const index body = matching(open) + 1;
    if (open != name + 1 || names_own_parameter(i, i + 2, end)) {
      if (!is(body, "{"))
        refuse(i, "__cluster_dims__ of a template's parameter without the kernel's body",
               "it where the kernel is defined");
      say_cluster(body, size);
      asked_clusters_.insert(t_[name].text);
      size = "0";
    }
    clusters_ +=
        fmt::format("\nstatic const int ap_cluster_{} = ::antiphase::plain::register_cluster(\"{}\", {});",
                    numbers_++, t_[name].text, size);
  }
  drop(i, end + 1);
  return end;
}
void source_pass::say_cluster(index body, std::string_view size) {
  if (clusters_said_.insert(body).second)
    edits_.push_back({t_[body].offset + 1, 0, fmt::format(" if ({}tells_cluster({})) return; ", ours, size)});
}
void source_pass::answer_for_clusters() {
  for (const definition& d : definitions_)
    if (asked_clusters_.contains(t_[d.name].text) && is_kernel(d)) {
      index open = none;
      if (declared_function(d.start, open) != none) say_cluster(matching(open) + 1, "1");
    }
}
bool source_pass::is_kernel(const definition& d) const {
  for (index k = d.start; k < d.name; ++k)
    if (is(k, "__global__")) return true;
  return false;
}
void source_pass::find_kernels() {
  std::set<std::string_view> others;  // names of functions that are no kernels
  for (const definition& d : definitions_)
    if (!is_kernel(d)) others.insert(t_[d.name].text);
  for (index i = 0; i < t_.size(); ++i) {
    if (!is(i, "__global__")) continue;
    bool generic = false;
    for (index k = i; k-- > 0 && !is(k, ";") && !is(k, "{") && !is(k, "}");) generic |= is(k, "template");
    index open = none;
    const index name = declared_function(i + 1, open);
    if (name == none) continue;
    bool& known = generic_[t_[name].text];
    known = known || generic || overloaded_.contains(t_[name].text) || others.contains(t_[name].text);
    const index end = matching(open);
    if (is(end + 1, "{")) mark_ways_out(end + 1);
    if (is(end + 1, "{")) known |= !overloaded_.insert(t_[name].text).second;
    for (index a = open; a < end; ++a) known |= is(a, "=");  // a default argument: a call may omit it
  }
}
void source_pass::declare_entries() {
  std::map<std::string_view, std::vector<std::pair<index, std::string>>> all;
  for (const auto& [start, name] : kernel_heads_)
    if (generic_.contains(t_[name].text) && generic_.at(t_[name].text))
      all[t_[name].text].emplace_back(start, entry_of(start, name));
  for (const auto& [name, declared] : all) {
    if (std::any_of(declared.begin(), declared.end(), [](const auto& d) { return d.second.empty(); }))
      continue;
    entries_[name] = declared.front().first;
    for (const auto& [at, text] : declared) rounds_.push_back({t_[at].offset, 0, text});
  }
}
std::string source_pass::entry_of(index start, index name) const {
  std::string out;
  if (!is(name + 1, "(")) return " ";  // a specialisation or an instantiation: its template has one
  for (index i = start; i < name; ++i) {
    if (is(i, "template") && is(i + 1, "<")) {
      const index end = matching_angle(i + 1);
      if (is(i + 2, ">")) return " ";
      if (end >= name) return {};
      out += flat(i, end + 1) + " ";
      i = end;
    } else if (is(i, "template")) {
      return " ";
    } else if (takes_arguments(i)) {
      if (is(i, "requires") || is(i, "decltype") || !is(i + 1, "(")) return {};
      i = matching(i + 1);
    } else if (!is(i, "__global__") && !is(i, "void") && !is(i, "static") && !is(i, "inline") &&
               !is(i, "extern") && !is(i, "__forceinline__")) {
      return {};
    }
  }
  std::string takes, type;
  bool otherwise = false;  // within a default argument
  for (index i = name + 2, end = matching(name + 1); i < end; ++i) {
    if (is(i, "__grid_constant__")) continue;
    if (is(i, "=") &&
        std::any_of(t_.begin() + static_cast<std::ptrdiff_t>(i),
                    t_.begin() + static_cast<std::ptrdiff_t>(end), [](const token& t) { return t == "<"; }))
      return {};
    const index last = is(i, "(") || is(i, "[") || is(i, "{") ? matching(i) : i;
    otherwise = is(i, "=") || (otherwise && !is(i, ","));
    const std::string words = (touching(i - 1) ? "" : " ") + flat(i, last + 1);
    takes += words;
    if (!otherwise) type += words;
    i = last;
  }
  return fmt::format("{}void (*ap_entry_{}({}))({}); ", out, t_[name].text, takes, type);
}
void source_pass::mark_last_arms(index close, int& arms) {
  for (index end = close - 1; is(end, "}") && arms < 32;) {
    const index open = opening(end);
    const bool last = is(open - 1, "else");
    const index condition = is(open - 1, ")") ? opening(open - 1) : none;
    const bool first = condition != none && (is(condition - 1, "if") ||
                                             (is(condition - 1, "constexpr") && is(condition - 2, "if")));
    if (!last && !first) return;
    ways_out_.push_back({t_[open].offset + 1, 0, fmt::format("{}enters_arm({});", ours, arms++)});
    mark_last_arms(end, arms);
    index before = open - 1;  // "else" of this arm
    if (first) before = is(condition - 1, "if") ? condition - 2 : condition - 3;
    if (!is(before, "else")) return;
    end = before - 1;
  }
}
void source_pass::mark_ways_out(index open) {
  const index close = matching(open);
  if (close >= t_.size()) return;
  if (is(close - 1, ";") || is(close - 1, "{") || is(close - 1, "}"))
    ways_out_.push_back({t_[close].offset, 0, fmt::format("{}leaves(0u, ~0u);", ours)});
  int arms = 0;
  mark_last_arms(close, arms);
  index loop = none, loop_end = 0;
  int first = t_[open].line;  // a lambda's body may be called further down
  for (index i = open; i < close; ++i) {
    if (const index end = end_of_lambda(i); end < close) first = std::max(first, t_[end].line + 1);
    if (i > loop_end) loop = none;
    if (loop == none && (is(i, "for") || is(i, "while") || is(i, "do"))) {
      loop = i;
      loop_end = end_of_statement(i);
    }
    if (is(i, "return") && is(i + 1, ";") && may_begin(i))
      ways_out_.push_back(
          {t_[i].offset, t_[i + 1].offset + 1 - t_[i].offset,
           fmt::format("{{ {}leaves({}u, {}u); return; }}{}", ours, first, t_[loop != none ? loop : i].line,
                       std::string(static_cast<std::size_t>(t_[i + 1].line - t_[i].line), '\n'))});
  }
}
void source_pass::follow_rounds() {
  index behind_do = none;  // the while of a do statement
  for (index i = 0; i < t_.size(); ++i) {
    const bool is_do = is(i, "do");
    if (!is_do && (i == behind_do || !(is(i, "for") || is(i, "while")) || !is(i + 1, "("))) continue;
    const index body = is_do ? i + 1 : matching(i + 1) + 1, last = end_of_statement(body);
    if (last >= t_.size() || is(body, ";")) continue;
    if (is_do) behind_do = last + 1;
    bool meets = false;
    for (index k = body; k < last && !meets; ++k) meets = t_[k].text.starts_with("__syncthreads");
    if (!meets) continue;
    rounds_.push_back({t_[i].offset, 0, fmt::format("for ({}rounds ap_rounds; ap_rounds.once();) ", ours)});
    const bool braced = is(body, "{");
    rounds_.push_back(
        {t_[body].offset + (braced ? 1 : 0), 0, braced ? "ap_rounds.next();" : "{ ap_rounds.next(); "});
    if (!braced) rounds_.push_back({t_[last].offset + t_[last].text.size(), 0, " }"});
  }
}

}  // namespace antiphase::plain
