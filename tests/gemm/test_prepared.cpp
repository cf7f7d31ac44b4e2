// SPDX-License-Identifier: Apache-2.0
// Prepared operands: the same bits as without, by every policy; launches and workspace that they save; and
// invalid requests.
#include <antiphase/gemm/policies.hpp>
#include <antiphase/prepared.hpp>
#include <cstring>
#include <optional>
#include <utility>

#include "tests/executor/elsewhere.hpp"
#include "tests/gemm/contract.hpp"

namespace antiphase::gemm_test {
namespace {

using testing::HasSubstr;
using enum gemm_operand;

// Records the names of kernels that are launched.
class listening : public forwarding_executor {
 public:
  using forwarding_executor::forwarding_executor;
  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream on) const override {
    heard.emplace_back(k.name);
    return forwarding_executor::launch(k, grid, params, on);
  }
  bool shares_memory_with(const executor&) const override { return true; }
  mutable std::vector<std::string> heard;
};

// Some outputs without a certificate, sparse lines, infinities.
product product_of_all_kinds(std::int64_t m, std::int64_t n, std::int64_t k, unsigned seed = 1) {
  product p = product_of(reals(m, k, seed, 5), reals(k, n, seed + 1, 5), seed % 2 ? 1 : -1.5f,
                         seed % 3 == 0 ? 0.5f : 0);
  for (std::int64_t i = 0; i < m; i += 7)
    for (std::int64_t l = 0; l < k; ++l) p.a(i, l) = std::ldexp(p.a(i, l), -static_cast<int>(l % 50));
  for (std::int64_t j = 0; j < n; j += 9)
    for (std::int64_t l = 0; l < k; ++l) p.b(l, j) = std::ldexp(p.b(l, j), -static_cast<int>((k - l) % 50));
  for (std::int64_t l = 0; l < k; ++l) {
    if (m > 3) p.a(3, l) = l % (k / 3 + 1) == 0 ? p.a(3, l) : 0;
    if (n > 2) p.b(l, 2) = l % (k / 2 + 1) == 0 ? p.b(l, 2) : 0;
  }
  if (m > 5 && n > 5) p.a(5, k / 2) = infinity, p.b(k - 1, 4) = nan;
  return p;
}

struct which {
  bool a, b;
};
constexpr which either[] = {{false, true}, {true, false}, {true, true}};

class gemm_prepared : public on_device {
 protected:
  // C with the operands of `side` prepared.
  static dense computed_prepared(const context& where, std::string_view policy, const product& p, which side,
                                 bool own_workspace = false) {
    matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
    const gemm_problem what{.a = a.view(), .b = b.view(), .c = c.view(), .alpha = p.alpha, .beta = p.beta};
    std::optional<prepared_operand> of_a, of_b;
    if (side.a) of_a = prepare(where, gemm_operand::a, what.a);
    if (side.b) of_b = prepare(where, gemm_operand::b, what.b);
    gemm_options how{.policy = policy};
    how.prepared_a = of_a ? &*of_a : nullptr;
    how.prepared_b = of_b ? &*of_b : nullptr;
    std::optional<device_array<std::byte>> workspace;
    if (own_workspace) {
      const std::size_t bytes = explain(where, what, how).workspace;
      how.workspace = {workspace.emplace(where, bytes).data(), bytes};
    }
    gemm(where, what, how);
    where.runs_on().synchronize(nullptr);
    EXPECT_TRUE(same_bits(a.read(), p.a) && same_bits(b.read(), p.b)) << "an operand was changed";
    return c.read();
  }
  static dense computed_plainly(const context& where, std::string_view policy, const product& p) {
    matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
    gemm(where, {.a = a.view(), .b = b.view(), .c = c.view(), .alpha = p.alpha, .beta = p.beta},
         {.policy = policy});
    where.runs_on().synchronize(nullptr);
    return c.read();
  }
  bool runs(std::string_view policy) const {
    return !lacks(any().limits(), gemms::find_policy(policy)->needs).has_value();
  }
};

TEST_P(gemm_prepared, the_bits_are_those_of_the_same_policy_without) {
  const context where = any();
  for (const char* const policy : {"fp16", "fp16-mma"}) {
    if (!runs(policy)) continue;
    in_all_layouts({{37, 131, 65}, {131, 37, 130}, {1, 5, 17}, {150, 140, 33}}, product_of_all_kinds,
                   [&](const product& p) {
                     const dense right = computed_plainly(where, policy, p);
                     for (const which side : either)
                       EXPECT_TRUE(same_bits(computed_prepared(where, policy, p, side, true), right))
                           << policy << (side.a ? ", A" : "") << (side.b ? ", B" : "");
                   });
  }
}
// K is taken in pieces, each of which has parts of its own.
TEST_P(gemm_prepared, of_long_k) {
  const context where = any();
  if (!runs("fp16") || sanitized) GTEST_SKIP() << where.limits().name << " has no wgmma, or is slow";
  product p = product_of(reals(3, k_of_a_piece + 77, 1), reals(k_of_a_piece + 77, 5, 2), 1, 0.5f);
  p.place_a = placed_in_packets(major::row, p.a);
  if (!is_cuda()) {  // each product takes seconds
    const dense is = computed_prepared(where, "fp16", p, {true, true});
    AP_EXPECT_KEPT(is, p);
    return;
  }
  for (const which side : either)
    EXPECT_TRUE(same_bits(computed_prepared(where, "fp16", p, side), computed_plainly(where, "fp16", p)));
}
TEST_P(gemm_prepared, general_strides) {
  const context where = any();
  if (!runs("fp16")) GTEST_SKIP() << where.limits().name << " has no wgmma";
  const product p = product_of_general_strides(90);
  for (const which side : either)
    EXPECT_TRUE(same_bits(computed_prepared(where, "fp16", p, side), computed_plainly(where, "fp16", p)));
}
// Policies that do not use prepared parts read the operand itself.
TEST_P(gemm_prepared, any_policy_takes_it) {
  const context where = any();
  for (const auto& [policy, k] : {std::pair{"auto", 100},
                                  {"fp64", 100},
                                  {"fp64-dots", 100},
                                  {"tf32", 100},
                                  {"fp64-short", 4},
                                  {"strict", 100},
                                  {"naive", 100}}) {
    product p = product_of(reals(8, k, 1), reals(k, 44, 2), 1, 0.5f);
    p.place_a = placed_in_packets(major::row, p.a), p.place_b = placed_in_packets(major::row, p.b);
    if (policy != std::string_view("auto") && !runs(policy)) continue;
    for (const which side : either) {
      const dense is = computed_prepared(where, policy, p, side);
      const judged j = judge(is, p);
      EXPECT_LE(j.worst, 1) << policy << " at C(" << j.row << ", " << j.column << ")";
      if (policy != std::string_view("auto")) {
        EXPECT_TRUE(same_bits(is, computed_plainly(where, policy, p))) << policy;
      }
    }
  }
}
// Only the lines matter, not the side: weights W serve X W and (X W)^T, and one prepared operand can serve
// both sides.
TEST_P(gemm_prepared, the_same_lines_on_the_other_side) {
  const context where = any();
  if (!runs("fp16")) GTEST_SKIP() << where.limits().name << " has no wgmma";
  const product p = product_of(reals(45, 70, 1), reals(70, 139, 2));
  matrix x(where, p.a, placed(major::row, p.a, 1)), w(where, p.b, placed(major::row, p.b, 3)),
      c(where, p.c, p.place_c);
  const prepared_operand weights = prepare(where, b, w.view());
  gemm_options how{.policy = "fp16"};
  how.prepared_a = &weights;
  gemm(where, {.a = transposed(weights.view()), .b = transposed(x.view()), .c = transposed(c.view())}, how);
  where.runs_on().synchronize(nullptr);
  EXPECT_TRUE(same_bits(c.read(), computed_plainly(where, "fp16", p)));

  const dense square = reals(131, 70, 3), none = filled(131, 131, 7);
  matrix s(where, square, placed(major::column, square, 2)), gram(where, none, placed(major::row, none, 1));
  const auto on = std::make_shared<listening>(make_cpu_executor());
  const prepared_operand rows = prepare(where, a, s.view());
  gemm_options both{.policy = "fp16"};
  both.prepared_a = &rows;
  const context there = is_cuda() ? where : context(on);
  gemm(there, {.a = s.view(), .b = transposed(s.view()), .c = gram.view()}, both);
  where.runs_on().synchronize(nullptr);
  const product squared = product_of(square, transposed(square));
  EXPECT_TRUE(same_bits(gram.read(), computed_plainly(where, "fp16", squared)));
  if (!is_cuda()) {
    EXPECT_EQ(on->heard.size(), 1u) << testing::PrintToString(on->heard);
  }
}
// Launches and workspace: the split pass handles only the other operand, or is left out.
TEST_P(gemm_prepared, what_it_saves) {
  if (is_cuda()) GTEST_SKIP() << "launches are counted on the CPU executor";
  const auto on = std::make_shared<listening>(make_cpu_executor());
  const context where(on);
  const product p = product_of(reals(131, 70, 1), reals(70, 45, 2));
  matrix a(where, p.a, placed_in_packets(major::row, p.a)), b(where, p.b, p.place_b),
      c(where, p.c, p.place_c);
  const gemm_problem what{.a = a.view(), .b = b.view(), .c = c.view()};
  const prepared_operand of_a = prepare(where, gemm_operand::a, what.a),
                         of_b = prepare(where, gemm_operand::b, what.b);
  ASSERT_EQ(on->heard.size(), 2u);
  const auto told = [&](const char* policy, const prepared_operand* x, const prepared_operand* y) {
    gemm_options how{.policy = policy};
    how.prepared_a = x, how.prepared_b = y;
    on->heard.clear();
    gemm(where, what, how);
    return std::pair(on->heard.size(), explain(where, what, how));
  };
  const auto [launches, plain] = told("fp16", nullptr, nullptr);
  const auto [with_a, after_a] = told("fp16", &of_a, nullptr);
  const auto [with_b, after_b] = told("fp16", nullptr, &of_b);
  const auto [with_both, after_both] = told("fp16", &of_a, &of_b);
  EXPECT_EQ((std::vector<std::size_t>{launches, with_a, with_b, with_both}),
            (std::vector<std::size_t>{2, 2, 2, 1}));
  EXPECT_EQ(plain.workspace - after_a.workspace, of_a.memory().size());
  EXPECT_EQ(plain.workspace - after_b.workspace, of_b.memory().size());
  EXPECT_EQ(plain.workspace - after_both.workspace, of_a.memory().size() + of_b.memory().size());
  EXPECT_GT(plain.predicted, after_b.predicted);
  EXPECT_GT(after_b.predicted, after_both.predicted);
  EXPECT_THAT(plain.why, testing::Not(testing::Contains(HasSubstr("prepared"))));
  EXPECT_THAT(after_b.why, testing::Contains("B is prepared, so the split pass leaves it out"));
  EXPECT_THAT(after_both.why, testing::Contains("A and B are prepared, so the split pass leaves them out"));
  const auto [streamed, after_stream] = told("fp64", &of_a, &of_b);
  EXPECT_EQ(streamed, 1u);
  EXPECT_THAT(after_stream.why,
              testing::Contains("policy fp64 has no use for what was prepared: it reads the operand"));
}
TEST_P(gemm_prepared, memory_of_the_caller) {
  const context where = any();
  const dense values = reals(70, 131, 4);
  matrix m(where, values, placed(major::row, values, 2));
  const std::size_t bytes = prepared_size(where, b, m.view());
  ASSERT_GT(bytes, 4u * 70 * 131);
  ASSERT_LT(bytes, 4u * 80 * 131 + 100 * 131);
  std::vector<std::byte> before(bytes + 512);
  for (std::size_t i = 0; i < before.size(); ++i) before[i] = static_cast<std::byte>(i * 37 + 11);
  device_array<std::byte> memory(where, before);
  const prepared_operand kept = prepare(where, b, m.view(), {.memory = {memory.data() + 256, bytes + 3}});
  EXPECT_EQ(kept.memory().data(), memory.data() + 256);
  EXPECT_EQ(kept.memory().size(), bytes);
  where.runs_on().synchronize(nullptr);
  const std::vector<std::byte> after = memory.to_host();
  EXPECT_EQ(std::memcmp(after.data(), before.data(), 256), 0);
  EXPECT_EQ(std::memcmp(after.data() + 256 + bytes, before.data() + 256 + bytes, 256), 0);
  EXPECT_NE(std::memcmp(after.data() + 256, before.data() + 256, bytes), 0);
}
TEST_P(gemm_prepared, size_never_shrinks) {
  const context where = any();
  const auto size = [&](gemm_operand which, std::int64_t rows, std::int64_t columns) {
    return prepared_size(where, which, {nullptr, rows, columns, columns, 1});
  };
  for (const std::int64_t k : {1, 15, 16, 17, 4096, 65535, 65536, 65537, 131072, 200000})
    for (const std::int64_t lines : {1, 127, 128, 129, 5000}) {
      EXPECT_LE(size(a, lines, k), size(a, lines + 1, k));
      EXPECT_LE(size(a, lines, k), size(a, lines, k + 1)) << lines << " of " << k;
      EXPECT_EQ(size(a, lines, k), size(b, k, lines));
    }
  EXPECT_EQ(size(a, 0, 5), 0u);
  EXPECT_EQ(size(b, 0, 5), 0u);
}
TEST_P(gemm_prepared, split_once_more_after_a_change) {
  const context where = any();
  if (!runs("fp16")) GTEST_SKIP() << where.limits().name << " has no wgmma";
  product p = product_of(reals(45, 70, 1), reals(70, 131, 2));
  device_array<float> w(where, p.b.value);
  matrix x(where, p.a, p.place_a), c(where, p.c, p.place_c);
  const prepared_operand weights = prepare(where, b, row_major(std::as_const(w).data(), 70, 131));
  p.b = reals(70, 131, 77, 9);
  w.copy_from(p.b.value);
  weights.renew(nullptr);
  gemm_options how{.policy = "fp16"};
  how.prepared_b = &weights;
  gemm(where, {.a = x.view(), .b = weights.view(), .c = c.view()}, how);
  where.runs_on().synchronize(nullptr);
  EXPECT_TRUE(same_bits(c.read(), computed_plainly(where, "fp16", p)));
}
TEST_P(gemm_prepared, batches_with_one_operand_for_all) {
  const context where = any();
  if (!runs("fp16")) GTEST_SKIP() << where.limits().name << " has no wgmma";
  const std::int64_t m = 20, n = 131, k = 45, count = 3;
  const dense all = reals(m * count, k, 1), w = reals(k, n, 2), none = filled(m * count, n, nan);
  matrix x(where, all, placed(major::row, all, 3)), weights(where, w, placed(major::column, w, 1)),
      c(where, none, placed(major::row, none, 5));
  const prepared_operand ready = prepare(where, b, weights.view());
  gemm_problem what{.a = x.view(), .b = weights.view(), .c = c.view()};
  what.a.rows = what.c.rows = m;
  gemm_options how{.policy = "fp16",
                   .batch = {count, m * what.a.row_stride, 0, m * what.c.row_stride},
                   .epilogue = {.scale = 2}};
  how.prepared_b = &ready;
  gemm(where, what, how);
  where.runs_on().synchronize(nullptr);
  product p = product_of(all, w);
  const dense right = computed_plainly(where, "fp16", p);
  EXPECT_TRUE(same(c.read(), made(m * count, n, [&](auto i, auto j) { return 2 * right(i, j); })));
}
TEST_P(gemm_prepared, with_nothing_to_multiply) {
  const context where = any();
  const dense c0 = reals(9, 15, 1);
  matrix c(where, c0, placed(major::row, c0, 1));
  std::vector<float> unread(200, nan);
  device_array<float> memory(where, unread);
  const matrix_view<const float> empty{nullptr, 9, 0, 0, 1}, none{nullptr, 0, 15, 15, 1};
  const prepared_operand of_empty = prepare(where, a, empty), of_none = prepare(where, b, none);
  EXPECT_TRUE(of_empty.memory().empty());
  gemm_options how;
  how.prepared_a = &of_empty, how.prepared_b = &of_none;
  gemm(where, {.a = empty, .b = none, .c = c.view(), .beta = 2}, how);
  const matrix_view<const float> x = row_major(std::as_const(memory).data(), 9, 8),
                                 y = row_major(std::as_const(memory).data() + 72, 8, 15);
  const prepared_operand of_x = prepare(where, a, x), of_y = prepare(where, b, y);
  how.prepared_a = &of_x, how.prepared_b = &of_y;
  gemm(where, {.a = x, .b = y, .c = c.view(), .alpha = 0, .beta = 2}, how);
  where.runs_on().synchronize(nullptr);
  EXPECT_TRUE(same(c.read(), made(9, 15, [&](auto i, auto j) { return 4 * c0(i, j); })));
}

TEST_P(gemm_prepared, what_makes_no_sense_is_refused) {
  const context where = any();
  device_array<float> memory(where, std::vector<float>(60032, 1.f));
  float* const at = memory.data();
  const matrix_view<const float> x = row_major<const float>(at, 8, 8),
                                 w = row_major<const float>(at + 100, 8, 8);
  const matrix_view<float> out = row_major(at + 200, 8, 8);
  const auto said = [&](auto call) -> std::string {
    try {
      call();
    } catch (const bad_request& e) {
      return e.what();
    }
    return "";
  };
  const auto of_gemm = [&](const gemm_problem& p, const prepared_operand* of_a, const prepared_operand* of_b,
                           gemm_options how = {}) {
    how.prepared_a = of_a, how.prepared_b = of_b;
    return said([&] { gemm(where, p, how); });
  };
  const prepared_operand ready = prepare(where, b, w);
  EXPECT_EQ(of_gemm({.a = x, .b = w, .c = out}, nullptr, &ready), "");
  EXPECT_EQ(of_gemm({.a = x, .b = w, .c = out}, &ready, nullptr).substr(0, 33),
            "the prepared A is 8 x 8 with stri");
  EXPECT_THAT(of_gemm({.a = w, .b = x, .c = out}, &ready, nullptr),
              HasSubstr("A was prepared as B, and is used as A"));
  const matrix_view<const float> longer = row_major<const float>(at + 100, 9, 8),
                                 wide = row_major<const float>(at, 8, 9);
  EXPECT_THAT(of_gemm({.a = wide, .b = longer, .c = out}, nullptr, &ready),
              HasSubstr("the prepared B was made of B for K = 8, the problem has K = 9: they must agree"));
  const matrix_view<const float> shifted = row_major<const float>(at + 101, 8, 8),
                                 apart = row_major<const float>(at + 100, 8, 8, 9);
  for (const auto& other : {shifted, apart, matrix_view<const float>(transposed(w))})
    EXPECT_THAT(of_gemm({.a = x, .b = other, .c = out}, nullptr, &ready),
                testing::AllOf(HasSubstr("the prepared B is 8 x 8 with strides 8 and 1 at 0x"),
                               HasSubstr("expected the same view")));
  matrix_view<const float> few = w;
  few.columns = 7;
  EXPECT_THAT(of_gemm({.a = x, .b = few, .c = {out.data, 8, 7, 8, 1}}, nullptr, &ready),
              HasSubstr("the problem's is 8 x 7"));
  prepared_operand gone = ready;
  const prepared_operand taken = std::move(gone);
  EXPECT_TRUE(taken);
  EXPECT_THAT(of_gemm({.a = x, .b = w, .c = out}, nullptr, &gone),
              HasSubstr("the prepared B holds nothing, it was moved from"));  // NOLINT
  EXPECT_THAT(of_gemm({.a = x, .b = w, .c = out}, nullptr, &ready, {.batch = {2, 0, 8, 64}}),
              HasSubstr("B is prepared, and each member of the batch has its own B"));
  EXPECT_THAT(said([&] { prepare(where, static_cast<gemm_operand>(5), w); }),
              HasSubstr("the operand to prepare is 5"));
  EXPECT_THAT(said([&] { prepare(where, b, {nullptr, 8, 8, 8, 1}); }), HasSubstr("B is a null pointer"));
  EXPECT_THAT(said([&] { prepare(where, a, {at, -8, 8, 8, 1}); }), HasSubstr("A is -8 x 8"));

  // Memory.
  const std::size_t bytes = prepared_size(where, b, w);
  if (bytes == 0) GTEST_SKIP() << where.limits().name << " takes no parts";
  const auto bytes_at = [&](std::int64_t floats, std::size_t size) {
    return std::span(reinterpret_cast<std::byte*>(at + floats), size);
  };
  const auto in = [&](std::span<std::byte> given) {
    return said([&] { prepare(where, b, w, {.memory = given}); });
  };
  EXPECT_THAT(in(bytes_at(1024, bytes - 1)), HasSubstr("the memory to prepare B in has " +
                                                       std::to_string(bytes - 1) + " bytes: 8 x 8 takes"));
  EXPECT_THAT(in(bytes_at(1025, bytes)), HasSubstr("expected a multiple of 256"));
  EXPECT_THAT(in({static_cast<std::byte*>(nullptr), bytes}),
              HasSubstr("the memory to prepare B in is a null pointer"));
  EXPECT_THAT(in(bytes_at(64, bytes)), HasSubstr("overlaps B at 0x"));
  const prepared_operand inside = prepare(where, b, w, {.memory = bytes_at(1024, bytes)});
  EXPECT_THAT(of_gemm({.a = x, .b = w, .c = row_major(at + 1000, 8, 8)}, nullptr, &inside),
              testing::AllOf(HasSubstr("the memory of the prepared B at 0x"), HasSubstr("overlaps C at 0x")));
  EXPECT_THAT(of_gemm({.a = x, .b = w, .c = out}, nullptr, &inside,
                      {.policy = "fp16", .workspace = bytes_at(960, 200000)}),
              HasSubstr("overlaps the memory of the prepared B"));
  gemm_options counting{.policy = "fp16"};
  counting.recomputed = reinterpret_cast<std::uint64_t*>(at + 1026);
  EXPECT_THAT(of_gemm({.a = x, .b = w, .c = out}, nullptr, &inside, counting), HasSubstr("recomputed at 0x"));
}
TEST_P(gemm_prepared, elsewhere) {
  if (is_cuda()) GTEST_SKIP() << "another device is made up";
  const context here = any(), there(std::make_shared<test::stands_for_a_gpu>(9, 0));
  std::vector<float> memory(300, 1.f);
  const matrix_view<const float> x = row_major<const float>(memory.data(), 8, 8),
                                 w = row_major<const float>(memory.data() + 100, 8, 8);
  const prepared_operand ready = prepare(here, b, w);
  gemm_options how;
  how.prepared_b = &ready;
  // all memory is the host's
  EXPECT_NO_THROW(explain(any(), {.a = x, .b = w, .c = row_major(memory.data() + 200, 8, 8)}, how));
  try {
    explain(there, {.a = x, .b = w, .c = row_major(memory.data() + 200, 8, 8)}, how);
    ADD_FAILURE() << "not refused";
  } catch (const bad_request& e) {
    EXPECT_THAT(e.what(),
                testing::AllOf(HasSubstr("the prepared B lies on"), HasSubstr("expected the same device")));
  }
  const context old(std::make_shared<test::stands_for_a_gpu>(7, 5));
  EXPECT_EQ(prepared_size(old, b, w), 0u);
}

AP_ON_BOTH_DEVICES(gemm_prepared);

}  // namespace
}  // namespace antiphase::gemm_test
