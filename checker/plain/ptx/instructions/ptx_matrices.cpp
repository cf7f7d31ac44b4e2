// SPDX-License-Identifier: Apache-2.0
// Tensor Cores: mma, wgmma, and matrices in shared memory.
#include "checker/plain/ptx/instructions/ptx_families.hpp"

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
text multiply(instruction& i, bool sparse) {
  struct form {
    view type;  // of A and B
    int bits;
    view shapes, sums, sparse_shapes = {};
  };
  static constexpr form forms[] = {{"f16", 16, "m16n8k8 m16n8k16", "f16 f32", "m16n8k16 m16n8k32"},
                                   {"bf16", 16, "m16n8k8 m16n8k16", "f32", "m16n8k16 m16n8k32"},
                                   {"tf32", 32, "m16n8k4 m16n8k8", "f32", "m16n8k8 m16n8k16"},
                                   {"f64", 64, "m8n8k4 m16n8k4 m16n8k8 m16n8k16", "f64"},
                                   {"e4m3", 8, "m16n8k16 m16n8k32", "f16 f32", "m16n8k64"},
                                   {"e5m2", 8, "m16n8k16 m16n8k32", "f16 f32", "m16n8k64"},
                                   {"s8", 8, "m8n8k16 m16n8k16 m16n8k32", "s32", "m16n8k32 m16n8k64"},
                                   {"u8", 8, "m8n8k16 m16n8k16 m16n8k32", "s32", "m16n8k32 m16n8k64"},
                                   {"s4", 4, "m8n8k32 m16n8k32 m16n8k64", "s32"},
                                   {"u4", 4, "m8n8k32 m16n8k32 m16n8k64", "s32"}};
  if (sparse) i.skip({"sync"});
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
  if (f == std::end(forms) || g == std::end(forms) || f->bits != g->bits ||
      !has_word(sparse ? f->sparse_shapes : f->shapes, shape) || !has_word(f->sums, c) ||
      !has_word(f->sums, d) || (f->bits != 8 && a != b && !whole(f)) || whole(f) != whole(g))
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
  listed(1, std::max(rows * depth / (sparse ? 64 : 32) * bits / 32, 1) / (bits == 64 ? 2 : 1));
  listed(2, std::max(columns * depth / 32 * bits / 32, 1) / (bits == 64 ? 2 : 1));
  listed(3, c == "f16" ? sums / 2 : sums);
  const auto number = [](view t) { return fmt::format("::antiphase::machine::matrix_number::{}", t); };
  const auto to = i.list(0);
  text code = fmt::format(
      "const {} ap_a[] = {{{}{}}}, ap_b[] = {{{}}}; const {} ap_c[] = {{{}}}; {} ap_d[{}]; "
      "::antiphase::machine::warp_multiply_of({{{}, {}, {}, {}, {}, {}, {}, {}{}}}, ap_d, ap_a, ap_b, ap_c, "
      "{})",
      registers, i.gets(registers, 1), sparse ? ", " + i.get("unsigned", 4) : "", i.gets(registers, 2),
      sum_type(c), i.gets(sum_type(c), 3), sum_type(d), to.size(), rows, columns, depth, number(a), number(b),
      number(c), number(d), saturates, sparse ? ", " + i.get("int", 5) : "", here);
  for (std::size_t k = 0; k < to.size(); ++k) code += "; " + call("put", to[k], fmt::format("ap_d[{}]", k));
  return code;
}

