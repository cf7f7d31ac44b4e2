// SPDX-License-Identifier: Apache-2.0
// One PTX instruction: its name, its operands and what they mean in C++.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace antiphase::plain {

// Thrown for what the table does not have.
struct unknown {
  std::string name;
  const char* instead = nullptr;  // null: the dialect's list
};

// Meaning of names in an asm statement. Throws unknown.
class names {
 public:
  names() = default;
  names(const names&) = delete;
  names& operator=(const names&) = delete;
  virtual std::string value_of(std::string_view word) const = 0;
  virtual bool is_predicate(std::string_view word) const = 0;

 protected:
  ~names() = default;
};

// C++ for a special register such as %laneid or %clock64. Empty: not supported.
std::string special_register(std::string_view name);

// C++ statement for an instruction, without the semicolon. Throws unknown.
std::string code_of(std::string_view name, std::string_view operands, const names& meanings);

}  // namespace antiphase::plain

namespace antiphase::plain::ptx_code {

using text = std::string;
using view = std::string_view;

constexpr const char* here = "::antiphase::plain::place::current()";
template <class... A> text call(view function, const A&... arguments) {
  text all;
  ((all += (all.empty() ? "" : ", ") + text(arguments)), ...);
  return fmt::format("::antiphase::plain::ptx::{}({})", function, all);
}

bool in_name(char c);
// Blanks out comments, except those around inline asm, which become directives. Line breaks stay, and all
// other characters keep their offsets.
text without_comments(view s);
text quoted(view s);                       // as a string literal of C
view trimmed(view s);                      // without blanks around it
std::vector<view> split(view s, char by);  // outside of brackets; trimmed
bool has_word(view list, view one);
const char* register_type(view type);  // C++ for .reg's type; null: there is no such type
text number(view word);                // a literal

// [@[!]guard] name operands
struct operation {
  view guard, name, rest;
  bool is_negated = false;  // the guard
  view base() const { return name.substr(0, name.find('.')); }
};
operation operation_of(view all);

class instruction {
 public:
  instruction(view name, view operands, const names& meanings)
      : name_(name), parts_(split(name, '.')), names_(meanings) {
    if (!operands.empty()) operands_ = split(operands, ',');
  }
  [[noreturn]] void refuse() const { throw unknown{text(name_)}; }

