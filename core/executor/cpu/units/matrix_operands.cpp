// SPDX-License-Identifier: Apache-2.0
// Operands of wgmma in shared memory: descriptors, swizzles, and what a warp reads.
#include "core/executor/cpu/units/matrix_operands.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/executor/cpu/worker.hpp"

namespace antiphase::cpu_detail {
using machine::operand_type;
namespace {

constexpr int rows_of_warp = operand_rows;

struct operand {
  std::uint32_t start, leading, stride;
  swizzle pattern;
  bool transposed;

  operand(std::uint64_t descriptor, bool is_transposed)
      : start(field(descriptor)),
        leading(field(descriptor >> 16)),
        stride(field(descriptor >> 32)),
        pattern(static_cast<swizzle>((4 - (descriptor >> 62)) % 4)),
        transposed(is_transposed) {}

  // Address of the element in row or column `mn`, at index k.
  std::uint32_t address(int mn_index, int k_index) const {
    const auto mn = static_cast<std::uint32_t>(mn_index), k = static_cast<std::uint32_t>(k_index);
    const std::uint32_t width = width_of(pattern);
    const bool plain = pattern == swizzle::none;
    std::uint32_t offset;
    if (transposed)
      offset = mn % (width / 2) * 2 + mn / (width / 2) * (plain ? stride : leading) + k % 8 * width +
               k / 8 * (plain ? leading : stride);
    else
      offset = mn % 8 * width + mn / 8 * stride + (plain ? k % 8 * 2 + k / 8 * leading : k * 2);
    return swizzled(start + offset, pattern);
  }
  // Calls f(address, mn, k) for every piece of 16 bytes; its elements are consecutive in mn if transposed,
  // else in k.
  template <class Do> void each_piece(int first, int count, int deep, Do f) const {
    for (int mn = 0; mn < count; mn += transposed ? 8 : 1)
      for (int k = 0; k < deep; k += transposed ? 1 : 8) f(address(first + mn, k), mn, k);
  }

 private:
  static std::uint32_t field(std::uint64_t bits) { return static_cast<std::uint32_t>(bits & 0x3FFF) << 4; }
};
constexpr std::uint64_t unused_bits = ~0xC000'3FFF'3FFF'3FFFull;

// Reads rows or columns [first, first + count) into mn_stride, k_stride.
std::vector<std::uint16_t> read(const block_state& block, const operand& o, int first, int count, int deep,
                                int mn_stride, int k_stride) {
  std::vector<std::uint16_t> to(static_cast<std::size_t>(count * deep));
  o.each_piece(first, count, deep, [&](std::uint32_t at, int mn, int k) {
    std::uint16_t piece[8];
    std::memcpy(piece, block.shared + at, sizeof piece);
    for (int i = 0; i < 8; ++i) {
      const int row = o.transposed ? mn + i : mn, column = o.transposed ? k : k + i;
      to[static_cast<std::size_t>(row * mn_stride + column * k_stride)] = piece[i];
    }
  });
  return to;
}

}  // namespace

void require_inside(const thread_state& self, std::uint64_t descriptor, bool transposed, int count, int deep,
                    const char* name, place where) {
  const operand o(descriptor, transposed);
  if ((descriptor & unused_bits) != 0)
    fail(
        self, fault::bad_copy, where,
        fmt::format("the descriptor of {}, {:#018x}, has bits set that mean nothing here", name, descriptor));
  const std::size_t bytes = self.block->shared_bytes;
  o.each_piece(0, count, deep, [&](std::uint32_t at, int mn, int k) {
    if (at + 16 > bytes)
      fail(self, fault::bad_copy, where,
           fmt::format("{} {} of {} at k = {} lies at byte {} of shared memory, of which the block has {}: "
                       "start {}, leading {}, stride {}, "
                       "{} bytes a row",
                       name[0] == 'A' ? "row" : "column", mn, name, k, at, bytes, o.start, o.leading,
                       o.stride, width_of(o.pattern)));
  });
}

void read_operands(const block_state& block, matrix_operation& o, int warp_in_group) {
  const machine::warpgroup_step& w = o.step;
  if (o.a.empty())
    o.a = read(block, operand(w.a_descriptor, w.a_transposed), rows_of_warp * warp_in_group, rows_of_warp,
               operand_depth, operand_depth, 1);
  const operand b(w.b_descriptor, w.b_transposed);
  if (o.b.empty())
    o.b = o.type >= operand_type::tf32 ? read(block, b, 0, w.columns, depth_of_b(w), depth_of_b(w), 1)
                                       : read(block, b, 0, w.columns, depth_of_b(w), 1, w.columns);
}

// The shared memory that a warp reads, as merged ranges.
std::vector<std::span<const unsigned char>> ranges_of(const block_state& block, const matrix_operation& o,
                                                      int warp_in_group) {
  std::vector<std::uint32_t> pieces;
  const auto add = [&](std::uint32_t at, int, int) { pieces.push_back(at); };
  if (o.a.empty())
    operand(o.step.a_descriptor, o.step.a_transposed)
        .each_piece(rows_of_warp * warp_in_group, rows_of_warp, operand_depth, add);
  operand(o.step.b_descriptor, o.step.b_transposed).each_piece(0, o.step.columns, depth_of_b(o.step), add);
  std::sort(pieces.begin(), pieces.end());
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
  std::vector<std::span<const unsigned char>> ranges;
  for (std::size_t i = 0; i < pieces.size();) {
    std::size_t end = i + 1;
    while (end < pieces.size() && pieces[end] == pieces[end - 1] + 16) ++end;
    ranges.emplace_back(block.shared + pieces[i], 16 * (end - i));
    i = end;
  }
  return ranges;
}

}  // namespace antiphase::cpu_detail
