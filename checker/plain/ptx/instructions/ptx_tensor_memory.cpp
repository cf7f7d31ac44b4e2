// SPDX-License-Identifier: Apache-2.0
// tcgen05: Tensor Memory, and the products that accumulate in it; cluster launch control.
#include "checker/plain/ptx/instructions/ptx_families.hpp"

namespace antiphase::plain::ptx_code {

namespace {
constexpr view words = "::antiphase::plain::ptx::tensor_memory::words()";
template <class... A> text in_tensor_memory(view function, const A&... arguments) {
  return call("tensor_memory::" + text(function), arguments...);
}
// cta_group::1 or 2, as an argument
text of_pair(instruction& i) {
  const view group = i.take_one({"cta_group::1", "cta_group::2"});
  if (group.empty()) i.refuse();
  return group.back() == '2' ? "true" : "false";
}
// [d]
text address(const instruction& i, std::size_t operand) {
  const auto parts = i.inside(operand);
  if (parts.size() != 1) i.refuse();
  const auto sum = split(parts[0], '+');
  text all = fmt::format("::antiphase::plain::ptx::get<unsigned>({})", i.value(sum[0]));
  for (std::size_t k = 1; k < sum.size(); ++k) all += fmt::format(" + {}", i.value(sum[k]));
  return fmt::format("static_cast<unsigned>({})", all);
}
// {bits, registers, packed, half}
text shape_of(instruction& i, std::size_t registers, std::size_t half) {
  const view shape = i.take_one({"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"});
  if (shape.empty()) i.refuse();
  i.take_beginning("x");
  const bool packed = i.take("pack::16b") || i.take("unpack::16b"), split = shape == "16x32bx2";
  const view bits = split ? "0" : shape.substr(shape.find('x') + 1, shape.size() - shape.find('x') - 2);
  return fmt::format("{{{}, {}, {}, {}}}", bits, registers, packed, split ? i.get("int", half) : "0");
}
}  // namespace

text tensor_allocate(instruction& i) {
  const text pair = of_pair(i);
  i.skip({"sync", "aligned", "b32"});
  return in_tensor_memory("allocate", i.pointer(0, i.space()), i.get("unsigned", 1), pair, here);
}
text tensor_deallocate(instruction& i) {
  const text pair = of_pair(i);
  i.skip({"sync", "aligned", "b32"});
  return in_tensor_memory("release", words, i.get("unsigned", 0), i.get("unsigned", 1), pair, here);
}
text tensor_relinquish(instruction& i) {
  const text pair = of_pair(i);
  i.skip({"sync", "aligned"});
  return in_tensor_memory("relinquish", pair, here);
}
// ap_load: the number of the load, which the writer of functions keeps
text tensor_load(instruction& i) {
  const bool reduces = i.take("red");
  i.skip({"sync", "aligned"});
  const auto to = i.list(0);
  const std::size_t address_operand = reduces ? 2 : 1;
  const text shape = shape_of(i, to.size(), address_operand + 1);
  text code = fmt::format("unsigned ap_v[{}]; const auto ap_load = ", to.size()) +
              in_tensor_memory("load", words, shape, address(i, address_operand), "ap_v", here);
  for (std::size_t k = 0; k < to.size(); ++k) code += "; " + call("put", to[k], fmt::format("ap_v[{}]", k));
  if (reduces) {
    const view how = i.take_one({"min", "max"});
    const bool absolute = i.take("abs"), nan = i.take("NaN");
    const text type = i.type();
    if (how.empty() || (type != "float" && type != "unsigned" && type != "int")) i.refuse();
    code += "; " + i.put(1, in_tensor_memory(fmt::format("reduced<{}>", type), "ap_v",
                                             std::to_string(to.size()), how == "min" ? "true" : "false",
                                             absolute ? "true" : "false", nan ? "true" : "false"));
  }
  i.take("b32");
  return code;
}
text tensor_store(instruction& i) {
  i.skip({"sync", "aligned", "b32"});
  const std::size_t last = i.count() - 1;
  const text shape = shape_of(i, i.list(last).size(), 1);
  i.take("b32");
  return fmt::format("const unsigned ap_v[] = {{{}}}; ", i.gets("unsigned", last)) +
         in_tensor_memory("store", words, shape, address(i, 0), "ap_v", here);
}
text tensor_wait(instruction& i, view kind) {
  i.skip({"sync", "aligned"});
  return in_tensor_memory("wait", fmt::format("::antiphase::machine::tensor_work::{}", kind), here);
}
text tensor_fence(view side) { return in_tensor_memory(fmt::format("fence_{}", side)); }

namespace {
// Factors in a row of a product; 0: it has none.
int scales_of(instruction& i, view kind) {
  if (!i.take("block_scale")) return 0;
  const view vector = i.take_one({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32"});
  if (vector == "scale_vec::4X" || vector == "block16") return 4;
  if (vector == "scale_vec::2X" || kind.starts_with("mxf4")) return 2;
  return 1;
}
}  // namespace
// [d], a, b, instruction, [factors of a], [factors of b], {disabled lanes}, adds, shift
text tensor_multiply(instruction& i) {
  const bool separate = i.take("ws");
  const text pair = of_pair(i);
  view kind = i.take_one({"kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8", "kind::mxf8f6f4",
                          "kind::mxf4", "kind::mxf4nvf4"});
  if (kind.empty()) i.refuse();
  kind = kind.substr(6);
  const int scales = scales_of(i, kind);
  while (!i.take_beginning("collector::").empty()) continue;  // which operand the Tensor Core keeps
  i.take("ashift");
  std::size_t next = 4;
  text a_scales = "0u", b_scales = "0u", disabled;
  if (scales != 0) {
    a_scales = address(i, next++);
    b_scales = address(i, next++);
  } else if (i.count() > next && i.operand(next).starts_with("{")) {
    disabled = i.gets("unsigned", next++);
  }
  if (i.count() <= next || (scales != 0) != kind.starts_with("mx")) i.refuse();
  const text adds = i.get("bool", next++);
  const text shift = i.count() > next && !separate ? i.get("int", next++) : "0";
  if (i.count() > next) i.refuse();
  const bool in_memory = i.operand(1).starts_with("[");
  return in_tensor_memory(
      "multiply", words,
      fmt::format(
          "{{::antiphase::plain::ptx::tensor_memory::operand_kind::{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, "
          "{}, {}, {}, {}, {{{}}}}}",
          kind, pair, separate, scales, address(i, 0), in_memory ? address(i, 1) : "0u",
          in_memory ? "0ul" : i.get("unsigned long", 1), i.get("unsigned long", 2), i.get("unsigned", 3),
          a_scales, b_scales, adds, in_memory, shift, disabled),
      here);
}
text tensor_copy_to(instruction& i) {
  const text pair = of_pair(i);
  const view shape = i.take_one({"128x256b", "4x256b", "128x128b", "64x128b", "32x128b"});
  const view warps = i.take_one({"warpx4", "warpx2::02_13", "warpx2::01_23"});
  if (shape.empty() || (shape[0] == '6' || shape[0] == '3') == warps.empty()) i.refuse();
  const std::size_t x = shape.find('x');
  return in_tensor_memory("copy", words,
                          fmt::format("{{{}, {}, {}, {}}}", shape.substr(0, x), shape[x + 1] == '2' ? 32 : 16,
                                      warps.empty() ? 1 : warps[5] - '0', warps.ends_with("02_13") ? 64 : 32),
                          address(i, 0), i.get("unsigned long", 1), pair, here);
}
text tensor_shift(instruction& i) {
  const text pair = of_pair(i);
  if (!i.take("down")) i.refuse();
  return in_tensor_memory("shift_down", words, address(i, 0), pair, here);
}
text tensor_commit(instruction& i) {
  const text pair = of_pair(i);
  i.skip({"mbarrier::arrive::one"});
  const text word = i.barrier(0, i.space());
  const bool several = i.take("multicast::cluster");
  i.skip({"b64"});
  if (i.count() != (several ? 2 : 1)) i.refuse();
  return in_tensor_memory("commit", word, several ? i.get("unsigned short", 1) : "0u", pair, here);
}

// Launches of a block in place of another that has not begun.
text cancel_launch(instruction& i) {
  i.skip({"async", "mbarrier::complete_tx::bytes"});
  const text space = i.space();
  const bool all = i.take("multicast::cluster::all");
  i.skip({"b128"});
  return in_tensor_memory("cancel_launch", i.pointer(0, space), i.barrier(1, "in_shared"),
                          all ? "true" : "false", here);
}
text is_canceled(instruction& i) {
  i.skip({"pred", "b128"});
  return i.put(0, fmt::format("static_cast<bool>({} & 1)", i.get("unsigned __int128", 1)));
}
text canceled_block(instruction& i, view first) {  // first: x, y or z; empty: all three
  while (!i.done()) i.skip_head(1);
  const auto to = i.list(0);
  text code;
  int word = first.empty() ? 1 : first[0] - 'x' + 1;
  for (const text& one : to)
    code +=
        (code.empty() ? "" : "; ") +
        call("put", one,
             word > 3 ? text("0u")
                      : in_tensor_memory("canceled", i.get("unsigned __int128", 1), std::to_string(word++)));
  return code;
}

}  // namespace antiphase::plain::ptx_code
