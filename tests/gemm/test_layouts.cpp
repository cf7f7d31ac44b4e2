// SPDX-License-Identifier: Apache-2.0
// Layouts of operands: row-major and column-major, padded, strided, broadcast, transposed, with negative
// strides, aligned to 4 bytes only.
#include <algorithm>

#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

using gemm_layouts = on_device;

// A product with partial tiles in every direction.
product edged(const gemms::policy& how, float alpha = 1, float beta = -1.5) {
  const std::int64_t m = how.tile.m + 5, n = how.tile.n + 7, k = 2 * how.tile_k + 3;
  return product_of(random_reals(m, k, 1), random_reals(k, n, 2), alpha, beta);
}
template <class Run> void each_step(Run run) {
  for (const gemms::step& s : gemms::steps) {
    SCOPED_TRACE(s.name);
    run(s);
  }
}
std::string text(major by) { return by == major::row ? "rows" : "columns"; }

// All combinations of row-major and column-major; place(order, matrix) gives the layout.
template <class Place> void in_all_orders(const std::vector<context>& contexts, Place place) {
  each_step([&](const gemms::step& s) {
    product p = edged(s.policy);
    const auto right = expected(p);
    for (int order = 0; order < 8; ++order) {
      const auto by = [&](int operand) { return order >> operand & 1 ? major::column : major::row; };
      SCOPED_TRACE("A by " + text(by(0)) + ", B by " + text(by(1)) + ", C by " + text(by(2)));
      p.place_a = place(by(0), p.a);
      p.place_b = place(by(1), p.b);
      p.place_c = place(by(2), p.c);
      EXPECT_TRUE(
          same(computed(contexts[static_cast<std::size_t>(order) % contexts.size()], s.name, p), right));
    }
  });
}
TEST_P(gemm_layouts, all_orders_densely_packed) {
  in_all_orders(several(), [](major by, const dense& d) { return placed(by, d); });
}
// The padding is NaN: it must not reach a result, nor be written. Vectors of 16 bytes end in it.
TEST_P(gemm_layouts, all_orders_in_packets) {
  in_all_orders(several(), [](major by, const dense& d) { return placed_in_packets(by, d); });
}
TEST_P(gemm_layouts, all_orders_with_padding_that_is_no_multiple_of_4) {
  in_all_orders(several(), [](major by, const dense& d) {
    const std::int64_t along = by == major::row ? d.columns : d.rows;
    return placed(by, d, along % 4 == 0 ? 1 : 4);
  });
}

// Each operand in turn begins 4, 8 or 12 bytes past a multiple of 16.
TEST_P(gemm_layouts, operands_aligned_to_4_bytes_only) {
  const context where = any();
  each_step([&](const gemms::step& s) {
    product p = edged(s.policy);
    const auto right = expected(p);
    for (const major by : {major::row, major::column})
      for (int operand = 0; operand < 3; ++operand)
        for (int offset = 1; offset <= 3; ++offset) {
          SCOPED_TRACE(testing::Message()
                       << "operand " << operand << " by " << text(by) << ", " << offset << " floats off");
          placing* const places[] = {&p.place_a, &p.place_b, &p.place_c};
          p.place_a = placed_in_packets(by, p.a);
          p.place_b = placed_in_packets(by, p.b);
          p.place_c = placed_in_packets(by, p.c);
          places[operand]->offset = offset;
          EXPECT_TRUE(same(computed(where, s.name, p), right));
        }
  });
}

TEST_P(gemm_layouts, every_second_and_third_element) {
  const context where = any();
  each_step([&](const gemms::step& s) {
    product p = edged(s.policy);
    p.place_a = {2 * p.a.columns + 4, 2};
    p.place_b = {3, 3 * p.b.rows + 1};
    p.place_c = {2 * p.c.columns, 2};
    const auto right = expected(p);
    EXPECT_TRUE(same(computed(where, s.name, p), right));
    p.place_c = {3, 3 * p.c.rows + 2};
    EXPECT_TRUE(same(computed(where, s.name, p), right));
  });
}

TEST_P(gemm_layouts, operands_of_stride_0) {
  const context where = any();
  each_step([&](const gemms::step& s) {
    const product plain = edged(s.policy);
    product p = plain;  // every row of A is the same, every column of B
    p.a = made(p.a.rows, p.a.columns, [&](auto, auto k) { return plain.a(0, k); });
    p.place_a = {0, 1};
    p.b = made(p.b.rows, p.b.columns, [&](auto k, auto) { return plain.b(k, 0); });
    p.place_b = {1, 0};
    EXPECT_TRUE(same(computed(where, s.name, p), expected(p)));
    p = plain;  // along k
    p.a = made(p.a.rows, p.a.columns, [&](auto i, auto) { return plain.a(i, 0); });
    p.place_a = {1, 0};
    p.b = made(p.b.rows, p.b.columns, [&](auto, auto j) { return plain.b(0, j); });
    p.place_b = {0, 1};
    EXPECT_TRUE(same(computed(where, s.name, p), expected(p)));
    p.a = filled(p.a.rows, p.a.columns, 0.75f);  // one element is all of A
    p.place_a = {0, 0};
    EXPECT_TRUE(same(computed(where, s.name, p), expected(p)));
  });
}

