// SPDX-License-Identifier: Apache-2.0
// Loads, stores, atomic operations and asynchronous copies of PTX.
#include <algorithm>

#include "checker/plain/ptx/instructions/ptx_families.hpp"

namespace antiphase::plain::ptx_code {

namespace {
text numbers_of(int n, const text& type, const text& at) {
  return fmt::format("auto* const ap_p = const_cast<{0}*>(::antiphase::plain::ptx::vector_at<{0}, {1}>({2}))",
                     type, n, at);
}
constexpr const char* nowhere = "::antiphase::plain::ptx::nowhere";  // where _ stands
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
}  // namespace
text load(instruction& i) {
  const view how = i.take_one({"weak", "volatile", "relaxed", "acquire"});
  const text reach = i.scope_for(how == "relaxed" || how == "acquire");
  const text at = i.pointer(1, i.space());
  const bool constant = i.take("nc");
  const char* const by_use = i.take("ap::by_use") && !constant ? "by_use::" : "";
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
  if (const auto to = i.list(0); std::ranges::find(to, nowhere) != to.end() && how.empty()) {
    if (static_cast<int>(to.size()) != n) i.refuse();
    text code = numbers_of(n, type, at);
    for (int k = 0; k < n; ++k)  // what goes nowhere is not read
      if (to[static_cast<std::size_t>(k)] != nowhere)
        code +=
            "; " + call("put", to[static_cast<std::size_t>(k)],
                        call(fmt::format("{}{}<{}, 1>", by_use, constant ? "load_constant" : "load", type),
                             fmt::format("ap_p + {}", k)) +
                            ".x[0]");
    return code;
  }
  text code = fmt::format("const auto ap_v = {}", call(fmt::format("{}{}<{}, {}>", by_use,
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
namespace {
text update_of(instruction& i) {
  const view what = i.take_one({"add", "min", "max", "and", "or", "xor"});
  if (what.empty()) i.refuse();
  const bool of_bits = what == "and" || what == "or" || what == "xor";
  return fmt::format("::antiphase::bulk_update::{}{}", of_bits ? "bit_" : "", what);
}
}  // namespace
text tensor_copy(instruction& i, bool reduces) {
  i.skip_cache_hints();
  i.take("tile");
  const view group = i.take_one({"cta_group::1", "cta_group::2"});
  const view dimensions = i.take_one({"1d", "2d", "3d", "4d", "5d"});
  const bool stores = i.take("bulk_group");
  const auto tensor = i.inside(stores ? 0 : 1);
  if (dimensions.empty() || tensor.size() != 2 || !tensor[1].starts_with("{")) i.refuse();
  text first;
  const auto indices = split(tensor[1].substr(1, tensor[1].size() - 2), ',');
  if (indices.size() != static_cast<std::size_t>(dimensions[0] - '0')) i.refuse();
  for (const view index : indices)
    first +=
        fmt::format("{}::antiphase::plain::ptx::get<int>({})", first.empty() ? "" : ", ", i.value(index));
  const text place = "::antiphase::machine::tensor_place{{" + first + "}}",
             count(1, std::max(dimensions[0], '2')),  // one row of a tensor
      map = fmt::format("::antiphase::plain::ptx::get<unsigned long>({})", i.value(tensor[0]));
  if (stores) {
    if (!i.take("global") || !i.take("shared::cta")) i.refuse();
    const text from = i.pointer(1, "in_shared");
    return reduces ? call("tensor_reduce", map, from, place, count, update_of(i), here)
                   : call("tensor_store", map, from, place, count, here);
  }
  if (reduces || !i.take("mbarrier::complete_tx::bytes") ||
      i.take_one({"shared::cluster", "shared::cta"}).empty() || !i.take("global"))
    i.refuse();
  const bool several = i.take("multicast::cluster");
  if (group.ends_with("2"))
    return call("tensor_load_of_pair", i.pointer(0, "in_shared"), map, place, count,
                i.barrier(2, "in_shared"), several ? i.get("unsigned short", 3) : "0u", here);
  if (several)
    return call("tensor_load_multicast", i.pointer(0, "in_shared"), map, place, count,
                i.barrier(2, "in_shared"), i.get("unsigned short", 3), here);
  return call("tensor_load", i.pointer(0, "in_shared"), map, place, count, i.barrier(2, "in_shared"), here);
}
text replace_in_map(instruction& i) {
  const view indexed = i.take_one({"box_dim", "global_dim", "global_stride", "element_stride"}),
             other = i.take_one({"global_address", "rank", "elemtype", "swizzle_mode", "interleave_layout",
                                 "fill_mode", "swizzle_atomicity"});
  const bool has_index = !indexed.empty();
  const view field = has_index ? indexed : other;
  const text space = i.space();
  if (field.empty() || !i.take("b1024")) i.refuse();
  const text type = i.type();
  if (i.count() != (has_index ? 3u : 2u)) i.refuse();
  if (field == "interleave_layout" || field == "fill_mode" || field == "swizzle_atomicity") {
    if (i.operand(1) != "0" && i.operand(1) != "0x0") i.refuse();
    return "";  // what maps have here
  }
  return call("replace_in_map", i.pointer(0, space),
              fmt::format("::antiphase::machine::map_field::{}", field), has_index ? i.get("int", 1) : "0",
              i.get(type, has_index ? 2 : 1), here);
}
text copy_map(instruction& i) {
  if (!i.take("global") || !i.take("shared::cta") || !i.take("tensormap::generic") || !i.take("release"))
    i.refuse();
  const text reach = i.scope_for(true);
  if (!i.take("sync") || !i.take("aligned") || i.count() != 3 ||
      (i.operand(2) != "128" && i.operand(2) != "0x80"))
    i.refuse();
  return call("copy_map", i.pointer(0, "generic"), i.pointer(1, "in_shared"), reach, here);
}
text bulk_reduction(instruction& i) {
  i.skip_cache_hints();
  if (!i.take("bulk_group") || !i.take("global") || !i.take("shared::cta")) i.refuse();
  const text what = update_of(i);
  i.take("noftz");
  const view small = i.take_one({"f16", "bf16"});
  const text step = small.empty() ? fmt::format("::antiphase::plain::ptx::step_of<{}>({})", i.type(), what)
                                  : fmt::format("{{{}, ::antiphase::machine::number_kind::{}, 2}}", what,
                                                small == "f16" ? "floating" : "bfloat");
  return fmt::format("::antiphase::machine::bulk_reduce({}, {}, {}, {}, {})", i.pointer(0, "generic"),
                     i.pointer(1, "in_shared"), i.get("unsigned", 2), step, here);
}
text commit_bulk(instruction&) { return "::antiphase::machine::bulk_commit()"; }
text wait_bulk(instruction& i) {
  const bool read = i.take("read");
  return fmt::format("::antiphase::machine::bulk_wait({}, ::antiphase::machine::bulk_done::{}, {})",
                     i.get("int", 0), read ? "read" : "written", here);
}

}  // namespace antiphase::plain::ptx_code