// wmma: fragments of mma.h, whose elements the registers hold.
namespace {
text wmma_shape_of(instruction& i) {
  const view shape = i.take_beginning("m");
  const std::size_t n = shape.find('n'), k = shape.find('k');
  if (!has_word("m16n16k16 m32n8k16 m8n32k16 m16n16k8 m8n8k4", shape)) i.refuse();
  return fmt::format("{}, {}, {}", shape.substr(1, n - 1), shape.substr(n + 1, k - n - 1),
                     shape.substr(k + 1));
}
text wmma_number(const instruction& i, view type) {
  static constexpr std::pair<view, view> all[] = {{"f16", "__half"},
                                                  {"bf16", "__nv_bfloat16"},
                                                  {"tf32", "::nvcuda::wmma::precision::tf32"},
                                                  {"f32", "float"},
                                                  {"f64", "double"},
                                                  {"s8", "signed char"},
                                                  {"u8", "unsigned char"},
                                                  {"s32", "int"}};
  const auto* const found = std::ranges::find(all, type, &std::pair<view, view>::first);
  if (found == std::end(all)) i.refuse();
  return text(found->second);
}
text wmma_fragment(const text& use, const text& shape, const text& number, view layout = {}) {
  return fmt::format("::nvcuda::wmma::fragment<::nvcuda::wmma::{}, {}, {}{}>", use, shape, number,
                     layout.empty() ? text() : fmt::format(", ::nvcuda::wmma::{}_major", layout));
}
// The registers in a statement's own array, which is declared before it.
text wmma_registers(const instruction& i, std::size_t operand, view type, view name) {
  const text held = type == "f32" ? "float" : type == "f64" ? "double" : "unsigned";
  return fmt::format("{} {}[] = {{{}}}; ", held, name, i.gets(held, operand));
}
text wmma_puts(const instruction& i, std::size_t operand) {
  text code;
  const auto to = i.list(operand);
  for (std::size_t k = 0; k < to.size(); ++k) code += "; " + call("put", to[k], fmt::format("ap_d[{}]", k));
  return code;
}
view wmma_layout(instruction& i) {
  const view layout = i.take_one({"row", "col"});
  if (layout.empty()) i.refuse();
  return layout;
}
text wmma_stride(const instruction& i, std::size_t operand, const text& shape, bool by_rows, view matrix) {
  if (i.count() > operand) return i.get("unsigned", operand);
  const auto all = split(shape, ',');
  return text(matrix == "a"   ? all[by_rows ? 2 : 0]
              : matrix == "b" ? all[by_rows ? 1 : 2]
                              : all[by_rows ? 1 : 0]);
}
}  // namespace
text wmma_load(instruction& i) {
  i.skip({"sync", "aligned"});
  const view matrix = i.take_one({"a", "b", "c"});
  const view layout = wmma_layout(i);
  const text shape = wmma_shape_of(i), space = i.space();
  const view type = i.take_last();
  if (matrix.empty()) i.refuse();
  const bool sums = matrix == "c";
  const text fragment = wmma_fragment(sums ? "accumulator" : "matrix_" + text(matrix), shape,
                                      wmma_number(i, type), sums ? view() : layout);
  return wmma_registers(i, 0, type, "ap_d") +
         call(fmt::format("wmma_load<{}>", fragment), "ap_d", i.pointer(1, space),
              wmma_stride(i, 2, shape, layout == "row", matrix), layout == "row" ? "true" : "false", here) +
         wmma_puts(i, 0);
}
text wmma_store(instruction& i) {
  i.skip({"sync", "aligned", "d"});
  const view layout = wmma_layout(i);
  const text shape = wmma_shape_of(i), space = i.space();
  const view type = i.take_last();
  return wmma_registers(i, 1, type, "ap_d") +
         call(fmt::format("wmma_store<{}>", wmma_fragment("accumulator", shape, wmma_number(i, type))),
              i.pointer(0, space), "ap_d", wmma_stride(i, 2, shape, layout == "row", "d"),
              layout == "row" ? "true" : "false", here);
}
text wmma_multiply(instruction& i) {
  i.skip({"sync", "aligned", "rn"});
  const bool saturates = i.take("satfinite");
  const view layout_a = wmma_layout(i), layout_b = wmma_layout(i);
  const text shape = wmma_shape_of(i);
  std::vector<view> types;
  while (!i.done()) types.insert(types.begin(), i.take_last());
  if (types.size() == 2) types = {types[0], "f16", "f16", types[1]};  // d.c: of f16
  if (types.size() != 4) i.refuse();
  const auto sums = [&](view type) { return wmma_fragment("accumulator", shape, wmma_number(i, type)); };
  return wmma_registers(i, 0, types[0], "ap_d") + wmma_registers(i, 1, types[1], "ap_a") +
         wmma_registers(i, 2, types[2], "ap_b") + wmma_registers(i, 3, types[3], "ap_c") +
         call(fmt::format("wmma_multiply<{}, {}, {}, {}>", sums(types[0]),
                          wmma_fragment("matrix_a", shape, wmma_number(i, types[1]), layout_a),
                          wmma_fragment("matrix_b", shape, wmma_number(i, types[2]), layout_b),
                          sums(types[3])),
              "ap_d", "ap_a", "ap_b", "ap_c", saturates ? "true" : "false", here) +
         wmma_puts(i, 0);
}