TEST_P(gemm_layouts, operands_read_backwards) {
  const context where = any();
  each_step([&](const gemms::step& s) {
    product p = edged(s.policy);
    const auto right = expected(p);
    const placing packets_a = placed_in_packets(major::row, p.a),
                  packets_b = placed_in_packets(major::row, p.b);
    p.place_a = {-packets_a.row_stride, 1};
    EXPECT_TRUE(same(computed(where, s.name, p), right)) << "rows of A from the last to the first";
    p.place_a = {packets_a.row_stride, -1};
    EXPECT_TRUE(same(computed(where, s.name, p), right)) << "columns of A from the last to the first";
    p.place_a = {-2 * packets_a.row_stride, -2};
    p.place_b = {-packets_b.row_stride, 1};
    EXPECT_TRUE(same(computed(where, s.name, p), right)) << "both";
  });
}

TEST_P(gemm_layouts, outputs_written_backwards) {
  const context where = any();
  const auto expect_right = [&](std::string_view policy, product p) {
    SCOPED_TRACE(policy);
    const auto right = expected(p);
    const placing rows = placed_in_packets(major::row, p.c), columns = placed_in_packets(major::column, p.c);
    for (const placing how :
         {placing{-rows.row_stride, 1}, placing{rows.row_stride, -1}, placing{-rows.row_stride, -1},
          placing{-rows.row_stride - 1, 1}, placing{1, -columns.column_stride},
          placing{-1, columns.column_stride}, placing{-2 * rows.row_stride, -2}}) {
      p.place_c = how;
      EXPECT_TRUE(same(computed(where, policy, p), right)) << how.row_stride << " and " << how.column_stride;
    }
  };
  each_step([&](const gemms::step& s) { expect_right(s.name, edged(s.policy)); });
}

// C^T = B^T A^T with views that only swap extents and strides: the same sums, so the same bits.
TEST_P(gemm_layouts, transposed_views) {
  const context where = any();
  each_step([&](const gemms::step& s) {
    const product p = edged(s.policy, 1, 0);
    matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
    gemm(where,
         {.a = transposed(b.view()),
          .b = transposed(a.view()),
          .c = transposed(c.view()),
          .alpha = p.alpha,
          .beta = p.beta},
         {.policy = s.name});
    where.runs_on().synchronize(nullptr);
    EXPECT_TRUE(same(c.read(), expected(p)));
  });
}

// A^T A from one buffer.
TEST_P(gemm_layouts, one_buffer_as_both_operands) {
  const context where = any();
  each_step([&](const gemms::step& s) {
    const dense x = random_reals(2 * s.policy.tile_k + 3, s.policy.tile.m + 5, 3);
    const product p = product_of(made(x.columns, x.rows, [&](auto i, auto k) { return x(k, i); }), x);
    matrix both(where, x, placed_in_packets(major::row, x)), c(where, p.c, p.place_c);
    gemm(where, {.a = transposed(both.view()), .b = both.view(), .c = c.view()}, {.policy = s.name});
    where.runs_on().synchronize(nullptr);
    EXPECT_TRUE(same(c.read(), expected(p)));
  });
}

// C is a slice in the middle of a larger matrix, the rest of which stays unchanged.
TEST_P(gemm_layouts, slices_of_larger_matrices) {
  const context where = any();
  each_step([&](const gemms::step& s) {
    const product p = edged(s.policy);
    const dense large = random_reals(p.c.rows + 6, p.c.columns + 9, 8);
    product inside = p;
    inside.c = made(p.c.rows, p.c.columns, [&](auto i, auto j) { return large(i + 2, j + 5); });
    matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b),
        c(where, large, placed_in_packets(major::row, large));
    matrix_view<float> slice = c.view();
    slice = {&slice.data[2 * slice.row_stride + 5], p.c.rows, p.c.columns, slice.row_stride, 1};
    gemm(where, {.a = a.view(), .b = b.view(), .c = slice, .alpha = p.alpha, .beta = p.beta},
         {.policy = s.name});
    where.runs_on().synchronize(nullptr);
    const auto around = [&](const dense& block) {
      return made(large.rows, large.columns, [&](auto i, auto j) {
        const bool in_slice = i >= 2 && i < 2 + block.rows && j >= 5 && j < 5 + block.columns;
        return in_slice ? block(i - 2, j - 5) : large(i, j);
      });
    };
    const sums blocks = expected(inside);
    sums after{around(blocks), {}};
    for (const dense& block : blocks.in_slices) after.in_slices.push_back(around(block));
    EXPECT_TRUE(same(c.read(), after));
  });
}

AP_ON_BOTH_DEVICES(gemm_layouts);

}  // namespace
}  // namespace antiphase::gemm_test