  // modifiers
  bool take(view part) {
    const auto at = std::find(parts_.begin(), parts_.end(), part);
    if (at == parts_.end()) return false;
    parts_.erase(at);
    return true;
  }
  view take_one(std::initializer_list<view> of) {
    for (const view p : of)
      if (take(p)) return p;
    return {};
  }
  view take_beginning(view with) {
    const auto at = std::ranges::find_if(parts_, [&](view p) { return p.starts_with(with); });
    const view part = at == parts_.end() ? view() : *at;
    if (at != parts_.end()) parts_.erase(at);
    return part;
  }
  void skip(std::initializer_list<view> all) {
    for (const view p : all) take(p);
  }
  void skip_head(std::size_t count) {
    parts_.erase(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  // Drops cache hints. A cache policy is one more operand; it is ignored. PTX takes an operator such as .ca
  // or a priority such as .L1::no_allocate, not both, and an operator only on `weak` accesses.
  void skip_cache_hints(bool weak = true) {
    if (take("L2::cache_hint")) operands_.pop_back();
    std::erase_if(parts_, [](view p) { return p.starts_with("L2::"); });
    const bool priority = std::erase_if(parts_, [](view p) { return p.starts_with("L1::"); }) > 0;
    const bool operation = !take_one({"ca", "cg", "cs", "lu", "cv", "wb", "wt"}).empty();
    if ((priority && operation) || (operation && !weak)) refuse();
  }
  text type() {  // the last modifier
    if (parts_.empty()) refuse();
    const text t = type_named(parts_.back());
    parts_.pop_back();
    return t;
  }
  text type_named(view name) const {
    constexpr std::pair<view, view> all[] = {{"b8", "unsigned char"},
                                             {"u8", "unsigned char"},
                                             {"s8", "signed char"},
                                             {"b16", "unsigned short"},
                                             {"u16", "unsigned short"},
                                             {"s16", "short"},
                                             {"b32", "unsigned"},
                                             {"u32", "unsigned"},
                                             {"s32", "int"},
                                             {"b64", "unsigned long"},
                                             {"u64", "unsigned long"},
                                             {"s64", "long"},
                                             {"f32", "float"},
                                             {"f64", "double"},
                                             {"pred", "bool"},
                                             {"b128", "unsigned __int128"}};
    for (const auto& [ptx, cpp] : all)
      if (ptx == name) return text(cpp);
    refuse();
  }
  text scope(view otherwise = {}) {
    const view s = take_one({"cta", "cluster", "gpu", "sys"});
    const view named = s.empty() ? otherwise : s;
    return fmt::format("::antiphase::scope::{}", named == "cta"       ? "block"
                                                 : named == "cluster" ? "cluster"
                                                 : named == "sys"     ? "system"
                                                                      : "device");
  }
  // Accesses with an order have a scope, others have none.
  text scope_for(bool ordered) {
    const std::size_t before = parts_.size();
    text named = scope();
    if ((parts_.size() < before) != ordered) refuse();
    return named;
  }
  text space() {
    if (take("local")) return "in_local";
    return take_one({"shared::cta", "shared::cluster", "shared"}).empty()
               ? (skip({"global", "global::cta", "const", "param", "param::entry", "param::func"}), "generic")
               : "in_shared";
  }
  std::size_t parts() const { return parts_.size(); }
  view last() const { return parts_.empty() ? view() : parts_.back(); }
  view take_last() {
    if (parts_.empty()) refuse();
    const view part = parts_.back();
    parts_.pop_back();
    return part;
  }
  view first() const { return parts_.empty() ? view() : parts_.front(); }
  bool done() const { return parts_.empty(); }

  // operands
  std::size_t count() const { return operands_.size(); }
  view operand(std::size_t i) const {
    if (i >= operands_.size()) refuse();
    return operands_[i];
  }
  text value(view word) const { return names_.value_of(word); }
  text value(std::size_t i) const { return value(operand(i)); }
  bool is_predicate(std::size_t i) const {
    return names_.is_predicate(operand(i).starts_with("!") ? operand(i).substr(1) : operand(i));
  }
  text get(const text& type, std::size_t i) const {
    const view word = operand(i);
    if (word.starts_with("!"))
      return fmt::format("!::antiphase::plain::ptx::get<bool>({})", value(word.substr(1)));
    return fmt::format("::antiphase::plain::ptx::get<{}>({})", type, value(word));
  }
  text put(std::size_t i, const text& what) const { return call("put", value(i), what); }
  std::vector<text> list(std::size_t i) const {  // {a, b}, or a single one without braces
    view word = operand(i);
    if (word.starts_with("{")) word = word.substr(1, word.size() - 2);
    std::vector<text> all;
    for (const view one : split(word, ',')) all.push_back(value(one));
    return all;
  }
  text gets(const text& type, std::size_t i) const {
    text all;
    for (const text& one : list(i))
      all += fmt::format("{}::antiphase::plain::ptx::get<{}>({})", all.empty() ? "" : ", ", type, one);
    return all;
  }
  // [a + 4]
  text pointer(std::size_t i, const text& space) const {
    view word = operand(i);
    if (!word.starts_with("[") || !word.ends_with("]")) refuse();
    const std::vector<view> sum = split(word.substr(1, word.size() - 2), '+');
    text address = fmt::format("::antiphase::plain::ptx::get<unsigned long>({})", value(sum[0]));
    for (std::size_t k = 1; k < sum.size(); ++k) address += fmt::format(" + {}", value(sum[k]));
    return call(space, address);
  }
  // [map, {x, y}]: the parts between the brackets.
  std::vector<view> inside(std::size_t i) const {
    const view word = operand(i);
    if (!word.starts_with("[") || !word.ends_with("]")) refuse();
    return split(word.substr(1, word.size() - 2), ',');
  }
  text barrier(std::size_t i, const text& space) const {
    return fmt::format("static_cast<unsigned long*>({})", pointer(i, space));
  }

 private:
  view name_;
  std::vector<view> parts_, operands_;
  const names& names_;
};

text order_of(view word);       // acquire, release, acq_rel, or relaxed
int vector_of(instruction& i);  // takes .v2 and the like; 1 without

}  // namespace antiphase::plain::ptx_code