// m64nNkK; A comes from a descriptor or four registers. Sums of f16 are pairs in a register.
text warpgroup_multiply(instruction& i, bool sparse) {
  i.skip({"sync", "aligned"});
  const view shape = i.take_beginning("m64n");
  const bool whole = i.take("s32"), halves = !whole && !i.take("f32") && i.take("f16");
  if (shape.empty() || i.parts() != 2) i.refuse();
  const auto number = [&] {
    const view type = i.first();
    if (!has_word(whole ? "s8 u8" : halves ? "f16 e4m3 e5m2" : "bf16 tf32 f16 e4m3 e5m2", type)) i.refuse();
    i.skip_head(1);
    return type;
  };
  const view of_a = number(), of_b = number();
  const bool bytes = of_a.size() == 2 || of_a.starts_with("e");
  if (of_a != of_b && (!bytes || of_b.size() != of_a.size() || of_b == "bf16")) i.refuse();
  const text type = bytes ? fmt::format("{}_{}", of_a, of_b) : text(of_a);
  const std::size_t k_at = shape.find('k');
  const int depth = (bytes ? 32 : type == "tf32" ? 8 : 16) * (sparse ? 2 : 1);
  if (k_at == view::npos || shape.substr(k_at + 1) != std::to_string(depth)) i.refuse();
  const text columns(shape.substr(4, k_at - 4));
  const auto sums = i.list(0);
  if (text(std::to_string((halves ? 4 : 2) * sums.size())) != columns) i.refuse();
  const bool registers = i.operand(1).starts_with("{");
  // the operand that says whether to add, after those of a sparse A; signs, not of integers; transpose flags
  const std::size_t adds = sparse ? 5 : 3, signs = whole ? 0 : 2,
                    flags = bytes || type == "tf32" ? 0
                            : registers             ? 1
                                                    : 2;
  if (i.count() != adds + 1 + signs + flags || (registers && i.list(1).size() != 4)) i.refuse();
  const std::size_t first_flag = adds + 1 + signs;
  const text transposed_a = flags == 2 ? i.get("int", first_flag) + " != 0" : "false",
             transposed_b = flags > 0 ? i.get("int", first_flag + flags - 1) + " != 0" : "false",
             negated =
                 whole ? "false" : fmt::format("{} != {}", i.get("int", adds + 1), i.get("int", adds + 2));
  text code = registers ? "const unsigned ap_a[4] = {" + i.gets("unsigned", 1) + "}; " : "";
  text all = fmt::format(
      "::antiphase::machine::operand_type::{}, ::antiphase::machine::warpgroup_step{{{}, {}, {}, {}, {}, "
      "{}, {}, {}, {}}}, {}, {}, {}",
      type, columns, i.get("bool", adds), transposed_a, transposed_b,
      registers ? "0ul" : i.get("unsigned long", 1), i.get("unsigned long", 2), negated, halves,
      sparse ? i.get("int", 4) : "-1", registers ? "ap_a" : "nullptr", sparse ? i.get("unsigned", 3) : "0u",
      here);
  for (const text& one : sums) all += ", " + one;
  return code + call("warpgroup_multiply", all);
}
text warpgroup(instruction& i, view what) {
  i.skip({"sync", "aligned"});
  return fmt::format("::antiphase::machine::warpgroup_{}({}{})", what,
                     i.count() > 0 ? i.get("int", 0) + ", " : "", here);
}

}  // namespace antiphase::plain::ptx_code
