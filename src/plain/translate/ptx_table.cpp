// SPDX-License-Identifier: Apache-2.0
// The PTX instructions that inline assembly may use under the checker, and the C++ for each.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "ptx.hpp"
#include "ptx_instruction.hpp"

namespace antiphase::plain {
namespace {

using text = std::string;
using view = std::string_view;

constexpr const char* here = "::antiphase::plain::place::current()";
template <class... A> text call(view function, const A&... arguments) {
  text all;
  ((all += (all.empty() ? "" : ", ") + text(arguments)), ...);
  return fmt::format("::antiphase::plain::ptx::{}({})", function, all);
}

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

class instruction {
 public:
  instruction(view name, view operands, const names& of) : name_(name), parts_(split(name, '.')), of_(of) {
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
    constexpr std::pair<view, view> all[] = {
        {"b8", "unsigned char"},   {"u8", "unsigned char"},   {"s8", "signed char"},
        {"b16", "unsigned short"}, {"u16", "unsigned short"}, {"s16", "short"},
        {"b32", "unsigned"},       {"u32", "unsigned"},       {"s32", "int"},
        {"b64", "unsigned long"},  {"u64", "unsigned long"},  {"s64", "long"},
        {"f32", "float"},          {"f64", "double"},         {"pred", "bool"}};
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
    return take_one({"shared::cta", "shared::cluster", "shared"}).empty()
               ? (skip({"global", "global::cta"}), "generic")
               : "in_shared";
  }
  std::size_t parts() const { return parts_.size(); }
  view last() const { return parts_.empty() ? view() : parts_.back(); }
  view first() const { return parts_.empty() ? view() : parts_.front(); }
  bool done() const { return parts_.empty(); }

