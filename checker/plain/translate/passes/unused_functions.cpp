// SPDX-License-Identifier: Apache-2.0
// Functions that nothing calls, and what binds kernels to Python: they need not be supported.
#include <fmt/format.h>

#include <algorithm>

#include "checker/plain/ptx/instructions/ptx_instruction.hpp"
#include "checker/plain/translate/dialect.hpp"
#include "checker/plain/translate/passes/source_pass.hpp"

namespace antiphase::plain {

bool source_pass::is_driven(index i) const {
  return !driven_.driver.empty() && list_.files[static_cast<std::size_t>(t_[i].file)] != driven_.driver;
}
bool source_pass::names_binding(index i) const {
  for (const char* space : {"torch", "at", "c10", "py", "pybind11"})
    if (is(i, space) && is(i + 1, "::")) return true;
  for (const char* macro :
       {"PYBIND11_MODULE", "TORCH_LIBRARY", "TORCH_LIBRARY_IMPL", "TORCH_LIBRARY_FRAGMENT"})
    if (is(i, macro)) return true;
  return false;
}
index source_pass::binding_at(index start) const {
  if (!in_namespace() || !is_driven(start) || is(start, "}")) return none;
  if (start > 0 && !is(start - 1, ";") && !is(start - 1, "}") && !is(start - 1, "{") &&
      t_[start - 1].file == t_[start].file)
    return none;
  bool binds = false;
  for (index i = start; i < t_.size(); ++i) {
    if (is(i, "__global__") || is(i, "__device__")) return none;
    if (is(i, "namespace") && !is(start, "using")) return none;
    binds |= names_binding(i);
    index end = is(i, ";") ? i : none;
    if (is(i, "(") || is(i, "[") || is(i, "{")) {
      const index close = matching(i);
      for (index k = i; k < close && k < t_.size(); ++k) binds |= names_binding(k);
      if (is(i, "{")) end = is(close + 1, ";") ? close + 1 : close;
      i = close;
    }
    if (end != none) return binds && end < t_.size() ? end : none;
  }
  return none;
}
std::string source_pass::left_out(index start, index end) {
  index name = none;
  for (index i = start; i + 1 < end && name == none && !is(i, "=") && !is(i, "{"); ++i) {
    if (is(i, "template") || is(i, "operator") || is(i, "class") || is(i, "struct") || is(i, "using") ||
        is(i, "typedef") || is(i, "~"))
      return {};
    if (t_[i].kind == token_kind::name && is(i + 1, "(") && i > start && !is(i - 1, "::") &&
        !takes_arguments(i))
      name = i;
  }
  if (name == none || generic_.contains(t_[name].text) ||
      std::any_of(definitions_.begin(), definitions_.end(),
                  [&](const definition& d) {
                    return t_[d.name].text == t_[name].text && (d.name < start || d.name > end);
                  }) ||
      !left_out_.insert(t_[name].text).second)
    return {};
  return fmt::format(
      "template <class... ap_a> auto {0}(ap_a&&...) {{ static_assert(sizeof...(ap_a) > 99, \"antiphase "
      "check: "
      "{0} is left out next to a driver, as it names PyTorch. Launch its kernels, or give the driver as a "
      "source with this file in an #include\"); }}",
      t_[name].text);
}
void source_pass::find_definitions(bool whole) {
  std::set<index> declared;
  index start = 0, name = none, head = 0;  // head: past the parameters of a template
  const auto next = [&](index i) { start = head = i, name = none; };
  const auto has = [&](index end, std::initializer_list<std::string_view> words) {
    if (is(start, "template") && std::find(words.begin(), words.end(), "template") != words.end())
      return true;
    for (index k = head; k < end; ++k)
      if (std::find(words.begin(), words.end(), t_[k].text) != words.end()) return true;
    return false;
  };
  for (index i = 0; i < t_.size(); ++i) {
    if (is(i, ";")) {
      if (name != none && !has(i, {"template", "="})) declared.insert(name);
      if (name != none && has(i, {"__global__"})) kernel_heads_.emplace_back(start, name);
      next(i + 1);
    } else if (is(i, "}")) {
      next(i + 1);
    } else if (is(i, "template") && is(i + 1, "<")) {
      i = matching_angle(i + 1);
      head = i + 1;
    } else if (is(i, "(") || is(i, "[")) {
      if (const index of = is(i, "(") ? name_before(i) : none;
          of != none && name == none && of >= start && !has(i, {"=", "operator"}) && !takes_arguments(of) &&
          (of == i - 1 || has(i, {"template"})))
        name = of;
      i = matching(i);
    } else if (is(i, "{")) {
      if (name == none &&
          (has(i, {"namespace"}) || (has(i, {"extern"}) && t_[i - 1].kind == token_kind::text))) {
        next(i + 1);
        continue;
      }
      const index close = matching(i);
      if (name != none && has(name, {"__global__"})) kernel_heads_.emplace_back(start, name);
      if (name != none && close < t_.size())
        definitions_.push_back(
            {start, name, close, has(i, {"constructor", "~"}) || is(name, "begin") || is(name, "end")});
      i = close;
      if (name != none) next(i + 1);
    }
  }
  find_called(whole, declared);
}
void source_pass::find_called(bool whole, const std::set<index>& declared) {
  whole = whole && std::any_of(definitions_.begin(), definitions_.end(),
                               [&](const definition& d) { return is_main(d); });
  for (definition& d : definitions_) {
    bool own = whole;
    for (index k = d.start; k < d.name; ++k)
      own |= is(k, "static") || is(k, "inline") || is(k, "__forceinline__") || is(k, "template");
    d.used |= is_main(d) || !own;
  }
  std::set<std::string_view> called;
  const auto call_all = [&](index first, index last, index but) {
    for (index k = first; k < last; ++k)
      if (t_[k].kind == token_kind::name && k != but && !declared.contains(k)) called.insert(t_[k].text);
  };
  index at = 0;
  for (const definition& d : definitions_) {
    call_all(at, d.start, none);
    if (d.used) call_all(d.start, d.close, d.name);
    at = d.close;
  }
  call_all(at, t_.size(), none);
  for (bool more = true; std::exchange(more, false);)
    for (definition& d : definitions_)
      if (!d.used && called.contains(t_[d.name].text)) {
        d.used = more = true;
        call_all(d.start, d.close, d.name);
      }
}
bool source_pass::is_main(const definition& d) const { return is(d.name, "main") && in_program(d.name); }
bool source_pass::in_program(index i) const { return driven_.driver.empty() || file_of(i) == driven_.driver; }
void source_pass::drop_unused() {
  std::set<std::string_view> gone;
  std::vector<bool> drops(definitions_.size());
  for (bool more = true; std::exchange(more, false);)
    for (index n = 0; n < definitions_.size(); ++n) {
      const definition& d = definitions_[n];
      if (d.used || drops[n]) continue;
      bool lost = std::any_of(refused_.begin(), refused_.end(),
                              [&](const auto& r) { return r.first >= d.start && r.first <= d.close; });
      for (index k = d.start; k < d.close && !lost; ++k) lost = k != d.name && gone.contains(t_[k].text);
      if (!lost) continue;
      drops[n] = more = true;
      gone.insert(t_[d.name].text);
    }
  for (index n = 0; n < definitions_.size(); ++n) {
    if (!drops[n]) continue;
    const definition& d = definitions_[n];
    const std::size_t from = t_[d.start].offset, to = t_[d.close].offset + 1;
    for (auto* edits : {&edits_, &rounds_})
      std::erase_if(*edits, [&](const edit& e) { return e.offset >= from && e.offset < to; });
    std::erase_if(refused_, [&](const auto& r) { return r.first >= d.start && r.first <= d.close; });
    edits_.push_back({from, to - from, fmt::format("\n# {} \"{}\"\n", t_[d.close].line, file_of(d.close))});
  }
  for (const definition& d : definitions_)
    if (is(d.start, "template") && is(d.start + 1, "<") && is(d.start + 2, ">")) refuse_when_called(d);
}
void source_pass::refuse_when_called(const definition& d) {
  index open = d.name;
  while (open < d.close && !is(open, "{")) open = is(open, "(") ? matching(open) + 1 : open + 1;
  const auto in_body = [&](const auto& r) {
    return r.first >= open && r.first <= d.close && !r.second.when_reached;
  };
  const auto first = std::find_if(refused_.begin(), refused_.end(), in_body);
  if (first == refused_.end() || open >= d.close) return;
  const std::string why = ptx_code::quoted(to_text(first->second));
  const std::size_t from = t_[open].offset, to = t_[d.close].offset;
  std::erase_if(edits_, [&](const edit& e) { return e.offset > from && e.offset < to; });
  std::erase_if(refused_, in_body);
  edits_.push_back(
      {from + 1, to - from - 1,
       fmt::format("{}refused({});\n# {} \"{}\"\n", ours, why, t_[d.close].line, file_of(d.close))});
}
void source_pass::find_own_functions() {
  for (index i = 1; i < t_.size(); ++i) {
    if (t_[i].kind != token_kind::name || !is(i + 1, "(") ||
        !unsupported_of_library(t_[i].text, true, source_))
      continue;
    index end = matching(i + 1) + 1;
    while (is(end, "const") || is(end, "noexcept") || is(end, "override") || is(end, "final")) ++end;
    if (is(end, "{") || (is(end, ";") && is_declaration(i))) own_functions_.insert(t_[i].text);
  }
}

}  // namespace antiphase::plain
