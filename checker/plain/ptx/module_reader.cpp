// SPDX-License-Identifier: Apache-2.0
// Reads the text of a PTX module: directives, variables, functions and the statements of their bodies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <antiphase/plain_cuda.hpp>
#include <cctype>
#include <charconv>

#include "checker/plain/ptx/instructions/ptx_instruction.hpp"
#include "flow.hpp"
#include "module.hpp"

namespace antiphase::plain::ptx_module {
namespace {

using view = std::string_view;
using ptx_code::in_name;
using ptx_code::split;
using ptx_code::without_comments;

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// Words separated by one blank each.
std::string on_one_line(view s) {
  std::string out;
  for (const char c : s)
    if (!is_blank(c))
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

// The newest version that a compiler has written here, as that of CUDA 13.5 does.
constexpr int newest_major = 9, newest_minor = 5;
constexpr view architectures =
    "20 21 30 32 35 37 50 52 53 60 61 62 70 72 75 80 86 87 88 89 90 100 101 103 110 120 121";

// sm_90, sm_90a, sm_120f; or what may stand next to it.
bool is_target(view word) {
  if (!word.starts_with("sm_"))
    return ptx_code::has_word("texmode_unified texmode_independent map_f64_to_f32 debug", word);
  word.remove_prefix(3);
  if (word.ends_with('a') || word.ends_with('f')) word.remove_suffix(1);
  return !word.empty() && ptx_code::has_word(architectures, word);
}

class reader {
 public:
  reader(view text, const std::string& file) : text_(without_comments(text)), places_(text) {
    all_.file = file;
  }
  module_text run();

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw bad_source(fmt::format("{}:{}: {}", all_.file, line(), what));
  }
  int line() const {
    for (; counted_ < std::min(at_, text_.size()); ++counted_) lines_ += text_[counted_] == '\n' ? 1 : 0;
    return lines_;
  }
  bool ended() {
    while (at_ < text_.size() && (is_blank(text_[at_]) || text_[at_] == ';')) ++at_;
    return at_ == text_.size();
  }
  view rest_of_line() {
    const std::size_t start = at_;
    at_ = std::min(text_.find('\n', at_), text_.size());
    return view(text_).substr(start, at_ - start);
  }
  view word() const {  // the one at at_
    std::size_t end = at_ + 1;
    while (end < text_.size() && (in_name(text_[end]) || text_[end] == '.')) ++end;
    return view(text_).substr(at_, end - at_);
  }
  // Up to one of `ends`, outside of brackets and strings; at_ is at it then.
  view up_to(view ends) {
    const std::size_t start = at_;
    int depth = 0;
    for (bool quoted = false; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') quoted = !quoted;
      if (quoted) continue;
      if (depth == 0 && ends.find(c) != view::npos) break;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if ((c == ')' || c == ']' || c == '}') && depth-- == 0) break;
    }
    return view(text_).substr(start, at_ - start);
  }
  void skip_braces() {
    for (const view end : {"{", "}"}) {
      up_to(end);
      if (at_ >= text_.size()) fail(fmt::format("the section does not end: expected a {}", end));
      ++at_;
    }
  }
  void version();
  void target();
  void module_level();
  void read_function(bool is_kernel);
  std::vector<variable> list_of_parameters();
  void read_body(function& f);
  void one_statement(function& f);
  std::size_t end_of_label() const;

  std::string text_;
  places places_;
  module_text all_;
  std::size_t at_ = 0;
  mutable std::size_t counted_ = 0;
  mutable int lines_ = 1;
  source_line place_;        // of the last .loc
  bool is_visible_ = false;  // what follows, to other modules
  bool in_asm_ = false;      // whose .loc count lines of its own text
};

module_text reader::run() {
  if (ended()) throw bad_source(fmt::format("{} is empty: expected a PTX module", all_.file));
  if (!word().starts_with(".version"))
    throw bad_source(fmt::format("{} is not a PTX module: expected a .version directive first", all_.file));
  while (!ended()) module_level();
  return std::move(all_);
}

// .version 8.5
void reader::version() {
  const std::string all = on_one_line(rest_of_line());
  const view given = ptx_code::trimmed(view(all).substr(view(".version").size()));
  int major = 0, minor = 0;
  const char* const end = given.data() + given.size();
  const auto first = std::from_chars(given.data(), end, major);
  const bool has_minor = first.ec == std::errc() && first.ptr != end && *first.ptr == '.';
  const auto second =
      has_minor ? std::from_chars(first.ptr + 1, end, minor) : std::from_chars_result{end, std::errc()};
  if (major < 0 || !has_minor || second.ec != std::errc() || second.ptr != end)
    fail(fmt::format("'{}' names no version: expected one such as .version 8.5", all));
  if (major > newest_major || (major == newest_major && minor > newest_minor))
    fail(fmt::format("PTX of version {} is not supported: expected at most {}.{}", given, newest_major,
                     newest_minor));
}

// .target sm_90a, debug
void reader::target() {
  const std::string all = on_one_line(rest_of_line());
  for (const view one : split(view(all).substr(view(".target").size()), ','))
    if (!is_target(one))
      fail(fmt::format("'{}' is no target that is known: expected one of sm_{}, with or without a or f", one,
                       fmt::join(split(architectures, ' '), ", sm_")));
}

void reader::module_level() {
  constexpr view linking[] = {".visible", ".weak", ".common", ".internal"};
  const view w = word();
  if (std::ranges::find(linking, w) != std::end(linking)) {
    at_ += w.size();
    is_visible_ = w != ".internal";
    return;
  } else if (w == ".extern") {
    at_ += w.size();
    if (ended()) fail("expected a declaration after .extern");
    const view next = word();
    if (next == ".func") return;
    const std::size_t before = all_.variables.size();
    module_level();
    if (all_.variables.size() > before) all_.variables.back().is_external = true;
  } else if (w == ".entry" || w == ".func") {
    at_ += w.size();
    read_function(w == ".entry");
  } else if (w == ".global" || w == ".const" || w == ".shared") {
    at_ += w.size();
    variable v;
    v.space = w.substr(1);
    v.line = line();
    const std::string declared = on_one_line(up_to(";"));
    if (!read_variable(declared, v)) fail(fmt::format("expected a variable after {}: '{}'", w, declared));
    if (at_ >= text_.size()) fail(fmt::format("expected a semicolon after the variable {}", v.name));
    v.is_visible = is_visible_;
    all_.variables.push_back(std::move(v));
  } else if (w == ".section") {
    skip_braces();
  } else if (w.starts_with(".version")) {
    version();
  } else if (w == ".target") {
    target();
  } else if (w == ".address_size") {
    if (const std::string all = on_one_line(rest_of_line()); all != ".address_size 64")
      fail(fmt::format("'{}' is not supported: expected .address_size 64", all));
  } else if (w == ".loc" || w == ".file" || w.starts_with(".asm")) {
    rest_of_line();
  } else if (w == ".alias" || w == ".pragma") {
    up_to(";");
  } else {
    fail(fmt::format("expected a function or a variable of the module, not '{}'", w));
  }
  is_visible_ = false;
}

std::vector<variable> reader::list_of_parameters() {
  std::vector<variable> all;
  ++at_;  // (
  const std::string list = on_one_line(up_to(")"));
  if (at_ >= text_.size()) fail("the list of parameters does not end: expected a )");
  ++at_;
  for (view one : split(list, ',')) {
    variable v;
    for (const view head : {".param", ".reg"})
      if (one.starts_with(head)) one.remove_prefix(head.size()), v.space = head.substr(1);
    if (one.empty()) continue;
    if (v.space.empty() || !read_variable(one, v)) fail(fmt::format("expected a parameter, not '{}'", one));
    all.push_back(std::move(v));
  }
  return all;
}

void reader::read_function(bool is_kernel) {
  function f;
  f.is_kernel = is_kernel;
  if (ended()) fail("expected the name of a function");
  while (word() == ".noreturn" || word() == ".attribute") {
    at_ += word().size();
    if (!ended() && text_[at_] == '(') list_of_parameters();
    ended();
  }
  if (text_[at_] == '(') f.results = list_of_parameters();
  if (ended()) fail("expected the name of a function");
  f.line = line();
  f.name = word();
  at_ += f.name.size();
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  if (at_ < text_.size() && text_[at_] == '(') f.parameters = list_of_parameters();
  f.attributes = on_one_line(up_to("{;"));
  if (at_ >= text_.size()) fail(fmt::format("expected the body of {}", f.name));
  if (text_[at_] == '{') read_body(f);
  drop_unread_numbers(f);
  all_.functions.push_back(std::move(f));
}

void reader::read_body(function& f) {
  f.is_defined = true;
  place_ = {};
  ++at_;
  for (int depth = 0; depth >= 0;) {
    if (ended()) fail(fmt::format("the body of {} does not end: expected a }}", f.name));
    const source_line here = place_.file.empty() ? source_line{all_.file, line()} : place_;
    if (text_[at_] == '{' || text_[at_] == '}') {
      const bool opens = text_[at_++] == '{';
      depth += opens ? 1 : -1;
      if (depth >= 0) f.body.push_back({opens ? statement_kind::open : statement_kind::close, {}, here});
    } else {
      one_statement(f);
    }
  }
  in_asm_ = false;
}

// Offset of the colon of a label that stands here, or none.
std::size_t reader::end_of_label() const {
  std::size_t i = at_;
  while (i < text_.size() && (in_name(text_[i]) || text_[i] == '%')) ++i;
  if (i == at_) return std::string::npos;
  while (i < text_.size() && is_blank(text_[i])) ++i;
  return i < text_.size() && text_[i] == ':' && !view(text_).substr(i).starts_with("::") ? i
                                                                                         : std::string::npos;
}

void reader::one_statement(function& f) {
  const view w = word();
  if (w == ".loc") {
    const view rest = rest_of_line().substr(w.size());
    if (const source_line named = in_asm_ ? source_line() : places_.follow(rest, f.body.empty());
        !named.file.empty())
      place_ = named;
    return;
  }
  if (w == ".asmbegin" || w == ".asmend") {
    in_asm_ = w == ".asmbegin";
    at_ += w.size();
    return;
  }
  if (w == ".file") return void(rest_of_line());
  if (w == ".section") return skip_braces();
  const source_line here = place_.file.empty() ? source_line{all_.file, line()} : place_;
  if (const std::size_t colon = end_of_label(); colon != std::string::npos) {
    f.body.push_back({statement_kind::label, on_one_line(view(text_).substr(at_, colon - at_)), here});
    at_ = colon + 1;
    return;
  }
  const bool is_directive = text_[at_] == '.';
  std::string all = on_one_line(up_to(";"));
  if (at_ >= text_.size() || text_[at_] != ';') fail(fmt::format("expected a semicolon after '{}'", all));
  f.body.push_back({is_directive ? statement_kind::directive : statement_kind::instruction, std::move(all),
                    here, in_asm_, places_.in_toolkit(), places_.in_memcpy_async()});
}

}  // namespace

std::size_t bytes_of(view type) {
  if (type == "pred") return 1;
  constexpr std::pair<view, std::size_t> wide[] = {{"f16x2", 4}, {"bf16x2", 4}, {"bf16", 2}};
  for (const auto& [name, bytes] : wide)
    if (type == name) return bytes;
  int bits = 0;
  if (type.size() < 2 || view("bsuf").find(type[0]) == view::npos) return 0;
  std::from_chars(type.data() + 1, type.data() + type.size(), bits);
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128
             ? static_cast<std::size_t>(bits) / 8
             : 0;
}

bool read_variable(view text, variable& v) {
  const std::size_t equals = text.find('=');
  if (equals != view::npos) {
    v.initial = on_one_line(text.substr(equals + 1));
    text = text.substr(0, equals);
  }
  std::size_t vector = 1;
  for (std::size_t i = 0; i < text.size();) {
    if (is_blank(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (text[i] != '[' && end < text.size() && (in_name(text[end]) || text[end] == '%')) ++end;
    const view w = text.substr(i, end - i);
    i = end;
    if (w == ".align") {
      while (i < text.size() && is_blank(text[i])) ++i;
      const auto [stop, error] = std::from_chars(text.data() + i, text.data() + text.size(), v.align);
      if (error != std::errc()) return false;
      i = static_cast<std::size_t>(stop - text.data());
    } else if (w == ".attribute") {
      const std::size_t close = std::min(text.find(')', i), text.size() - 1);
      v.is_managed = text.substr(i, close - i).find(".managed") != view::npos;
      i = close + 1;
    } else if (w == ".v2" || w == ".v4") {
      vector = static_cast<std::size_t>(w[2] - '0');
    } else if (w == ".ptr") {
      v.is_pointer = true;
    } else if (w.starts_with(".")) {
      if (bytes_of(w.substr(1)) > 0) v.type = w.substr(1);
    } else if (w == "[") {
      std::size_t n = 0;
      const std::size_t close = text.find(']', i);
      if (close == view::npos) return false;
      std::from_chars(text.data() + i, text.data() + close, n);
      v.count = v.is_array ? v.count * n : n;
      v.is_array = true;
      i = close + 1;
    } else {
      v.name = w;
    }
  }
  if (vector > 1) v.is_array = true, v.count *= vector;
  return !v.type.empty() && !v.name.empty();
}

module_text read(view text, const std::string& file) { return reader(text, file).run(); }

}  // namespace antiphase::plain::ptx_module
