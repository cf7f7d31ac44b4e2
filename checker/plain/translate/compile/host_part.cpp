// SPDX-License-Identifier: Apache-2.0
#include "checker/plain/translate/compile/host_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "checker/plain/translate/compile/compile_steps.hpp"
#include "checker/plain/translate/token_walk.hpp"

namespace antiphase::plain {
namespace {

class host_pass : token_walk {
 public:
  host_pass(std::string_view source, std::string_view anonymous)
      : token_walk(source), anonymous_(anonymous) {}
  std::string run();

 private:
  struct edit {
    std::size_t length;
    std::string text;
  };
  void replace(index first, index last, std::string with);
  void drop_static(index word);
  bool declare_as_bytes(index word);
  index begin_of_statement(index i) const;
  index body_after(index close) const;
  std::string addresses(index open);
  index kernel(index word);           // each returns the last token of what it has taken
  index device_function(index word);  // or of the word alone

  std::string_view anonymous_;
  std::map<std::size_t, edit> edits_;  // by offset
  int unnamed_ = 0;
};

// Tokens [first, last); line breaks stay.
void host_pass::replace(index first, index last, std::string with) {
  const std::string_view old = text(first, last);
  with.append(static_cast<std::size_t>(std::ranges::count(old, '\n')), '\n');
  edits_[t_[first].offset] = {old.size(), std::move(with)};
}

index host_pass::begin_of_statement(index i) const {
  while (i > 0 && !is(i - 1, ";") && !is(i - 1, "{") && !is(i - 1, "}")) --i;
  return i;
}
void host_pass::drop_static(index word) {
  for (index i = begin_of_statement(word); !is(i, "(") && !is(i, ";") && !is(i, "=") && i < t_.size(); ++i)
    if (is(i, "static")) replace(i, i + 1, " ");
}

// Objects of libcu++'s classes have another layout in host code, where stand-ins declare them: the variable
// is that of the kernels' module alone, and bytes for the host, which may ask for its address. True if it is
// such a one.
bool host_pass::declare_as_bytes(index word) {
  constexpr std::string_view classes[] = {"barrier", "latch", "counting_semaphore", "binary_semaphore"};
  bool is_one = false;
  index name = word, last = word;
  for (int depth = 0; last < t_.size() && !is(last, ";"); ++last) {
    if (depth == 0 && (is(last, "{") || is(last, "=") || is(last, "(") || is(last, "["))) break;
    depth += is(last, "<") ? 1 : is(last, ">") ? -1 : 0;
    is_one |= is(last, "cuda") && is(last + 1, "::") &&
              std::ranges::find(classes, t_[last + 2].text) != std::end(classes);
    if (depth == 0 && t_[last].kind == token_kind::name) name = last;
  }
  if (!is_one) return false;
  while (last < t_.size() && !is(last, ";"))
    last = is(last, "{") || is(last, "(") ? matching(last) + 1 : last + 1;
  replace(begin_of_statement(word), last, fmt::format("extern char {}[]", t_[name].text));
  return true;
}

// The opening brace of the body of a function whose parameters end at `close`; none: it has no body.
index host_pass::body_after(index close) const {
  for (index i = close + 1; i < t_.size() && !is(i, ";") && !is(i, "=") && !is(i, "}"); ++i) {
    if (is(i, "{")) return i;
    if (is(i, ":")) return none;  // a constructor, whose members are initialized before
    if (is(i, "(") || is(i, "[")) i = matching(i);
  }
  return none;
}

// The addresses of a kernel's parameters. Those without a name get one.
std::string host_pass::addresses(index open) {
  std::string all;
  const index end = matching(open);
  index start = open + 1;
  int depth = 0;  // of a template's arguments
  for (index i = open + 1; i <= end; ++i) {
    if (i < end && (is(i, "(") || is(i, "[") || is(i, "{"))) {
      i = matching(i);
      continue;
    }
    depth += is(i, "<") ? 1 : is(i, ">") && depth > 0 ? -1 : 0;
    if (i < end && (depth > 0 || !is(i, ","))) continue;
    if (start == i || (start + 1 == i && is(start, "void"))) break;
    index last = start;  // of the declarator: up to a default argument or the size of an array
    while (last + 1 < i && !is(last + 1, "=") && !is(last + 1, "[")) {
      ++last;
      if (is(last, "(") && !is(last - 1, "decltype")) break;
    }
    index name = last;
    if (const index pointer = is(last, "(") ? pointer_in_parentheses(start) : none; pointer != none)
      name = pointer;
    constexpr std::string_view types[] = {"int",  "float",    "double", "char", "short",
                                          "long", "unsigned", "signed", "bool", "const"};
    const bool named = t_[name].kind == token_kind::name && name > start && !is(name - 1, "::") &&
                       std::ranges::find(types, t_[name].text) == std::end(types) &&
                       !(name == start + 1 && (is(start, "const") || is(start, "typename")));
    std::string own(t_[name].text);
    if (!named) {
      own = fmt::format("ap_unnamed{}", unnamed_++);
      edits_[t_[last].offset + t_[last].text.size()] = {0, " " + own};
    }
    const bool pack = name > start + 1 && is(name - 1, ".");
    all += fmt::format("{}__builtin_addressof({}){}", all.empty() ? "" : ", ", own, pack ? "..." : "");
    start = i + 1;
  }
  return all;
}

index host_pass::kernel(index word) {
  drop_static(word);
  index open = none;
  if (declared_function(word + 1, open) == none) return word;
  const index body = body_after(matching(open));
  if (body == none || matching(body) >= t_.size()) return word;
  // Not inlined, as its name says which kernel it is. In lines of a header of ours, so that no finding names
  // it as a caller. Not a plain return: the kernel's own code says which barriers the thread has gone past.
  const index end = matching(body);
  edits_[t_[word].offset + t_[word].text.size()] = {0, " __attribute__((noinline))"};
  const std::string code =
      fmt::format("::antiphase::plain::by_nvcc({{{}}}); return (void)0;", addresses(open));
  edits_[t_[body].offset] = {
      t_[end].offset + 1 - t_[body].offset,
      fmt::format("{{\n# 1 \"/include/antiphase/plain/launch.h\" 3\n{}\n# {} \"{}\"\n}}", code, t_[end].line,
                  file_of(end))};
  return end;
}

index host_pass::device_function(index word) {
  const index first = begin_of_statement(word);
  for (index i = first; i < word + 3; ++i)
    if (is(i, "__host__") || is(i, "constexpr") || is(i, "consteval")) return word;
  if (word > 0 && is(word - 1, "]")) return word;  // a lambda
  index open = none;
  if (declared_function(word + 1, open) == none) return word;
  bool deduced = false, constant = false;
  for (index i = first; i < open; ++i) {
    deduced |= is(i, "auto") || is(i, "decltype") || is(i, "operator");  // of what Thrust calls on the host
    constant |= is(i, "constexpr") || is(i, "=") || is(i, "__host__");
  }
  if (constant || deduced) return word;
  const index body = body_after(matching(open));
  if (body == none || matching(body) >= t_.size()) return word;
  replace(body, matching(body) + 1, "{ __builtin_trap(); }");
  return matching(body);
}

std::string host_pass::run() {
  std::vector<bool> scopes;  // for each open brace: it is a namespace's
  for (index i = 0; i < t_.size(); ++i) {
    if (is(i, "{")) {
      bool names = false;
      for (index k = begin_of_statement(i); k < i; ++k)
        names |= is(k, "namespace") || (is(k, "extern") && t_[k + 1].kind == token_kind::text && k + 2 == i);
      scopes.push_back(names);
    } else if (is(i, "}") && !scopes.empty()) {
      scopes.pop_back();
    } else if (is(i, "namespace") && is(i + 1, "{")) {
      replace(i, i + 1, fmt::format("inline namespace {} ", anonymous_));
    } else if (is(i, "__global__")) {
      i = kernel(i);
    } else if (is(i, "__device__") || is(i, "__constant__") || is(i, "__managed__")) {
      index open = none;
      const bool function = is(i, "__device__") && declared_function(i + 1, open) != none;
      if (function)
        i = device_function(i);
      else if (std::ranges::all_of(scopes, [](bool names) { return names; })) {
        if (!declare_as_bytes(i)) drop_static(i);
      }
    }
  }
  std::string out;
  std::size_t at = 0;
  for (const auto& [offset, e] : edits_) {
    if (offset < at) continue;
    out += source_.substr(at, offset - at);
    out += e.text;
    at = offset + e.length;
  }
  return out + std::string(source_.substr(at));
}

}  // namespace

std::string host_part(std::string_view preprocessed, std::string_view anonymous) {
  return host_pass(preprocessed, anonymous).run();
}

}  // namespace antiphase::plain
