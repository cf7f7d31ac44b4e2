// SPDX-License-Identifier: Apache-2.0
// Tensor Cores: mma, wgmma, and matrices in shared memory.
#include "ptx_families.hpp"

namespace antiphase::plain::ptx_code {

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

}  // namespace antiphase::plain::ptx_code
