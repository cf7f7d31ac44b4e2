// SPDX-License-Identifier: Apache-2.0
// fp64 products: every compiled kernel, every division of K, every layout of operands and results.
#include "library/gemm/fp64/fp64_plan.hpp"

#include <antiphase/core/tile.hpp>
#include <antiphase/executor/published.hpp>
#include <set>
#include <string>

#include "library/gemm/operands/checks.hpp"
#include "library/gemm/operands/cost_terms.hpp"
#include "tests/gemm/contract.hpp"

namespace antiphase::gemm_test {
namespace {

using gemms::fp64_division;
using gemms::fp64_instance;
using gemms::fp64_plan;

class gemm_fp64 : public on_device {
 protected:
  // With that kernel. The test fails if anything but C is written.
  dense multiply(const context& where, const product& p, const fp64_instance& with, bool turned,
                 const fp64_division& how, int rounds = 0) const {
    matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
    const gemm_problem what{.a = a.view(), .b = b.view(), .c = c.view(), .alpha = p.alpha, .beta = p.beta};
    const fp64_plan plan = gemms::plan_fp64(where, what, {}, {}, with, turned, how, rounds);
    device_array<std::byte> workspace(where, std::vector<std::byte>(plan.workspace() + 1, std::byte{0x5A}));
    gemms::run(where, plan, {workspace.data(), plan.workspace()}, nullptr);
    where.runs_on().synchronize(nullptr);
    EXPECT_EQ(workspace.to_host().back(), std::byte{0x5A});
    return c.read();
  }
  bool can(const context& where, const product& p, const fp64_instance& with, bool turned) const {
    matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
    return gemms::can_fp64(where, with, {.a = a.view(), .b = b.view(), .c = c.view()}, {}, turned);
  }
  const std::vector<fp64_instance>& kernels() const { return gemms::fp64_instances(any().kind()); }
  dense streamed(const product& p) const { return computed(any(), "fp64", p); }
};

// Within the bound of sums in FP64, which is next to correct rounding.
void expect_kept(const dense& c, const product& p) {
  const contract_result j = compare_with_exact(c, p, bound_of(gemm_sums::doubles, p.a.columns));
  EXPECT_LE(j.worst, 1) << "at C(" << j.row << ", " << j.column << ")";
}
// Rows that begin at multiples of that many floats and of no more, which is then the width of a copy.
placing placed_at_multiples(major by, const dense& d, int floats) {
  const std::int64_t in_row = by == major::row ? d.columns : d.rows,
                     apart = (ceil_div<std::int64_t>(in_row, floats) | 1) * floats;
  return placed(by, d, apart - in_row, floats % 4);
}
// Ways to divide K that leave no part empty, for a kernel.
std::vector<fp64_division> divisions(const fp64_instance& with, std::int64_t k) {
  std::vector<fp64_division> all{{with.policy.slabs, 1, 1}};
  if (!with.policy.shares) return all;
  for (const auto& [cluster, parts] : {std::pair{2, 1}, {1, 3}, {4, 2}, {8, 1}})
    if (k > (cluster * parts - 1) * 32 * ((k + 32 * cluster * parts - 1) / (32 * cluster * parts)))
      all.push_back({with.policy.slabs, cluster, parts});
  return all;
}

TEST_P(gemm_fp64, every_kernel_divides_k_in_every_way) {
  const context where = any();
  unsigned seed = 1;
  ASSERT_FALSE(kernels().empty());
  for (const fp64_instance& with : kernels())
    for (const auto& [m, n, k] : {std::array{33, 9, 45},
                                  {131, 67, 291},
                                  {34, 24, 1040},
                                  {70, 5, 2},
                                  {67, 39, 29},
                                  {37, 70, 16},
                                  {1, 1, 7}}) {
      if (sanitized && k > 300) continue;
      const product p = [&, m = m, n = n, k = k] {
        product made = product_of(reals(m, k, seed, 9), reals(k, n, seed + 1, 5), seed % 4 == 3 ? -1.5f : 1,
                                  seed % 3 == 0 ? -0.75f : 0);
        made.place_a = placed_in_packets(seed % 2 ? major::row : major::column, made.a);
        made.place_b = placed_in_packets(seed / 2 % 2 ? major::row : major::column, made.b);
        if (seed % 5 < 3)
          made.place_c = placed_in_packets(seed % 5 == 0 ? major::column : major::row, made.c);
        return made;
      }();
      ++seed;
      for (const bool turned : {false, true}) {
        if (!can(where, p, with, turned)) continue;
        for (const fp64_division& how : divisions(with, k)) {
          SCOPED_TRACE(testing::Message()
                       << with.code.name << (turned ? " turned, " : ", ") << m << " x " << n << " x " << k
                       << ", cluster of " << how.cluster << ", " << how.parts << " parts");
          expect_kept(multiply(where, p, with, turned, how), p);
        }
      }
    }
}
TEST_P(gemm_fp64, layouts_alignments_and_gaps) {
  in_all_layouts({{37, 300, 11}, {260, 31, 70}, {5, 129, 200}, {64, 64, 33}}, varied_product,
                 [&](const product& p) { expect_kept(streamed(p), p); });
}
TEST_P(gemm_fp64, general_and_negative_strides) {
  const auto expect_right = [&](const product& p) { expect_kept(streamed(p), p); };
  product p = product_of_general_strides(9);
  expect_right(p);
  written_backwards(p, expect_right);
  p.place_a = {-12, 1}, p.place_b = {1, -12}, p.place_c = {-100, -2};
  expect_right(p);
}

// The division alone decides on the order of additions; kernels and layouts do not. The numbers cancel to
// roundings of FP64.
TEST_P(gemm_fp64, bits_follow_from_the_division_alone) {
  const context where = any();
  const auto nonzero = [](float x) { return x != 0; };
  const std::int64_t m = 70, n = 33;
  struct division {
    fp64_division how;
    bool direct = false;  // its slabs have fewer k
    std::int64_t k = 260;
  };
  for (const auto& [how, direct, k] : {division{{1, 1, 1}},
                                       {{1, 1, 1}, false, 100},
                                       {{8, 1, 1}},
                                       {{8, 1, 1}, true},
                                       {{4, 2, 1}},
                                       {{8, 1, 3}},
                                       {{4, 2, 2}}}) {
    product p = product_of_halves_that_cancel(m, n, k);
    std::vector<dense> results;
    std::set<gemms::kernel_kind> kinds;
    for (const fp64_instance& with : kernels()) {
      if ((with.policy.kind == gemms::kernel_kind::block_tile) != direct) continue;
      if (with.policy.slabs != how.slabs || (how.cluster * how.parts > 1 && !with.policy.shares)) continue;
      for (const major by_a : {major::row, major::column})
        for (const auto& [by_b, floats] : {std::pair{major::row, 4},
                                           {major::row, 2},
                                           {major::column, 4},
                                           {major::column, 2},
                                           {major::column, 1}}) {
          p.place_a = placed_at_multiples(by_a, p.a, floats);
          p.place_b = placed_at_multiples(by_b, p.b, floats);
          if (!can(where, p, with, false)) continue;
          kinds.insert(with.policy.kind);
          results.push_back(multiply(where, p, with, false, how));
          results.push_back(multiply(where, p, with, true, how));
          EXPECT_TRUE(same_bits(results.back(), results.front())) << with.code.name;
          EXPECT_TRUE(same_bits(results[results.size() - 2], results.front())) << with.code.name << " turned";
        }
    }
    ASSERT_GT(results.size(), 2u);
    EXPECT_EQ(kinds.count(gemms::kernel_kind::warp_tile),
              how == fp64_division{} && k <= gemms::most_warp_tile_k ? 1u : 0u);
    EXPECT_TRUE(std::ranges::any_of(results.front().value, nonzero)) << "nothing is left that could differ";
  }
}

// Two products that all but cancel, in one part of K or in two: FP64 loses nothing, FP32 would. The lines are
// rows of A, then columns of B.
TEST_P(gemm_fp64, lines_of_two_nonzeros_are_exact) {
  const context where = any();
  for (const std::int64_t k : {3, 13, 100, 300}) {
    const std::int64_t m = 75, n = 45;
    product p = product_of_two_nonzeros(m, n, k);
    p.a(7, 0) = infinity;  // such a line gives what IEEE says
    product turned = product_of(transposed(p.b), transposed(p.a));
    const auto expect_exact = [&](const dense& c, bool across) {
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          ASSERT_EQ(across ? c(j, i) : c(i, j), i == 7 ? infinity : sum_of_two_nonzeros(p, i, j))
              << i << ", " << j << (across ? ", in columns of B" : "");
    };
    for (const fp64_instance& with : kernels())
      for (const fp64_division& how : divisions(with, k)) {
        if (!can(where, p, with, false)) continue;
        SCOPED_TRACE(testing::Message() << with.code.name << ", K = " << k << ", cluster of " << how.cluster
                                        << ", " << how.parts << " parts");
        p.place_a = placed_in_packets(major::row, p.a), p.place_b = placed_in_packets(major::row, p.b);
        turned.place_a = placed_in_packets(major::row, turned.a),
        turned.place_b = placed_in_packets(major::row, turned.b);
        expect_exact(multiply(where, p, with, false, how), false);
        expect_exact(multiply(where, turned, with, false, how), true);
      }
  }
}
// A tile per warp: operands and C that begin anywhere, with gaps, in all layouts, tiles with and without
// edges, ends of K.
TEST_P(gemm_fp64, alone_wherever_matrices_begin) {
  const context where = any();
  unsigned seed = 71;
  int run = 0;
  for (const fp64_instance& with : kernels()) {
    if (with.policy.kind != gemms::kernel_kind::warp_tile || with.policy.finishes) continue;
    for (const auto& [m, n, k] : {std::array{67, 131, 36},
                                  {64, 128, 48},
                                  {33, 66, 128},
                                  {130, 3, 9},
                                  {2, 70, 17},
                                  {65, 64, 1},
                                  {44, 84, 21}})
      for (const major by_a : {major::row, major::column})
        for (const major by_b : {major::row, major::column})
          for (const int floats : {4, 2, 1}) {
            product p =
                product_of(reals(m, k, seed, 9), reals(k, n, seed + 1, 5), -1.5f, seed % 3 == 0 ? -0.75f : 0);
            ++seed;
            p.place_a = placed_at_multiples(by_a, p.a, floats),
            p.place_b = placed_at_multiples(by_b, p.b, seed % 2 == 0 ? floats : 4);
            p.place_c = placed_at_multiples(seed % 5 == 0 ? major::column : major::row, p.c,
                                            seed % 4 == 0 ? 1 : floats);
            for (const bool turned : {false, true}) {
              ASSERT_TRUE(can(where, p, with, turned));
              ++run;
              SCOPED_TRACE(testing::Message()
                           << with.code.name << (turned ? " turned, " : ", ") << m << " x " << n << " x " << k
                           << ", A by " << (by_a == major::row ? "rows" : "columns") << ", B by "
                           << (by_b == major::row ? "rows" : "columns") << ", " << floats << " floats");
              expect_kept(multiply(where, p, with, turned, {1, 1, 1}), p);
            }
          }
  }
  EXPECT_EQ(run, 2 * 7 * 12 * 2);
}
// General strides, where no elements are adjacent, are left to a ring, whose bits are the same.
TEST_P(gemm_fp64, alone_leaves_general_strides_to_a_ring) {
  const context where = any();
  product p = product_of_general_strides(9);
  for (const fp64_instance& with : kernels()) {
    if (with.policy.kind != gemms::kernel_kind::warp_tile) continue;
    EXPECT_FALSE(can(where, p, with, false)) << with.code.name;
  }
  for (const gemms::fp64_form& f : gemms::fp64_forms()) {
    if (f.kind != gemms::kernel_kind::warp_tile) continue;
    matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
    const gemm_problem what{.a = a.view(), .b = b.view(), .c = c.view(), .alpha = p.alpha, .beta = p.beta};
    const auto plan = gemms::plan_fp64(where, what, {}, {}, {.form = &f, .division = {1, 1, 1}});
    ASSERT_TRUE(plan.has_value());
    EXPECT_EQ(plan->instance->policy.loader, gemms::loader::cp_async);
    EXPECT_EQ(plan->division, (fp64_division{1, 1, 1}));
    gemms::run(where, *plan, {}, nullptr);
    where.runs_on().synchronize(nullptr);
    expect_kept(c.read(), p);
  }
}
// Where an operand stays in registers: every sum of up to 32 products, edges in both directions, walks of
// several lengths. Kernels without edges get only what they can run.
TEST_P(gemm_fp64, kept_operands_for_every_k) {
  const context where = any();
  unsigned seed = 31;
  for (const fp64_instance& with : kernels()) {
    if (with.policy.kind != gemms::kernel_kind::kept_lines) continue;
    const bool whole = with.policy.whole;
    const std::int64_t most = gemms::most_kept_k(with.policy), m = whole ? 64 : 45, n = whole ? 96 : 71;
    int run = 0;
    const auto of_any = std::ranges::find_if(kernels(), [&](const fp64_instance& i) {
      return i.policy.kind == with.policy.kind && i.policy.held == with.policy.held && !i.policy.whole &&
             !i.policy.finishes;
    });
    ASSERT_NE(of_any, kernels().end());
    for (std::int64_t k = whole ? most - 11 : 1; k <= most; k += sanitized && !whole ? 5 : 1)
      for (const major by_c : {major::row, major::column}) {
        product p = product_of(reals(m, whole ? most : k, seed, 9), reals(whole ? most : k, n, seed + 1, 5),
                               -1.5f, seed % 3 == 0 ? -0.75f : 0);
        ++seed;
        for (std::int64_t i = 0; whole && i < m; i += 7)
          for (std::int64_t at = 3; at < most; ++at) p.a(i, at) = 0;
        p.place_a = placed_in_packets(seed % 2 ? major::row : major::column, p.a);
        p.place_b = seed / 2 % 2 ? placed_in_packets(major::row, p.b)
                                 : placed(major::column, p.b, seed % 3, static_cast<int>(seed % 4));
        p.place_c = seed % 3 == 0 ? placed(by_c, p.c, 1, 1) : placed_in_packets(by_c, p.c);
        for (const bool turned : {false, true}) {
          if (whole && !can(where, p, with, turned)) continue;
          ++run;
          SCOPED_TRACE(testing::Message() << with.code.name << (turned ? " turned" : "") << ", K = " << k);
          const dense once = multiply(where, p, with, turned, {1, 1, 1}, 1);
          expect_kept(once, p);
          EXPECT_TRUE(same_bits(multiply(where, p, with, turned, {1, 1, 1}, 2), once));
          EXPECT_TRUE(same_bits(multiply(where, p, with, turned, {1, 1, 1}, 8), once));
          EXPECT_TRUE(same_bits(multiply(where, p, *of_any, turned, {1, 1, 1}, 1), once));
        }
      }
    EXPECT_GE(run, 8) << with.code.name;
  }
}
TEST_P(gemm_fp64, infinities_and_nan_follow_ieee) {
  const product p = product_with_infinities(40);
  expect_kept(streamed(p), p);
}
TEST_P(gemm_fp64, ends_of_the_range) {
  at_the_ends_of_the_range(130, [&](const product& p) { expect_kept(streamed(p), p); });
}
// Sums of parts stay in FP64: each of them may be larger than any FP32 number, or so small that FP32 would
// round it away.
TEST_P(gemm_fp64, partial_sums_are_not_rounded) {
  const context where = any();
  const std::int64_t k = 1024;
  for (const float size : {0x1p120f, 0x1p-80f}) {
    product p = product_of(made(40, k, [&](auto, auto at) { return at < k / 2 ? size : -size; }),
                           made(k, 24, [&](auto at, auto) {
                             return at == k - 1 ? size * 0x1.8p-7f : size > 1 ? 0x1p7f : size;
                           }));
    p.place_a = placed_in_packets(major::row, p.a), p.place_b = placed_in_packets(major::row, p.b);
    for (const fp64_instance& with : kernels())
      for (const fp64_division& how : divisions(with, k)) {
        if (!can(where, p, with, false)) continue;
        SCOPED_TRACE(testing::Message() << with.code.name << ", " << size << ", cluster of " << how.cluster
                                        << ", " << how.parts << " parts");
        expect_kept(multiply(where, p, with, false, how), p);
      }
  }
}
TEST_P(gemm_fp64, beta_of_0_leaves_c_unread) {
  for (const float beta : {0.f, -0.f})
    for (const std::int64_t n : {45, 64}) {
      product p = product_of(reals(131, 70, 5), reals(70, n, 6), 1, beta);
      p.c = filled(131, n, nan);
      expect_kept(streamed(p), p);
    }
}

TEST_P(gemm_fp64, every_schedule_gives_the_same_bits) {
  const auto of = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    product p = product_of(reals(m, k, 1, 60), reals(k, n, 2, 60), 1, 1);
    for (std::int64_t i = 0; i < m; i += 7)
      for (std::int64_t at = 3; at < k; ++at) p.a(i, at) = 0;
    p.place_a = placed_in_packets(major::row, p.a), p.place_b = placed_in_packets(major::row, p.b);
    return p;
  };
  const context where = any();
  for (const fp64_instance& with : kernels()) {
    // Kernels without edges read whole tiles.
    const product p = with.policy.whole ? of(64, 96, gemms::most_kept_k(with.policy)) : of(70, 37, 330);
    const fp64_division how{with.policy.slabs, with.policy.shares ? 2 : 1, with.policy.shares ? 2 : 1};
    const dense first = multiply(where, p, with, false, how);
    for (const context& there : several())
      EXPECT_TRUE(same_bits(multiply(there, p, with, false, how), first)) << with.code.name;
  }
}

AP_ON_BOTH_DEVICES(gemm_fp64);

// For each form there is a kernel that takes operands of any layout, or one with the same sums that does.
TEST(gemm_fp64_forms, each_has_kernels) {
  const context where = context::on("cpu");
  for (const gemms::fp64_form& f : gemms::fp64_forms()) {
    // A ring's copying warps take what neither TMA nor lanes of the form do.
    const bool takes_all =
        f.kind == gemms::kernel_kind::block_tile || f.kind == gemms::kernel_kind::warp_tile;
    const gemms::kernel_kind kind = takes_all ? f.kind : gemms::kernel_kind::ring;
    bool by_threads = false;
    for (const fp64_instance& i : gemms::fp64_instances(where.kind()))
      by_threads |= i.policy.slabs == f.slabs && i.policy.shares == f.shares && i.policy.tile.n >= f.tile.n &&
                    i.policy.kind == kind && i.policy.loader != gemms::loader::tma;
    EXPECT_TRUE(by_threads) << f.tile.m << " x " << f.tile.n << ", " << f.slabs << " slabs";
  }
}
// Densely packed, C by rows.
gemm_problem laid_out(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& layout) {
  float* const data = reinterpret_cast<float*>(std::uintptr_t{1} << 40);
  return {.a = layout[0] == 'n' ? row_major<const float>(data, m, k) : column_major<const float>(data, m, k),
          .b = layout[1] == 'n' ? row_major<const float>(data, k, n) : column_major<const float>(data, k, n),
          .c = row_major(data, m, n)};
}
// Predictions rest on the mean over layouts: it agrees with what TMA refuses in each of them.
TEST(gemm_fp64_forms, the_mean_layout_is_that_of_four) {
  for (const std::int64_t m : {1, 4, 6, 32, 33, 4000})
    for (const std::int64_t n : {1, 4, 7, 64, 130})
      for (const std::int64_t k : {8, 9, 100, 1026}) {
        double a = 0, b = 0, either = 0, brief = 0;
        for (const char* const layout : {"nn", "nt", "tn", "tt"}) {
          const gemm_problem p = gemms::without_idle_strides(laid_out(m, n, k, layout));
          const auto [of_a, of_b] = gemms::operands_of(p, {}, false);
          const bool a_refused = !gemms::tma_takes(of_a, k), b_refused = !gemms::tma_takes(of_b, k);
          const gemms::line_operand& shorter = m < n ? of_a : of_b;
          a += a_refused / 4., b += b_refused / 4., either += (a_refused || b_refused) / 4.;
          brief += (shorter.lines == 4 && !shorter.along_k && !a_refused && !b_refused) / 4.;
        }
        const gemms::mean_layout is = gemms::mean_layout_of(m, n, k);
        SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
        EXPECT_EQ(is.a_uneven, a);
        EXPECT_EQ(is.b_uneven, b);
        EXPECT_EQ(is.either_uneven, either);
        EXPECT_EQ(is.brief, brief);
      }
}
// Four lines across k are rows of 16 bytes, which are slow with TMA: if there are many, warps copy them.
TEST(gemm_fp64_forms, copiers_bring_many_rows_of_16_bytes) {
  const context where(make_cpu_executor({.limits = published_device("9.0")}));
  const auto by = [&](std::int64_t m, std::int64_t n, std::int64_t k, const char* layout,
                      std::int64_t count = 1) {
    const gemm_problem p = laid_out(m, n, k, layout);
    const gemms::batch of{.count = count, .a_stride = m * k, .b_stride = k * n, .c_stride = m * n};
    const auto plan = gemms::plan_fp64(where, p, of, {}, gemms::divide(where, p, of));
    EXPECT_TRUE(plan.has_value());
    return plan->instance->policy.loader;
  };
  using gemms::loader;
  EXPECT_EQ(by(65536, 4, 1024, "nn"), loader::cp_async);
  EXPECT_EQ(by(4, 65536, 1024, "tn"), loader::cp_async);
  EXPECT_EQ(by(640, 4, 8192, "nn", 20), loader::cp_async);
  EXPECT_EQ(by(64, 4, 16384, "nn"), loader::tma) << "few rows";
  EXPECT_EQ(by(65536, 4, 1024, "nt"), loader::tma) << "along k";
  EXPECT_EQ(by(4, 65536, 1024, "nn"), loader::tma) << "along k";
  EXPECT_EQ(by(65536, 8, 1024, "nn"), loader::tma) << "rows of 32 bytes";
}
// The workspace that is offered is enough for whatever plan a shape gets, and never shrinks.
TEST(gemm_fp64_forms, workspace_is_enough_and_grows) {
  const device_limits device = published_device("9.0");
  const context where(make_cpu_executor({.limits = device}));
  int divided = 0;
  for (const std::int64_t m : {1, 8, 31, 64, 65, 260, 3000, 100'000})
    for (const std::int64_t n : {1, 16, 33, 64, 300, 5000})
      for (const std::int64_t k : {1, 63, 128, 700, 4096, 70'000, 1'000'000}) {
        float* const data = reinterpret_cast<float*>(std::uintptr_t{1} << 40);
        const gemm_problem p{.a = row_major<const float>(data, m, k),
                             .b = row_major<const float>(data, k, n),
                             .c = row_major(data, m, n)};
        const auto plan = gemms::plan_fp64(where, p, {}, {}, gemms::divide(where, p));
        ASSERT_TRUE(plan.has_value());
        divided += plan->workspace() > 0;
        const std::size_t most = gemms::most_fp64_workspace(m, n, k, 1);
        EXPECT_LE(plan->workspace(), most) << m << " x " << n << " x " << k;
        EXPECT_LE(most, gemms::most_fp64_workspace(m + 1, n, k, 1));
        EXPECT_LE(most, gemms::most_fp64_workspace(m, n + 1, k, 1));
        EXPECT_LE(most, gemms::most_fp64_workspace(m, n, k + 1, 1));
        const auto of_batch = gemms::plan_fp64(where, p, {9}, {}, gemms::divide(where, p, {9}));
        EXPECT_LE(of_batch->workspace(), gemms::most_fp64_workspace(m, n, k, 9));
        EXPECT_LE(most, gemms::most_fp64_workspace(m, n, k, 9));
      }
  EXPECT_GT(divided, 10);
}

// 352 x 32 tiles of 16 x 32, as of 5620 x 1007, are 5.3 for each of 2112 places: of walks over five, 160
// would begin when all others have ended.
TEST(stream_walks, end_together) {
  EXPECT_EQ(gemms::kept_rounds(352, 32, 2112), 6);
  for (const std::int64_t down : {1, 2, 45, 352, 1000, 65'536})
    for (const std::int64_t columns : {1, 3, 32, 4096})
      for (const std::int64_t places : {1, 1584, 2112}) {
        const std::int64_t rounds = gemms::kept_rounds(down, columns, places);
        SCOPED_TRACE(testing::Message()
                     << down << " x " << columns << " tiles, " << places << " places: " << rounds);
        ASSERT_GE(rounds, 1);
        // Shorter walks that need no more waves would end sooner, and so would longer ones if a wave less
        // outweighed their length.
        const auto waves = [&](std::int64_t r) { return ceil_div(ceil_div(down, r) * columns, places); };
        for (std::int64_t r = 1; r <= 16; ++r) {
          if (r < rounds) {
            EXPECT_GT(waves(r), waves(rounds)) << r;
          }
          EXPECT_GE(waves(r) * (r + 1), waves(rounds) * (rounds + 1)) << r;
        }
        if (down * columns <= places) {
          EXPECT_EQ(rounds, 1);
        }
      }
}

}  // namespace
}  // namespace antiphase::gemm_test