  // operands
  std::size_t count() const { return operands_.size(); }
  view operand(std::size_t i) const {
    if (i >= operands_.size()) refuse();
    return operands_[i];
  }
  text value(view word) const { return of_.value_of(word); }
  text value(std::size_t i) const { return value(operand(i)); }
  bool is_predicate(std::size_t i) const {
    return of_.is_predicate(operand(i).starts_with("!") ? operand(i).substr(1) : operand(i));
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
  const names& of_;
};

// memory
// -----------------------------------------------------------------------------------------------------------
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
text numbers_of(int n, const text& type, const text& at) {
  return fmt::format("auto* const ap_p = const_cast<{0}*>(::antiphase::plain::ptx::vector_at<{0}, {1}>({2}))",
                     type, n, at);
}
// A vector's numbers, one after the other: each is an access of its own.
template <class Do>
text of_each(instruction& i, int n, const text& type, const text& at, std::size_t values, Do one) {
  const auto list = i.list(values);
  if (static_cast<int>(list.size()) != n) i.refuse();
  text code = numbers_of(n, type, at);
  for (int k = 0; k < n; ++k)
    code += "; " + one(fmt::format("ap_p + {}", k), fmt::format("::antiphase::plain::ptx::get<{}>({})", type,
                                                                list[static_cast<std::size_t>(k)]));
  return code;
}
text load(instruction& i) {
  const view how = i.take_one({"weak", "volatile", "relaxed", "acquire"});
  const text reach = i.scope_for(how == "relaxed" || how == "acquire");
  const text at = i.pointer(1, i.space());
  const bool constant = i.take("nc");
  i.skip_cache_hints(how.empty() || how == "weak");
  const int n = vector_of(i);
  const text type = i.type();
  if (how == "relaxed" || how == "acquire") {
    // Each number of a vector is an access of its own.
    const auto to = i.list(0);
    if (static_cast<int>(to.size()) != n) i.refuse();
    text code = numbers_of(n, type, at);
    for (int k = 0; k < n; ++k)
      code += "; " + call("put", to[static_cast<std::size_t>(k)],
                          call("atomic_load<" + type + ">", fmt::format("ap_p + {}", k), reach, order_of(how),
                               here));
    return code;
  }
  text code = fmt::format("const auto ap_v = {}", call(fmt::format("{}<{}, {}>",
                                                                   how == "volatile" ? "load_volatile"
                                                                   : constant        ? "load_constant"
                                                                                     : "load",
                                                                   type, n),
                                                       at));
  const auto to = i.list(0);
  if (static_cast<int>(to.size()) != n) i.refuse();
  for (int k = 0; k < n; ++k)
    code += "; " + call("put", to[static_cast<std::size_t>(k)], fmt::format("ap_v.x[{}]", k));
  return code;
}
text store(instruction& i) {
  const view how = i.take_one({"weak", "volatile", "relaxed", "release"});
  const text reach = i.scope_for(how == "relaxed" || how == "release");
  const text at = i.pointer(0, i.space());
  i.skip_cache_hints(how.empty() || how == "weak");
  const int n = vector_of(i);
  const text type = i.type();
  if (how == "relaxed" || how == "release") {
    return of_each(i, n, type, at, 1, [&](const text& to, const text& value) {
      return call("atomic_store<" + type + ">", to, value, reach, order_of(how), here);
    });
  }
  if (static_cast<int>(i.list(1).size()) != n) i.refuse();
  return call(fmt::format("{}<{}, {}>", how == "volatile" ? "store_volatile" : "store", type, n), at,
              "{" + i.gets(type, 1) + "}");
}
text update(instruction& i, bool has_result) {
  const view how = has_result ? i.take_one({"relaxed", "acquire", "release", "acq_rel"})
                              : i.take_one({"relaxed", "release"});
  const text reach = i.scope("gpu");
  const std::size_t first = has_result ? 1 : 0;
  const text at = i.pointer(first, i.space());
  i.skip_cache_hints();
  const view what = i.take_one({"add", "exch", "cas", "min", "max", "and", "or", "xor", "inc", "dec"});
  const int n = vector_of(i);
  const bool noftz = i.take("noftz");
  static constexpr std::pair<view, view> types[] = {{"add", "u32 s32 u64 f32 f64 f16 f16x2 bf16 bf16x2"},
                                                    {"exch", "b32 b64"},
                                                    {"cas", "b16 b32 b64"},
                                                    {"min", "u32 s32 u64 s64"},
                                                    {"max", "u32 s32 u64 s64"},
                                                    {"and", "b32 b64"},
                                                    {"or", "b32 b64"},
                                                    {"xor", "b32 b64"},
                                                    {"inc", "u32"},
                                                    {"dec", "u32"}};
  const auto* const known = std::ranges::find(types, what, &std::pair<view, view>::first);
  if (known == std::end(types) || !has_word(known->second, i.last()) ||
      (!has_result && (what == "exch" || what == "cas")))
    i.refuse();
  const view small = i.take_one({"f16x2", "bf16x2", "f16", "bf16"});
  if (noftz == small.empty()) i.refuse();
  const text type = small.empty() ? i.type() : small.ends_with("x2") ? "unsigned" : "unsigned short";
  const text function = small.empty() ? fmt::format("atomic_{}<{}>", what, type)
                                      : fmt::format("atomic_add_small<{}, {}>", type, small[0] == 'b');
  if (n > 1) {
    if (what != "add" || (small.empty() && type != "float")) i.refuse();
    const auto results = has_result ? i.list(0) : std::vector<text>();
    if (has_result && static_cast<int>(results.size()) != n) i.refuse();
    std::size_t k = 0;
    return of_each(i, n, type, at, first + 1, [&](const text& to, const text& value) {
      const text code = call(function, to, value, reach, order_of(how), here);
      return has_result ? call("put", results[k++], code) : code;
    });
  }
  text code = what == "cas" ? call(function, at, i.get(type, first + 1), i.get(type, first + 2), reach,
                                   order_of(how), here)
                            : call(function, at, i.get(type, first + 1), reach, order_of(how), here);
  return has_result ? i.put(0, code) : code;
}
text discard(instruction& i) {
  const text space = i.space();
  i.take("L2");
  return fmt::format("::antiphase::plain::discard({}, {})", i.pointer(0, space), i.get("unsigned long", 1));
}
text nothing(instruction& i) {
  while (!i.done()) i.skip_head(1);
  return "";
}
text new_policy(instruction& i) {
  while (!i.done()) i.skip_head(1);
  return i.put(0, "0ul");
}

// asynchronous copies
// -----------------------------------------------------------------------------------------------------------
text copy_async(instruction& i) {
  const view operation = i.take_one({"ca", "cg"});
  i.skip_cache_hints(false);
  const text to_space = i.space();
  i.take("global");
  const text bytes = i.get("int", 2);
  // .cg, which bypasses L1, copies 16 bytes only
  if (operation.empty() || (operation == "cg" && (i.operand(2) == "4" || i.operand(2) == "8"))) i.refuse();
  if (i.count() > 4) i.refuse();
  if (i.count() > 3 && i.is_predicate(3))  // ignore-src: true writes zeros only
    return fmt::format(
        "const bool ap_v = {}; ::antiphase::machine::copy_async({}, ap_v ? nullptr : {}, {}, ap_v ? 0 : {}, "
        "{})",
        i.get("bool", 3), i.pointer(0, to_space), i.pointer(1, "generic"), bytes, bytes, here);
  return fmt::format("::antiphase::machine::copy_async({}, {}, {}, {}, {})", i.pointer(0, to_space),
                     i.pointer(1, "generic"), bytes, i.count() > 3 ? i.get("int", 3) : bytes, here);
}
text commit_copies(instruction&) { return "::antiphase::machine::copy_async_commit()"; }
text wait_copies(instruction& i) {
  return fmt::format("::antiphase::machine::copy_async_wait({}, {})", i.get("int", 0), here);
}
text wait_all_copies(instruction&) {
  return fmt::format(
      "::antiphase::machine::copy_async_commit(); ::antiphase::machine::copy_async_wait(0, {})", here);
}
text copies_arrive(instruction& i) {
  const bool as_party = i.take("noinc");
  const text word = i.barrier(0, i.space());
  i.take("b64");
  return fmt::format(
      "::antiphase::machine::mbarrier_copies_arrive({}, ::antiphase::machine::copies_arrive::{}, {})", word,
      as_party ? "as_party" : "beside", here);
}
text bulk_copy(instruction& i) {
  i.skip_cache_hints();
  const text bytes = i.get("unsigned", 2);
  if (i.take("bulk_group")) {
    if (!i.take("global") || !i.take("shared::cta")) i.refuse();
    return fmt::format("::antiphase::machine::bulk_store({}, {}, {}, {})", i.pointer(0, "generic"),
                       i.pointer(1, "in_shared"), bytes, here);
  }
  if (!i.take("mbarrier::complete_tx::bytes")) i.refuse();
  const bool of_cluster = i.take("shared::cluster"), of_block = i.take("shared::cta");
  if (of_cluster && of_block && i.count() == 4)
    return call("copy_in_cluster", i.pointer(0, "in_shared"), i.pointer(1, "in_shared"), bytes,
                i.barrier(3, "in_shared"), here);
  if (of_cluster == of_block || !i.take("global")) i.refuse();
  if (i.take("multicast::cluster"))
    return fmt::format("::antiphase::machine::bulk_load_multicast({}, {}, {}, {}, {}, {})",
                       i.pointer(0, "in_shared"), i.pointer(1, "generic"), bytes, i.barrier(3, "in_shared"),
                       i.get("unsigned short", 4), here);
  return fmt::format("::antiphase::machine::bulk_load({}, {}, {}, {}, {})", i.pointer(0, "in_shared"),
                     i.pointer(1, "generic"), bytes, i.barrier(3, "in_shared"), here);
}
text tensor_copy(instruction& i) {
  i.skip_cache_hints();
  i.take("tile");
  const view dimensions = i.take_one({"2d", "3d", "4d"});
  const bool stores = i.take("bulk_group");
  const auto tensor = i.inside(stores ? 0 : 1);
  if (dimensions.empty() || tensor.size() != 2 || !tensor[1].starts_with("{")) i.refuse();
  text first;
  const auto indices = split(tensor[1].substr(1, tensor[1].size() - 2), ',');
  if (indices.size() != static_cast<std::size_t>(dimensions[0] - '0')) i.refuse();
  for (const view index : indices)
    first +=
        fmt::format("{}::antiphase::plain::ptx::get<int>({})", first.empty() ? "" : ", ", i.value(index));
  const text place = "::antiphase::machine::tensor_place{{" + first + "}}", count(1, dimensions[0]),
             map = fmt::format("::antiphase::plain::ptx::get<unsigned long>({})", i.value(tensor[0]));
  if (stores) {
    if (!i.take("global") || !i.take("shared::cta")) i.refuse();
    return call("tensor_store", map, i.pointer(1, "in_shared"), place, count, here);
  }
  if (!i.take("mbarrier::complete_tx::bytes") || i.take_one({"shared::cluster", "shared::cta"}).empty() ||
      !i.take("global"))
    i.refuse();
  if (i.take("multicast::cluster"))
    return call("tensor_load_multicast", i.pointer(0, "in_shared"), map, place, count,
                i.barrier(2, "in_shared"), i.get("unsigned short", 3), here);
  return call("tensor_load", i.pointer(0, "in_shared"), map, place, count, i.barrier(2, "in_shared"), here);
}
text bulk_reduction(instruction& i) {
  i.skip_cache_hints();
  if (!i.take("bulk_group") || !i.take("global") || !i.take("shared::cta")) i.refuse();
  const view what = i.take_one({"add", "min", "max", "and", "or", "xor"});
  if (what.empty()) i.refuse();
  return fmt::format(
      "::antiphase::machine::bulk_reduce({}, {}, {}, "
      "::antiphase::plain::ptx::step_of<{}>(::antiphase::bulk_update::{}{}), {})",
      i.pointer(0, "generic"), i.pointer(1, "in_shared"), i.get("unsigned", 2), i.type(),
      what == "and" || what == "or" || what == "xor" ? "bit_" : "", what, here);
}
text commit_bulk(instruction&) { return "::antiphase::machine::bulk_commit()"; }
text wait_bulk(instruction& i) {
  const bool read = i.take("read");
  return fmt::format("::antiphase::machine::bulk_wait({}, ::antiphase::machine::bulk_done::{}, {})",
                     i.get("int", 0), read ? "read" : "written", here);
}

// mbarriers
// -----------------------------------------------------------------------------------------------------------
text mbarrier(instruction& i, view what) {
  const bool relaxed = i.take("relaxed");
  if (!relaxed) i.take(what.starts_with("arrive") ? "release" : "acquire");
  const text how = fmt::format("{{{}, {}}}", relaxed, i.scope("cta"));
  i.take("b64");
  const bool of_cluster = what == "arrive" && i.take("shared::cluster");
  if (of_cluster) {
    if (i.operand(0) != "_") i.refuse();
    const text at = i.barrier(1, "in_shared");
    if (i.take("expect_tx")) return call("mbarrier_arrive_at", at, "1", i.get("int", 2), here, how);
    if (i.count() > 2) return call("mbarrier_arrive_at", at, i.get("int", 2), "0", here, how);
    return call("mbarrier_arrive_in_cluster", at, how, here);
  }
  if (what == "expect_tx" && i.take("shared::cluster"))
    return call("mbarrier_expect_at", i.barrier(0, "in_shared"), i.get("int", 1), here);
  const text space = i.space();
  if (what == "init")
    return fmt::format("::antiphase::machine::mbarrier_init({}, {}, {})", i.barrier(0, space),
                       i.get("int", 1), here);
  if (what == "inval")
    return fmt::format("::antiphase::machine::mbarrier_inval({}, {})", i.barrier(0, space), here);
  if (what == "expect_tx")
    return fmt::format("::antiphase::machine::mbarrier_expect({}, {}, {})", i.barrier(0, space),
                       i.get("int", 1), here);
  if (what == "arrive_drop" || what == "arrive") {
    const text state =
        i.operand(0) == "_"
            ? ""
            : i.put(0, fmt::format("::antiphase::machine::mbarrier_parity({})", i.barrier(1, space))) + "; ";
    if (what == "arrive_drop" && !i.take("expect_tx"))
      return state + fmt::format("::antiphase::machine::mbarrier_arrive_and_drop({}, {}, {}, {})",
                                 i.barrier(1, space), i.count() > 2 ? i.get("int", 2) : "1", here, how);
    if (what == "arrive_drop") i.refuse();
    if (i.take("expect_tx"))
      return state + fmt::format("::antiphase::machine::mbarrier_arrive({}, {}, {}, {})", i.barrier(1, space),
                                 i.get("int", 2), here, how);
    return state + fmt::format("::antiphase::machine::mbarrier_arrive_many({}, {}, {}, {})",
                               i.barrier(1, space), i.count() > 2 ? i.get("int", 2) : "1", here, how);
  }
  i.take("parity");  // the state from `arrive` is the phase's parity
  return i.put(0, call("mbarrier_test_wait", i.barrier(1, space), i.get("unsigned", 2), how, here));
}

// fences and barriers
// -----------------------------------------------------------------------------------------------------------
text membar(instruction& i) {
  const view level = i.take_one({"cta", "gl", "sys"});
  if (level.empty()) i.refuse();
  return fmt::format("::antiphase::plain::fence(::antiphase::scope::{})", level == "cta"   ? "block"
                                                                          : level == "sys" ? "system"
                                                                                           : "device");
}
text fence(instruction& i) {
  const view how = i.take_one({"sc", "acq_rel", "acquire", "release"});
  const text reach = i.scope_for(true);
  return how == "sc" ? fmt::format("::antiphase::plain::fence({})", reach)
                     : fmt::format("::antiphase::plain::fence({}, {})", reach,
                                   order_of(how.empty() ? "acq_rel" : how));
}
text proxy_fence(instruction& i) {
  if (!i.take("async")) i.refuse();
  const bool global = i.take("global"),
             shared = !i.take_one({"shared::cta", "shared::cluster", "shared::{cta,cluster}"}).empty();
  return fmt::format("::antiphase::machine::proxy_fence(::antiphase::machine::proxy::{})", global   ? "global"
                                                                                           : shared ? "shared"
                                                                                                    : "both");
}
text barrier_fence(instruction& i) {
  i.skip({"release", "cluster"});
  return "::antiphase::machine::mbarrier_fence()";
}
text block_barrier(instruction& i, bool waits, bool aligned = false) {  // bar is barrier.aligned
  i.take("cta");
  aligned |= i.take("aligned");
  if (i.take("warp")) i.refuse();
  const text threads = i.count() > 1 ? i.get("int", 1) : "0";
  return fmt::format("::antiphase::machine::barrier({}, {}, {{{}, {}}}, {})", i.get("int", 0), threads, waits,
                     aligned, here);
}
text voting_barrier(instruction& i) {  // bar.red: of the whole block
  i.skip({"cta", "aligned"});
  const view how = i.take_one({"popc", "and", "or"});
  i.skip({"u32", "pred"});
  if (how.empty() || i.operand(1) != "0" || i.count() != 3) i.refuse();
  return i.put(
      0, fmt::format("__syncthreads_{}({}, {})", how == "popc" ? "count" : how, i.get("bool", 2), here));
}
text cluster_barrier(instruction& i, bool waits) {
  const bool relaxed = !waits && i.take("relaxed");
  const bool aligned = i.take("aligned");
  i.skip({waits ? "acquire" : "release"});
  return fmt::format(
      "{}::antiphase::machine::cluster_{}({})",
      aligned ? fmt::format("::antiphase::machine::require_aligned({}, {}); ", waits, here) : "",
      waits     ? "wait"
      : relaxed ? "arrive_relaxed"
                : "arrive",
      here);
}
text async_store(instruction& i) {
  i.skip({"weak"});
  if (!i.take("mbarrier::complete_tx::bytes") || !i.take("shared::cluster")) i.refuse();
  const int n = vector_of(i);
  const text type = i.type();
  if (static_cast<int>(i.list(1).size()) != n) i.refuse();
  return fmt::format("const {} ap_v[] = {{{}}}; ", type, i.gets(type, 1)) +
         call("store_async", i.pointer(0, "in_shared"), "ap_v", "sizeof ap_v", i.barrier(2, "in_shared"),
              here);
}
text rank_of(instruction& i) {
  const text space = i.take("shared::cluster") ? "in_shared" : "generic";
  i.skip({"u32", "u64"});
  return i.put(0, call("rank_of", call(space, i.get("unsigned long", 1)), here));
}
text map_address(instruction& i) {
  const bool of_shared = i.take("shared::cluster");
  i.skip({"u64", "u32"});
  const text mine =
      of_shared ? call("in_shared", i.get("unsigned long", 1)) : call("generic", i.get("unsigned long", 1));
  const text there = fmt::format("::antiphase::plain::in_block({}, {}, {})", mine, i.get("int", 2), here);
  const text address = fmt::format("reinterpret_cast<unsigned long>({})", there);
  return i.put(0, of_shared ? call("to_shared", address) : address);
}
text set_registers(instruction& i) {
  i.skip({"inc", "dec", "sync", "aligned", "u32"});
  return fmt::format("::antiphase::machine::set_registers({}, {})", i.get("int", 0), here);
}
text warp_sync(instruction& i) {
  return fmt::format("::antiphase::machine::warp_exchange({}, nullptr, 0, {})", i.get("unsigned", 0), here);
}

// warps
// -----------------------------------------------------------------------------------------------------------
// d or d|p
text put_both(const instruction& i, const text& what) {
  const auto both = split(i.operand(0), '|');
  text code = fmt::format("const auto ap_v = {}; {}", what, call("put", i.value(both[0]), "ap_v.value"));
  if (both.size() > 1) code += "; " + call("put", i.value(both[1]), "ap_v.valid");
  return code;
}
text shuffle(instruction& i) {
  const view mode = i.take_one({"idx", "up", "down", "bfly"});
  i.take("b32");
  if (mode.empty() || i.count() < 5) i.refuse();
  return put_both(i, call(fmt::format("shuffle_{}", mode), i.get("unsigned", 4), i.get("unsigned", 1),
                          i.get("unsigned", 2), i.get("unsigned", 3), here));
}
text vote(instruction& i) {
  const view how = i.take_one({"all", "any", "uni", "ballot"});
  i.skip({"pred", "b32"});
  if (how.empty()) i.refuse();
  return i.put(0, call(fmt::format("vote_{}", how), i.get("unsigned", 2), i.get("bool", 1), here));
}
text match_any(instruction& i) {
  const text type = i.type();
  return i.put(0, fmt::format("__match_any_sync({}, {}, {})", i.get("unsigned", 2), i.get(type, 1), here));
}
text redux(instruction& i) {
  const view how = i.take_one({"add", "min", "max", "and", "or", "xor"});
  const text type = i.type();
  if (how.empty() || (type != "unsigned" && type != "int")) i.refuse();
  return i.put(0,
               fmt::format("__reduce_{}_sync({}, {}, {})", how, i.get("unsigned", 2), i.get(type, 1), here));
}
text elect(instruction& i) { return put_both(i, call("elect", i.get("unsigned", 1), here)); }
text active_mask(instruction& i) {
  i.take("b32");
  return i.put(0, "__activemask()");
}

// Tensor Cores
// -----------------------------------------------------------------------------------------------------------
text matrices(instruction& i, bool loads) {
  i.skip({"aligned", "m8n8", "b16"});
  const view count = i.take_one({"x1", "x2", "x4"});
  const bool transposed = i.take("trans");
  const text space = i.space();
  const std::size_t of = loads ? 0 : 1;
  const auto registers = i.list(of);
  if (count.empty() || registers.size() != static_cast<std::size_t>(count[1] - '0')) i.refuse();
  const text shape = fmt::format("<{}, {}>", registers.size(), transposed);
  if (!loads)
    return call("store_matrices" + shape, i.pointer(0, space), "{" + i.gets("unsigned", 1) + "}", here);
  text code = fmt::format("const auto ap_v = {}", call("load_matrices" + shape, i.pointer(1, space), here));
  for (std::size_t k = 0; k < registers.size(); ++k)
    code += "; " + call("put", registers[k], fmt::format("ap_v.x[{}]", k));
  return code;
}
text transpose_matrix(instruction& i) {
  i.skip({"aligned", "m8n8", "b16"});
  if (!i.take("trans")) i.refuse();
  return i.put(0, call("transposed_matrix", i.get("unsigned", 1), here));
}
// Registers of D, A, B and C are arrays of the statement's own.
text multiply(instruction& i) {
  struct form {
    view type;  // of A and B
    int bits;
    view shapes, sums;
  };
  static constexpr form forms[] = {
      {"f16", 16, "m16n8k8 m16n8k16", "f16 f32"},    {"bf16", 16, "m16n8k8 m16n8k16", "f32"},
      {"tf32", 32, "m16n8k4 m16n8k8", "f32"},        {"f64", 64, "m8n8k4 m16n8k4 m16n8k8 m16n8k16", "f64"},
      {"e4m3", 8, "m16n8k16 m16n8k32", "f16 f32"},   {"e5m2", 8, "m16n8k16 m16n8k32", "f16 f32"},
      {"s8", 8, "m8n8k16 m16n8k16 m16n8k32", "s32"}, {"u8", 8, "m8n8k16 m16n8k16 m16n8k32", "s32"},
      {"s4", 4, "m8n8k32 m16n8k32 m16n8k64", "s32"}, {"u4", 4, "m8n8k32 m16n8k32 m16n8k64", "s32"}};
  i.skip({"aligned", "row", "col"});
  const bool saturates = i.take("satfinite");
  const view shape = i.take_beginning("m");
  if (shape.empty() || i.parts() != 4) i.refuse();
  const auto next = [&] {
    const view type = i.first();
    i.skip_head(1);
    return type;
  };
  const view d = next(), a = next(), b = next(), c = next();
  const auto* const f = std::ranges::find(forms, a, &form::type);
  const auto* const g = std::ranges::find(forms, b, &form::type);
  const auto whole = [&](const form* one) { return one->sums == "s32"; };
  if (f == std::end(forms) || g == std::end(forms) || f->bits != g->bits || !has_word(f->shapes, shape) ||
      !has_word(f->sums, c) || !has_word(f->sums, d) || (f->bits != 8 && a != b && !whole(f)) ||
      whole(f) != whole(g))
    i.refuse();
  const std::size_t n_at = shape.find('n'), k_at = shape.find('k');
  const int rows = std::stoi(text(shape.substr(1))), columns = std::stoi(text(shape.substr(n_at + 1))),
            depth = std::stoi(text(shape.substr(k_at + 1))), bits = f->bits;
  const text registers = bits == 64 ? "double" : "unsigned";
  const auto sum_type = [](view t) {
    return text(t == "f64" ? "double" : t == "f32" ? "float" : t == "s32" ? "int" : "unsigned");
  };
  const int sums = rows * columns / 32;
  const auto listed = [&](std::size_t at, int count) {
    if (static_cast<int>(i.list(at).size()) != count) i.refuse();
  };
  listed(0, d == "f16" ? sums / 2 : sums);
  listed(1, std::max(rows * depth / 32 * bits / 32, 1) / (bits == 64 ? 2 : 1));
  listed(2, std::max(columns * depth / 32 * bits / 32, 1) / (bits == 64 ? 2 : 1));
  listed(3, c == "f16" ? sums / 2 : sums);
  const auto number = [](view t) { return fmt::format("::antiphase::machine::matrix_number::{}", t); };
  const auto to = i.list(0);
  text code = fmt::format(
      "const {} ap_a[] = {{{}}}, ap_b[] = {{{}}}; const {} ap_c[] = {{{}}}; {} ap_d[{}]; "
      "::antiphase::machine::warp_multiply_of({{{}, {}, {}, {}, {}, {}, {}, {}}}, ap_d, ap_a, ap_b, ap_c, "
      "{})",
      registers, i.gets(registers, 1), i.gets(registers, 2), sum_type(c), i.gets(sum_type(c), 3), sum_type(d),
      to.size(), rows, columns, depth, number(a), number(b), number(c), number(d), saturates, here);
  for (std::size_t k = 0; k < to.size(); ++k) code += "; " + call("put", to[k], fmt::format("ap_d[{}]", k));
  return code;
}

// m64nNkK with f32 sums; A comes from a descriptor or four registers.
text warpgroup_multiply(instruction& i) {
  i.skip({"sync", "aligned"});
  const view shape = i.take_beginning("m64n");
  if (shape.empty() || !i.take("f32")) i.refuse();
  const view type = i.take_one({"bf16", "tf32", "f16"});
  if (type.empty() || !i.take(type)) i.refuse();
  const std::size_t k_at = shape.find('k');
  if (k_at == view::npos || shape.substr(k_at) != (type == "tf32" ? "k8" : "k16")) i.refuse();
  const text columns(shape.substr(4, k_at - 4));
  const auto sums = i.list(0);
  if (text(std::to_string(2 * sums.size())) != columns) i.refuse();
  const bool registers = i.operand(1).starts_with("{");
  const std::size_t flags = type == "tf32" ? 0 : registers ? 1 : 2;  // operands that have a transpose flag
  if (i.count() != 6 + flags || (registers && i.list(1).size() != 4)) i.refuse();
  const text transposed_a = flags == 2 ? i.get("int", 6) + " != 0" : "false",
             transposed_b = flags > 0 ? i.get("int", 5 + flags) + " != 0" : "false";
  text code = registers ? "const unsigned ap_a[4] = {" + i.gets("unsigned", 1) + "}; " : "";
  text all = fmt::format(
      "::antiphase::machine::operand_type::{}, ::antiphase::machine::warpgroup_step{{{}, {}, {}, {}, {}, "
      "{}}}, "
      "::antiphase::plain::ptx::warpgroup_signs{{{}, {}}}, {}, {}",
      type, columns, i.get("bool", 3), transposed_a, transposed_b,
      registers ? "0ul" : i.get("unsigned long", 1), i.get("unsigned long", 2), i.get("int", 4),
      i.get("int", 5), registers ? "ap_a" : "nullptr", here);
  for (const text& one : sums) all += ", " + one;
  return code + call("warpgroup_multiply", all);
}
text warpgroup(instruction& i, view what) {
  i.skip({"sync", "aligned"});
  return fmt::format("::antiphase::machine::warpgroup_{}({}{})", what,
                     i.count() > 0 ? i.get("int", 0) + ", " : "", here);
}

// arithmetic
// -----------------------------------------------------------------------------------------------------------
bool skip_rounding(instruction& i) {  // true if there is one, or an approximation
  i.take("ftz");
  return !i.take_one({"rn", "rz", "rm", "rp", "approx", "full"}).empty();
}
// The types that PTX has for an operation; all that type() knows for others.
view types_of(view function) {
  static constexpr view numbers = "u16 u32 u64 s16 s32 s64 f32 f64", words = "b16 b32 b64 pred",
                        fields = "u32 u64 s32 s64", real = "f32 f64";
  static constexpr std::pair<view, view> all[] = {{"add", numbers},
                                                  {"sub", numbers},
                                                  {"mul", numbers},
                                                  {"mad", numbers},
                                                  {"min", numbers},
                                                  {"max", numbers},
                                                  {"div", numbers},
                                                  {"rem", "u16 u32 u64 s16 s32 s64"},
                                                  {"abs", "s16 s32 s64 f32 f64"},
                                                  {"neg", "s16 s32 s64 f32 f64"},
                                                  {"bit_and", words},
                                                  {"bit_or", words},
                                                  {"bit_xor", words},
                                                  {"bit_not", words},
                                                  {"shl", "b16 b32 b64"},
                                                  {"popc", "b32 b64"},
                                                  {"clz", "b32 b64"},
                                                  {"brev", "b32 b64"},
                                                  {"bfind", fields},
                                                  {"bfe", fields},
                                                  {"bfi", "b32 b64"},
                                                  {"fma", real},
                                                  {"rcp", real},
                                                  {"sqrt", real},
                                                  {"rsqrt", real},
                                                  {"ex2", "f32"},
                                                  {"lg2", "f32"},
                                                  {"tanh", "f32"}};
  const auto* const known = std::ranges::find(all, function, &std::pair<view, view>::first);
  return known == std::end(all) ? view() : known->second;
}
text type_for(instruction& i, view function) {
  if (const view types = types_of(function); !types.empty() && !has_word(types, i.last())) i.refuse();
  return i.type();
}
text arithmetic(instruction& i, view function, std::size_t operands) {
  const bool rounds = skip_rounding(i);
  const view part = i.take_one({"lo", "hi", "wide"});
  const text type = type_for(i, function);
  const bool real = type == "float" || type == "double";
  if (real && !rounds && has_word("fma mad div rcp sqrt rsqrt ex2 lg2 tanh", function)) i.refuse();
  if ((function == "mul" || function == "mad") && real != part.empty()) i.refuse();
  text all;
  for (std::size_t k = 1; k <= operands; ++k)
    all +=
        (all.empty() ? "" : ", ") +
        i.get(part == "wide" && k == 3 ? fmt::format("::antiphase::plain::ptx::twice<{}>", type) : type, k);
  return i.put(0, call(fmt::format("{}{}{}<{}>", function, part.empty() || part == "lo" ? "" : "_",
                                   part == "lo" ? "" : part, type),
                       all));
}
// ex2 and tanh: of 16-bit numbers and their pairs too.
text approximated(instruction& i, view function) {
  if (!i.take("approx")) i.refuse();
  i.take("ftz");
  for (const view type : {"f16", "bf16", "f16x2", "bf16x2"}) {
    if (!i.take(type)) continue;
    const text of = type[0] == 'f' ? "half" : "bfloat";
    const auto one = [&](const text& x) {
      return call(fmt::format("{}<float>", function), call("from_" + of, x));
    };
    if (!type.ends_with("x2")) return i.put(0, call("to_" + of, one(i.get("unsigned short", 1))));
    const text both = i.get("unsigned", 1);
    return i.put(0, call(of == "half" ? "halves" : "bfloats", one(both + " >> 16"), one(both + " & 0xffff")));
  }
  return i.put(0, call(fmt::format("{}<{}>", function, type_for(i, function)), i.get("float", 1)));
}
text shift(instruction& i, view function) {
  const text type = type_for(i, function);
  return i.put(0, call(fmt::format("{}<{}>", function, type), i.get(type, 1), i.get("unsigned", 2)));
}
text move(instruction& i) {
  const text type = i.type();
  const view to = i.operand(0), from = i.operand(1);
  if (to.starts_with("{")) {
    const auto parts = i.list(0);
    text code = fmt::format("const auto ap_v = {}",
                            call(fmt::format("unpacked<{}, {}>", parts.size(), type), i.get(type, 1)));
    for (std::size_t k = 0; k < parts.size(); ++k)
      code += "; " + call("put", parts[k], fmt::format("ap_v.x[{}]", k));
    return code;
  }
  if (from.starts_with("{")) {
    text all;
    for (const text& part : i.list(1)) all += (all.empty() ? "" : ", ") + part;
    return i.put(0, call("packed<" + type + ">", all));
  }
  return i.put(0, i.get(type, 1));
}
text to_space(instruction& i) {
  const bool to = i.take("to");
  const text space = i.space();
  i.skip({"u64", "u32"});
  if (space == "generic") return i.put(0, i.get("unsigned long", 1));
  return i.put(0, call(to ? "to_shared" : "from_shared", i.get("unsigned long", 1)));
}
text convert(instruction& i) {
  const view rounding = i.take_one({"rni", "rzi", "rmi", "rpi"});
  skip_rounding(i);
  if (i.take("tf32")) {
    i.take("rna");
    if (!i.take("f32")) i.refuse();
    return i.put(0, call("to_tf32", i.get("float", 1)));
  }
  for (const view pair : {"e4m3x2", "e5m2x2"}) {
    if (!i.take(pair)) continue;
    const view wide = pair == "e5m2x2" ? "<true>" : "<false>";
    if (i.take("satfinite") && i.take("f32"))
      return i.put(0, call(fmt::format("fp8_pair{}", wide), i.get("float", 1), i.get("float", 2)));
    if (!i.take("f16x2")) i.refuse();
    return i.put(0, call(fmt::format("from_fp8_pair{}", wide), i.get("unsigned short", 1)));
  }
  for (const view pair : {"f16x2", "bf16x2"})
    if (i.take(pair)) {
      if (!i.take("f32")) i.refuse();
      return i.put(0, call(pair == "f16x2" ? "halves" : "bfloats", i.get("float", 1), i.get("float", 2)));
    }
  for (const view half : {"f16", "bf16"}) {
    const text name = half == "f16" ? "half" : "bfloat";
    const bool narrows = i.first() == half;
    if (!i.take(half)) continue;
    if (!i.take("f32")) i.refuse();
    return i.put(0, narrows ? call("to_" + name, i.get("float", 1))
                            : call("from_" + name, i.get("unsigned short", 1)));
  }
  const text from = i.type(), to = i.type();
  return i.put(0, call(fmt::format("converted<{}, {}>", to, from), i.get(from, 1),
                       fmt::format("'{}'", rounding.empty() ? 'z' : rounding[1])));
}
text compare(instruction& i) {
  const view how = i.take_one({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"});
  i.take("ftz");
  const view with = i.take_one({"and", "or", "xor"});
  const text type = i.type();
  const view sign = how == "eq"                  ? "=="
                    : how == "ne"                ? "!="
                    : how == "lt" || how == "lo" ? "<"
                    : how == "le" || how == "ls" ? "<="
                    : how == "gt" || how == "hi" ? ">"
                    : how.empty()                ? ""
                                                 : ">=";
  if (sign.empty()) i.refuse();
  text result = fmt::format("({} {} {})", i.get(type, 1), sign, i.get(type, 2));
  if (!with.empty())
    result = fmt::format("({} {} {})", result,
                         with == "and"  ? "&&"
                         : with == "or" ? "||"
                                        : "!=",
                         i.get("bool", 3));
  const auto both = split(i.operand(0), '|');
  if (both.size() > 1 && !with.empty()) i.refuse();
  text code = fmt::format("const bool ap_v = {}; {}", result, call("put", i.value(both[0]), "ap_v"));
  if (both.size() > 1) code += "; " + call("put", i.value(both[1]), "!ap_v");
  return code;
}
text select(instruction& i) {
  const text type = i.type();
  return i.put(0, fmt::format("({} ? {} : {})", i.get("bool", 3), i.get(type, 1), i.get(type, 2)));
}
text bits(instruction& i, view function) {
  const text type = type_for(i, function);
  if (function == "bfe")
    return i.put(0, call("bfe<" + type + ">", i.get(type, 1), i.get("unsigned", 2), i.get("unsigned", 3)));
  return i.put(0, call("bfi<" + type + ">", i.get(type, 1), i.get(type, 2), i.get("unsigned", 3),
                       i.get("unsigned", 4)));
}
text permute(instruction& i) {
  i.take("b32");
  return i.put(0, fmt::format("::antiphase::plain::ptx::permuted({}, {}, {})", i.get("unsigned", 1),
                              i.get("unsigned", 2), i.get("unsigned", 3)));
}
text funnel(instruction& i, view way) {
  const view how = i.take_one({"wrap", "clamp"});
  i.take("b32");
  return i.put(0, fmt::format("__funnelshift_{}{}({}, {}, {})", way, how == "clamp" ? "c" : "",
                              i.get("unsigned", 1), i.get("unsigned", 2), i.get("unsigned", 3)));
}
text logic3(instruction& i) {
  i.take("b32");
  return i.put(0, call("lop3", i.get("unsigned", 1), i.get("unsigned", 2), i.get("unsigned", 3),
                       i.get("unsigned", 4)));
}

// The table
// -----------------------------------------------------------------------------------------------------------
struct row {
  const char* head;  // first words of the instruction; the longest match counts
  text (*code)(instruction&);
};
struct group {
  supported how;
  const char* about;
  std::vector<row> rows;
};
#define AP_ROW(code) [](instruction& i) -> text { return code; }
const std::vector<group>& table() {
  using enum supported;
  static const std::vector<group> all{
      {yes,
       "weak, volatile, relaxed, acquire and release, in global, shared and generic memory, vectors too; "
       "what ld.global.nc reads may not be written in the launch; other hints for caches are passed over",
       {{"ld", load}, {"st", store}}},
      {yes,
       "of every order and scope; integers, f32, f64, and sums of f16, bf16 and their pairs",
       {{"atom", AP_ROW(update(i, true))}, {"red", AP_ROW(update(i, false))}}},
      {yes, "what it leaves is undefined", {{"discard", discard}}},
      {yes,
       "do nothing here",
       {{"prefetch", nothing},
        {"prefetchu", nothing},
        {"applypriority", nothing},
        {"createpolicy", new_policy},
        {"cp.async.bulk.prefetch", nothing},
        {"pmevent", nothing},
        {"brkpt", nothing}}},
      {yes,
       "with sizes of the source, or a predicate that ignores it",
       {{"cp.async", copy_async},
        {"cp.async.commit_group", commit_copies},
        {"cp.async.wait_group", wait_copies},
        {"cp.async.wait_all", wait_all_copies},
        {"cp.async.mbarrier.arrive", copies_arrive}}},
      {partly,
       "between global memory and shared memory, multicast too, and to other blocks of the cluster; tensors "
       "of 2 to 4 dimensions, in tiles, by "
       "maps of cuTensorMapEncodeTiled",
       {{"cp.async.bulk", bulk_copy},
        {"cp.async.bulk.tensor", tensor_copy},
        {"cp.reduce.async.bulk", bulk_reduction},
        {"cp.async.bulk.commit_group", commit_bulk},
        {"cp.async.bulk.wait_group", wait_bulk}}},
      {partly,
       "of every order and scope; in the block's own shared memory; arrivals at those of other blocks of the "
       "cluster too",
       {{"mbarrier.init", AP_ROW(mbarrier(i, "init"))},
        {"mbarrier.inval", AP_ROW(mbarrier(i, "inval"))},
        {"mbarrier.arrive", AP_ROW(mbarrier(i, "arrive"))},
        {"mbarrier.arrive_drop", AP_ROW(mbarrier(i, "arrive_drop"))},
        {"mbarrier.expect_tx", AP_ROW(mbarrier(i, "expect_tx"))},
        {"mbarrier.try_wait", AP_ROW(mbarrier(i, "try_wait"))},
        {"mbarrier.test_wait", AP_ROW(mbarrier(i, "test_wait"))}}},
      {yes,
       "",
       {{"membar", membar},
        {"fence", fence},
        {"fence.proxy", proxy_fence},
        {"fence.mbarrier_init", barrier_fence},
        {"bar.sync", AP_ROW(block_barrier(i, true, true))},
        {"bar.arrive", AP_ROW(block_barrier(i, false, true))},
        {"barrier.sync", AP_ROW(block_barrier(i, true))},
        {"barrier.arrive", AP_ROW(block_barrier(i, false))},
        {"bar.cta.sync", AP_ROW(block_barrier(i, true, true))},
        {"bar.cta.arrive", AP_ROW(block_barrier(i, false, true))},
        {"barrier.cta.sync", AP_ROW(block_barrier(i, true))},
        {"barrier.cta.arrive", AP_ROW(block_barrier(i, false))},
        {"bar.warp.sync", warp_sync}}},
      {partly,
       "barrier 0 and the whole block",
       {{"bar.red", voting_barrier}, {"barrier.red", voting_barrier}, {"barrier.cta.red", voting_barrier}}},
      {yes,
       "",
       {{"shfl.sync", shuffle},
        {"vote.sync", vote},
        {"match.any.sync", match_any},
        {"redux.sync", redux},
        {"elect.sync", elect},
        {"activemask", active_mask}}},
      {yes,
       "of 1, 2 or 4 matrices; movmatrix of one",
       {{"ldmatrix.sync", AP_ROW(matrices(i, true))},
        {"stmatrix.sync", AP_ROW(matrices(i, false))},
        {"movmatrix.sync", transpose_matrix}}},
      {partly,
       "dense, of f16, bf16, tf32, f64, e4m3, e5m2, s8, u8, s4 and u4, in all shapes from m8n8k4 (of f64) to "
       "m16n8k64, but not m8n8k4 of f16; floating numbers are added up in float",
       {{"mma.sync", multiply}}},
      {partly,
       "m64nNk16 of f16 and bf16, m64nNk8 of tf32, with sums in f32 that are one array of the thread's, A in "
       "shared memory or registers; "
       "not "
       "negated. What becomes of A's registers before the wait is not looked at",
       {{"wgmma.mma_async", warpgroup_multiply},
        {"wgmma.fence", AP_ROW(warpgroup(i, "fence"))},
        {"wgmma.commit_group", AP_ROW(warpgroup(i, "commit"))},
        {"wgmma.wait_group", AP_ROW(warpgroup(i, "wait"))}}},
      {yes, "all warps of the warpgroup set the same number", {{"setmaxnreg", set_registers}}},
      {partly,
       "of kernels with __cluster_dims__; ld and st of shared::cluster too",
       {{"barrier.cluster.arrive", AP_ROW(cluster_barrier(i, false))},
        {"barrier.cluster.wait", AP_ROW(cluster_barrier(i, true))},
        {"mapa", map_address},
        {"getctarank", rank_of},
        {"st.async", async_store}}},
      {partly,
       "of integers, f32 and f64 (cvt: of f16, bf16, tf32, e4m3x2 and e5m2x2 too; ex2 and tanh: of f16 and "
       "bf16 too); approximations are as exact as the others",
       {{"mov", move},
        {"cvt", convert},
        {"cvta", to_space},
        {"setp", compare},
        {"selp", select},
        {"add", AP_ROW(arithmetic(i, "add", 2))},
        {"sub", AP_ROW(arithmetic(i, "sub", 2))},
        {"mul", AP_ROW(arithmetic(i, "mul", 2))},
        {"mad", AP_ROW(arithmetic(i, "mad", 3))},
        {"fma", AP_ROW(arithmetic(i, "fma", 3))},
        {"div", AP_ROW(arithmetic(i, "div", 2))},
        {"rem", AP_ROW(arithmetic(i, "rem", 2))},
        {"min", AP_ROW(arithmetic(i, "min", 2))},
        {"max", AP_ROW(arithmetic(i, "max", 2))},
        {"abs", AP_ROW(arithmetic(i, "abs", 1))},
        {"neg", AP_ROW(arithmetic(i, "neg", 1))},
        {"and", AP_ROW(arithmetic(i, "bit_and", 2))},
        {"or", AP_ROW(arithmetic(i, "bit_or", 2))},
        {"xor", AP_ROW(arithmetic(i, "bit_xor", 2))},
        {"not", AP_ROW(arithmetic(i, "bit_not", 1))},
        {"shl", AP_ROW(shift(i, "shl"))},
        {"shr", AP_ROW(shift(i, "shr"))},
        {"popc", AP_ROW(arithmetic(i, "popc", 1))},
        {"clz", AP_ROW(arithmetic(i, "clz", 1))},
        {"brev", AP_ROW(arithmetic(i, "brev", 1))},
        {"bfind", AP_ROW(arithmetic(i, "bfind", 1))},
        {"lop3", logic3},
        {"bfe", AP_ROW(bits(i, "bfe"))},
        {"bfi", AP_ROW(bits(i, "bfi"))},
        {"prmt", permute},
        {"shf.l", AP_ROW(funnel(i, "l"))},
        {"shf.r", AP_ROW(funnel(i, "r"))},
        {"rcp", AP_ROW(arithmetic(i, "rcp", 1))},
        {"sqrt", AP_ROW(arithmetic(i, "sqrt", 1))},
        {"rsqrt", AP_ROW(arithmetic(i, "rsqrt", 1))},
        {"ex2", AP_ROW(approximated(i, "ex2"))},
        {"lg2", AP_ROW(arithmetic(i, "lg2", 1))},
        {"tanh", AP_ROW(approximated(i, "tanh"))}}},
      {yes,
       "who waits for whom is judged: launches follow each other here",
       {{"griddepcontrol.wait", AP_ROW((void(i), "::antiphase::machine::wait_for_previous_grid()"))},
        {"griddepcontrol.launch_dependents", AP_ROW((void(i), "::antiphase::machine::start_next_grid()"))}}},
      {yes,
       "",
       {{"trap", AP_ROW((void(i), fmt::format("::antiphase::machine::trap(\"trap\", {})", here)))},
        {"nanosleep", AP_ROW((i.take("u32"), fmt::format("::antiphase::machine::yield({})", here)))}}},
      {no,
       "the instructions above; nor is the rest of PTX known",
       {{"wgmma.mma_async.sp", nullptr},
        {"tcgen05", nullptr},
        {"red.async", nullptr},
        {"cp.reduce.async.bulk.tensor", nullptr}}}};
  return all;
}
#undef AP_ROW

}  // namespace

std::string special_register(std::string_view name) {
  constexpr const char* all[] = {"laneid",
                                 "warpid",
                                 "nwarpid",
                                 "smid",
                                 "nsmid",
                                 "gridid",
                                 "clock",
                                 "clock_hi",
                                 "clock64",
                                 "globaltimer",
                                 "globaltimer_lo",
                                 "tid.x",
                                 "tid.y",
                                 "tid.z",
                                 "ntid.x",
                                 "ntid.y",
                                 "ntid.z",
                                 "ctaid.x",
                                 "ctaid.y",
                                 "ctaid.z",
                                 "nctaid.x",
                                 "nctaid.y",
                                 "nctaid.z",
                                 "lanemask_eq",
                                 "lanemask_lt",
                                 "lanemask_le",
                                 "lanemask_gt",
                                 "lanemask_ge",
                                 "cluster_ctarank",
                                 "cluster_nctarank",
                                 "cluster_ctaid.x",
                                 "cluster_ctaid.y",
                                 "cluster_ctaid.z",
                                 "cluster_nctaid.x",
                                 "cluster_nctaid.y",
                                 "cluster_nctaid.z",
                                 "clusterid.x",
                                 "clusterid.y",
                                 "clusterid.z",
                                 "nclusterid.x",
                                 "nclusterid.y",
                                 "nclusterid.z",
                                 "is_explicit_cluster"};
  if (!name.starts_with("%")) return {};
  for (const char* one : all)
    if (name.substr(1) == one) {
      text function = one;
      std::replace(function.begin(), function.end(), '.', '_');
      return fmt::format("::antiphase::plain::ptx::special_{}()", function);
    }
  return {};
}

std::string code_of(std::string_view name, std::string_view operands, const names& of) {
  const row* best = nullptr;
  std::size_t length = 0;
  for (const group& g : table())
    for (const row& r : g.rows) {
      const view head = r.head;
      const bool fits = name.starts_with(head) && (name.size() == head.size() || name[head.size()] == '.');
      if (fits && head.size() >= length) {
        best = &r;
        length = head.size();
      }
    }
  instruction i(name, operands, of);
  if (best == nullptr || best->code == nullptr) i.refuse();
  i.skip_head(split(best->head, '.').size());
  const text code = best->code(i);
  if (!i.done()) i.refuse();
  return code;
}

std::vector<dialect_entry> ptx_dialect() {
  static const std::vector<text> heads = [] {
    std::vector<text> all;
    for (const group& g : table()) {
      text& names = all.emplace_back();
      for (const row& r : g.rows) names += (names.empty() ? "" : " ") + text(r.head);
    }
    return all;
  }();
  std::vector<dialect_entry> all;
  for (std::size_t g = 0; g < heads.size(); ++g) all.push_back({table()[g].how, heads[g], table()[g].about});
  return all;
}

}  // namespace antiphase::plain
