// SPDX-License-Identifier: Apache-2.0
// The pass before the gradients: the operands as FP16 parts, and two numbers of each query.
#pragma once
#include "library/attention/fp16/gradients/backward.hpp"
#include "library/attention/fp16/split_pass.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// Divides a row of dO, of which each of `Lanes` lanes has four elements, by the softmax's sum. Returns D, the
// sum of dO O over the columns, divided as well.
template <int Lanes> AP_DEV float divide_gradient(pack<float, 4>& g, const pack<float, 4>& out, float sum) {
  double d = 0;
  AP_UNROLL
  for (int e = 0; e < 4; ++e) d += double{g.element[e]} * double{out.element[e]};
  AP_UNROLL
  for (int by = 1; by < Lanes; by *= 2) d += shuffle_xor(d, by);
  const float back = sum == 0 ? 0 : 1 / sum;
  AP_UNROLL
  for (int e = 0; e < 4; ++e) g.element[e] *= back;
  return static_cast<float>(sum == 0 ? 0 : d / double{sum});
}

// Splits all operands; dO is divided by the softmax's sum of each row. Prepares the queries' numbers. A block
// has a tile, those of dO first.
template <int Depth> struct gradient_split {
  using in_registers = tile_in_registers<Depth>;
  using of_others = split_pass<Depth>;
  static constexpr int threads = in_registers::threads;
  static constexpr bool overlaps_previous = true;
  using params = gradient_split_params;
  using storage = typename of_others::storage;

  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    std::int64_t block = block_index().x;
    wait_for_previous_grid();
    start_next_grid();
    if (block == 0 && thread_index() < 2) p.others.next_item[thread_index()] = 0;
    const std::int64_t blocks = p.d_out.count * p.d_out.shape.tiles;
    if (block < blocks) return split_gradient(p, s, block);
    of_others::split_one_of(p.others, s, block - blocks, p.others.lo_factor);
  }

 private:
  AP_DEV static void split_gradient(const params& p, storage& s, std::int64_t block) {
    const split_operand& o = p.d_out;
    const tile_place at(o, static_cast<int>(block / o.shape.tiles), block % o.shape.tiles);
    const int depth = p.others.depth;
    in_registers g, out;
    pack<float, 2> softmax[in_registers::count];
    g.load(at.first_element(o), o.source.row_stride, at.rows, depth, o.in_vectors);
    out.load(at.first_element(p.out), p.out.source.row_stride, at.rows, depth, p.out.in_vectors);
    const auto row_of = [](int i) { return in_registers::first_row() + i * in_registers::step; };
    const float* const of_rows =
        p.problem.softmax + 2 * stored_row(p.problem, member_of(p.problem, at.member), at.head, at.first_row);
    AP_UNROLL
    for (int i = 0; i < in_registers::count; ++i) {
      const int r = row_of(i);
      softmax[i] = {{-INFINITY, 0}};
      if (r < at.rows) softmax[i] = {{of_rows[2 * r], of_rows[2 * r + 1]}};
    }
    AP_UNROLL
    for (int i = 0; i < in_registers::count; ++i) {
      const float top = softmax[i].element[0],
                  d = divide_gradient<in_registers::lanes>(g.row[i], out.row[i], softmax[i].element[1]);
      if (in_registers::lane() != 0) continue;
      float* const to = p.numbers + (at.head * o.shape.tiles + at.tile) * 2 * split_rows + row_of(i);
      to[0] = top == -INFINITY ? INFINITY : top;
      to[split_rows] = d;
    }
    of_others::write(o, g, at, s, near_lo);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
