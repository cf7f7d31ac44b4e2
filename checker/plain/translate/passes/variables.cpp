// SPDX-License-Identifier: Apache-2.0
// Variables: __shared__, __device__, __constant__, __managed__, and CUDA's own.
#include <fmt/format.h>

#include <algorithm>

#include "checker/plain/translate/dialect.hpp"
#include "checker/plain/translate/passes/source_pass.hpp"

namespace antiphase::plain {

source_pass::shared_declaration source_pass::head_of_shared(index at) const {
  shared_declaration d{.first = at};
  while (d.first > 0 && (is(d.first - 1, "extern") || is(d.first - 1, "static") ||
                         is(d.first - 1, "volatile") || is(d.first - 1, "__device__")))
    d.external |= is(--d.first, "extern");
  const auto begins = [&](index i) { return i == 0 || is(i - 1, ";") || is(i - 1, "{") || is(i - 1, "}"); };
  if (begins(d.first) || is(d.first - 1, ")")) return d;
  index start = d.first;
  while (!begins(start)) --start;
  for (index i = start; i < d.first; ++i) {
    d.external |= is(i, "extern");
    if (!is(i, "extern") && !is(i, "static")) (d.before += d.before.empty() ? "" : " ") += t_[i].text;
  }
  d.first = start;
  return d;
}
index source_pass::take_alignment(shared_declaration& d, index i) {
  const index end = matching(i + 1);
  d.alignment = flat(i + 2, end);
  if (t_[i + 2].kind != token_kind::name) return end + 1;
  const std::string has_it = fmt::format("ap_type_{}", numbers_++);
  d.aligned = fmt::format("struct {} {{ alignas({}) char x; }}; ", has_it, d.alignment);
  d.alignment = fmt::format("alignof({})", has_it);
  return end + 1;
}
index source_pass::take_definition(shared_declaration& d, index type) {
  if (!is(type, "struct") && !is(type, "union") && !is(type, "class") && !is(type, "enum")) return type;
  index open = type + 1;
  while (open < t_.size() && !is(open, "{") && !is(open, ";") && !is(open, "[")) ++open;
  const index close = is(open, "{") ? matching(open) : t_.size();
  if (close >= t_.size()) return type;
  const bool named = t_[open - 1].kind == token_kind::name && open - 1 > type;
  const std::string name = named ? "" : fmt::format(" ap_type_{}", numbers_++);
  d.before = named ? std::string(t_[type + 1].text) : name.substr(1);
  d.defined = fmt::format("{}{} {}; ", on_one_line(t_[type].offset, t_[open].offset), name,
                          on_one_line(t_[open].offset, t_[close].offset + 1));
  return close + 1;
}
// float (*name)[4]
index source_pass::shared_pointer(shared_declaration& d, index type, index pointer) {
  const index last = end_of_statement(pointer);
  const std::string alias = fmt::format("ap_type_{}", numbers_++);
  d.defined =
      fmt::format("typedef {} {}{}; ", d.before, on_one_line(t_[type].offset, t_[pointer].offset), alias);
  d.defined.insert(d.defined.size() - 2,
                   on_one_line(t_[pointer].offset + t_[pointer].text.size(), t_[last].offset));
  const std::string variable =
      fmt::format("{}shared<{}, {}, {}>(\"{}\")", ours, alias, d.alignment, numbers_++, t_[pointer].text);
  if (in_namespace()) file_wide_[std::string(t_[pointer].text)] = "(" + variable + ")";
  return put_declaration(
      d.first, last,
      d.aligned + d.defined +
          (in_namespace() ? "" : fmt::format("auto& {} = {};", t_[pointer].text, variable)));
}
index source_pass::shared_variables(const shared_declaration& d, index at, index name, std::string type) {
  index end = name;
  std::string out;
  std::string base = type;  // of further declarators: a * belongs to its own one
  while (base.ends_with('*') || base.ends_with(' ')) base.pop_back();
  for (index i = name; i < t_.size();) {  // declarators
    const std::string_view n = t_[i].text;
    index k = i + 1;
    std::string sizes;  // in parentheses: they may contain a >
    for (; is(k, "["); k = matching(k) + 1)
      sizes += is(k + 1, "]") ? "[]"
                              : fmt::format("[({})]", on_one_line(t_[k].offset + 1, t_[matching(k)].offset));
    if (is(k, "=")) {
      refuse(at, "a __shared__ variable with an initial value",
             "an assignment by one thread, and __syncthreads() after it");
      return at;
    }
    const std::string more = d.external && k > i + 4 ? flat(matching(i + 1) + 1, k) : "";
    const std::string variable =
        fmt::format("{}shared<{} {}, {}, {}>(\"{}\")", ours, type, sizes, d.alignment, numbers_++, n);
    if (d.external)
      declare_dynamic(n, type + more, out);
    else if (in_namespace())
      file_wide_[std::string(n)] = "(" + variable + ")";
    else
      out += fmt::format("{}auto& {} = {};", out.empty() ? "" : " ", n, variable);
    end = k;
    if (!is(k, ",")) break;
    type = base;
    for (i = k + 1; is(i, "*"); ++i) type += " *";
  }
  return put_declaration(d.first, end, d.aligned + d.defined + (in_namespace() ? ";" : out));
}
index source_pass::shared(index at) {
  shared_declaration d = head_of_shared(at);
  index type = at + 1;
  while (is(type, "__align__") || is(type, "alignas") || is(type, "extern") || is(type, "static")) {
    d.external |= is(type, "extern");
    type = is(type, "__align__") || is(type, "alignas") ? take_alignment(d, type) : type + 1;
  }
  type = take_definition(d, type);
  const index name = declared_name(type);
  if (const index pointer = name == none ? pointer_in_parentheses(type) : none; pointer != none)
    return shared_pointer(d, type, pointer);
  if (name == none || (name == type && d.before.empty())) {
    refuse(at, "this form of a __shared__ variable", "__shared__ type name[size]; with a named type");
    return at;
  }
  std::string words = d.before;
  for (index i = type; i < name; ++i) {
    if (is(i, "__align__") || is(i, "alignas"))
      i = take_alignment(d, i) - 1;
    else
      (words += words.empty() ? "" : " ") += t_[i].text;
  }
  if (d.first < at && is(at - 1, "volatile")) words = "volatile " + words;
  return shared_variables(d, at, name, words);
}
index source_pass::put_declaration(index first, index last, const std::string& what) {
  edits_.erase(std::remove_if(edits_.begin() + static_cast<std::ptrdiff_t>(settled_), edits_.end(),
                              [&](const edit& e) { return e.offset >= t_[first].offset; }),
               edits_.end());
  replace(first, last + 1, what);
  return last;
}
void source_pass::declare_dynamic(std::string_view name, const std::string& type, std::string& out) {
  const std::string place = fmt::format("{}dynamic_shared<{}>()", ours, type);
  dynamic_[name] = in_namespace() ? 0 : scopes_.size();
  if (in_namespace())
    file_wide_[std::string(name)] = "(" + place + ")";
  else
    out += fmt::format("auto* const {} = {};", name, place);
}
index source_pass::device(index at) {
  bool constant = is(at, "__constant__"), managed = is(at, "__managed__"), variable = constant || managed,
       done = false, fixed = false;
  for (index k = at; k-- > 0 && !is(k, ";") && !is(k, "{") && !is(k, "}") && !is(k, ">");) {
    fixed |= is(k, "const") || is(k, "constexpr");
    if (is(k, "__device__") || is(k, "__constant__") || is(k, "__managed__")) {
      drop(at, at + 1);  // handled at the first of them
      return at;
    }
  }
  bool function = at > 0 && is(at - 1, "]");  // of a lambda
  for (index k = at + 1; k < t_.size() && !done && !function; ++k) {
    if (is(k, "__align__") || is(k, "alignas") || is(k, "__attribute__") || is(k, "decltype") ||
        is(k, "__launch_bounds__"))
      k = matching(k + 1);
    else if (is(k, "__constant__"))
      constant = variable = true;
    else if (is(k, "__managed__"))
      managed = variable = true;
    else if (is(k, "__shared__"))
      function = true;  // handled by shared()
    else if (is(k, "const") || is(k, "constexpr"))
      fixed |= !is(k + 1, "char") || !is(k + 2, "*");
    else if (is(k, "operator") || is(k, "__global__"))
      function = true;
    else if (is(k, "<"))
      k = matching_angle(k);
    else if (is(k, "(") || is(k, ";") || is(k, "=") || is(k, "[") || is(k, "{") || is(k, ",")) {
      function = is(k, "(") && !variable && t_[k + 1].kind != token_kind::number;  // an argument
      variable = !function;
      done = true;
    }
  }
  if (function || !variable || (fixed && !constant) || (fixed && constant))
    drop(at, at + 1);
  else
    replace(at, at + 1, in_section(managed ? "ap_managed" : constant ? "ap_constant" : "ap_device", at));
  return at;
}
std::string source_pass::in_section(std::string_view section, index at) {
  const index name = declared_name(at + 1);
  const std::string own(name == none ? "" : t_[name].text);
  bool generic = in_template_;
  for (index k = at; k-- > 0 && !is(k, ";") && !is(k, "{") && !is(k, "}");) generic |= is(k, "template");
  const bool member = name != none && is(name - 1, "::");
  if (generic && !in_template_ && !member && section == "ap_device") device_templates_.push_back(own);
  const std::string tag = fmt::format("__attribute__((abi_tag(\"{}\")))", section);
  if (generic) return tag;
  const bool of_namespace = in_namespace() && !member;
  return fmt::format("__attribute__((section(\"{},\\\"aw\\\",@progbits\\n#{}_{}\"))){}", section,
                     of_namespace ? "of" : "in", own, of_namespace ? "" : " " + tag);
}
void source_pass::use_as_array(index i) {
  if (is(i - 1, "&") && (is(i - 2, "(") || (is(i - 2, ")") && is(i - 3, "*"))) && !is(i + 1, "[") &&
      !is(i + 1, ".") && !is(i + 1, "->"))
    return drop(i - 1, i);
  if (!is(i - 1, "(") || !is(i + 1, ")") || i < 4 || !is(i - 2, ">") || !is(i - 3, "&")) return;
  index first = i - 2;
  for (int depth = 0; first > 0; --first) {
    depth += is(first, ">") - is(first, "<");
    if (depth == 0) break;
  }
  if (first > 0 && is(first - 1, "reinterpret_cast")) insert_before(i, "*");
}
bool source_pass::reads_built_in(const std::vector<token>& t, index i) {
  if (t[i] != "threadIdx" && t[i] != "blockIdx" && t[i] != "blockDim" && t[i] != "gridDim") return false;
  const auto is = [&](index k, std::string_view what) { return k < t.size() && t[k] == what; };
  if (is(i - 1, ".") || is(i - 1, "->") || is(i - 1, "::")) return false;
  if (is(i + 1, ".")) return true;
  return is(i - 1, "=") || is(i - 1, "return") || ((is(i - 1, "(") || is(i - 1, ",")) && is(i + 1, ")")) ||
         (is(i - 1, "(") && is(i + 1, ","));
}
std::string source_pass::built_in(std::string_view name) {
  return fmt::format(" {}built_in({})", ours, name);  // the space: after %, a colon would be a digraph
}

}  // namespace antiphase::plain
