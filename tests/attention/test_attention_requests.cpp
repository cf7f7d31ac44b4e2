// SPDX-License-Identifier: Apache-2.0
// What attention refuses, in which words; what it answers about itself.
#include <gmock/gmock.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/machine.hpp>
#include <array>
#include <memory>

#include "library/attention/fp16/gradients/short_gradients.hpp"
#include "library/attention/row_set.hpp"
#include "tests/attention/on_device.hpp"
#include "tests/attention/support.hpp"
#include "tests/executor/elsewhere.hpp"

namespace antiphase::attention_test {
namespace {

using attentions::overlap, attentions::row_set;

TEST(attention_rows, interleaved_sets_are_apart_and_shared_bytes_are_found) {
  // Q, K and V of one array [row][q, k, v][head][depth]: 5 heads of 64 bytes
  const auto of = [](std::uintptr_t address, std::int64_t count) {
    return row_set{address, {{{2, 100 * 960}, {5, 64}, {count, 960}}}, 64};
  };
  EXPECT_FALSE(overlap(of(4096, 100), of(4096 + 320, 100)));
  EXPECT_FALSE(overlap(of(4096, 100), of(4096 + 640, 100)));
  EXPECT_TRUE(overlap(of(4096, 100), of(4096 + 319, 100)));
  EXPECT_TRUE(overlap(of(4096, 100), of(4096, 100)));
  EXPECT_FALSE(overlap(of(4096, 0), of(4096, 100)));
  EXPECT_TRUE(rows_nest(of(0, 100)));
  EXPECT_FALSE(rows_nest(of(0, 101)));
  // members that lie anywhere: heads of padded members between those of others
  const row_set a{0, {{{3, 1000}, {2, 300}, {4, 50}}}, 20}, b{20, {{{3, 1000}, {2, 300}, {4, 50}}}, 30},
      c{21, {{{3, 1000}, {2, 300}, {4, 50}}}, 30};
  EXPECT_FALSE(overlap(a, b));
  EXPECT_TRUE(overlap(a, c));
  // far after: the 10 millionth row
  const row_set many{0, {{{10'000'000, 256}}}, 256},
      late{256 * std::uintptr_t{9'999'999}, {{{10, 256}}}, 256},
      behind{256 * std::uintptr_t{10'000'000}, {{{10, 256}}}, 256};
  EXPECT_TRUE(overlap(many, late));
  EXPECT_TRUE(overlap(late, many));
  EXPECT_FALSE(overlap(many, behind));
}

// At addresses that are not read.
template <class T> T* at(std::uintptr_t address) { return reinterpret_cast<T*>(address); }
attention_problem fine() {
  return {.q = packed_heads(at<const float>(1 << 20), 6, 100, 64),
          .k = packed_heads(at<const float>(2 << 20), 3, 90, 64),
          .v = packed_heads(at<const float>(3 << 20), 3, 90, 64),
          .out = packed_heads(at<float>(4 << 20), 6, 100, 64),
          .members = 2,
          .heads = 6,
          .kv_heads = 3,
          .queries = 100,
          .keys = 90,
          .depth = 64};
}
attention_gradients fine_gradients() {
  return {.out = packed_heads(at<const float>(5 << 20), 6, 100, 64),
          .q = packed_heads(at<float>(6 << 20), 6, 100, 64),
          .k = packed_heads(at<float>(7 << 20), 3, 90, 64),
          .v = packed_heads(at<float>(8 << 20), 3, 90, 64)};
}

template <class Error = bad_request> std::string refusal_of(const auto& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}
// Of a change of a call that is fine.
std::string refused(const auto& change, bool launches = false) {
  attention_problem p = fine();
  attention_options options;
  change(p, options);
  const context where = context::on("cpu");
  return refusal_of([&] {
    if (launches)
      attention(where, p, options);
    else
      explain(where, p, options);
  });
}
std::string refused_gradients(const auto& change, bool launches = false) {
  attention_problem p = fine();
  p.softmax = at<float>(9 << 20);
  attention_gradients g = fine_gradients();
  change(p, g);
  const context where = context::on("cpu");
  return refusal_of([&] {
    if (launches)
      attention_backward(where, p, g);
    else
      explain(where, p, g);
  });
}

// A tile of one row would have columns of any size next to each other, for which parts are not accurate
// enough.
TEST(attention_rows, tiles_of_short_gradients_are_even) {
  for (int rows = 1; rows <= 3000; ++rows) {
    const attentions::even_tiles tiles(rows);
    ASSERT_EQ(tiles.count, (rows + 63) / 64);
    ASSERT_EQ(tiles.first(0), 0);
    ASSERT_EQ(tiles.end(tiles.count - 1), rows);
    for (int t = 0; t < tiles.count; ++t) {
      const int first = tiles.first(t), end = tiles.end(t);
      ASSERT_TRUE(first % 2 == 0 && end - first <= 64 && (tiles.count == 1 || end - first >= 32))
          << rows << " rows, tile " << t << ": " << first << " to " << end;
      ASSERT_EQ(tiles.of(first), t) << rows;
      ASSERT_EQ(tiles.of(end - 1), t) << rows;
    }
    ASSERT_EQ(tiles.of(rows + 100), rows <= 64 ? (rows + 100) / 64 : tiles.count - 1);
  }
}

TEST(attention_requests, bad_arguments_are_named) {
  using problem = attention_problem;
  using options = attention_options;
  const auto of = [](auto change) { return refused([&](problem& p, options&) { change(p); }); };
  EXPECT_EQ(of([](problem&) {}), "accepted");
  EXPECT_EQ(of([](problem& p) { p.members = -1; }), "members is -1: expected 0 to 1073741823");
  EXPECT_EQ(of([](problem& p) { p.queries = std::int64_t{1} << 30; }),
            "queries is 1073741824: expected 0 to 1073741823");
  EXPECT_EQ(of([](problem& p) { p.depth = 257; }), "depth is 257: expected 1 to 256");
  EXPECT_EQ(of([](problem& p) { p.depth = 0; }), "depth is 0: expected 1 to 256");
  EXPECT_EQ(of([](problem& p) { p.kv_heads = 4; }),
            "kv_heads is 4: expected a divisor of heads, which is 6, or 0");
  EXPECT_EQ(of([](problem& p) { p.scale = std::nanf(""); }), "scale is nan: expected a finite number");
  EXPECT_EQ(of([](problem& p) { p.mask = static_cast<causal>(7); }),
            "mask is 7: expected causal::no, top_left or bottom_right");
  for (const std::int64_t stride : {std::int64_t{99}, std::int64_t{-1}, std::int64_t{1} << 60})
    EXPECT_EQ(of([&](problem& p) { p.logsumexp_stride = stride; }),
              "logsumexp_stride is " + std::to_string(stride) +
                  ": expected 0, or at least the 100 queries of a head, and less than 2^52 bytes in all");
  EXPECT_EQ(of([](problem& p) { p.q.data = nullptr; }), "q is a null pointer: expected 307200 bytes");
  EXPECT_EQ(of([](problem& p) { p.v.data = at<const float>(3 << 20 | 2); }),
            "v is at address 0x300002: expected a multiple of 4");
  EXPECT_EQ(of([](problem& p) { p.k.row_stride = -64; }),
            "k has a stride of -64 elements along an extent of 90: expected 0 or more, and less than 2^52 "
            "bytes in all");
  EXPECT_THAT(of([](problem& p) { p.k.head_stride = std::int64_t{1} << 60; }),
              testing::HasSubstr("k has a stride of 1152921504606846976 elements"));
  EXPECT_THAT(of([](problem& p) { p.out.row_stride = 63; }),
              testing::StartsWith("out has rows that overlap each other: expected strides of at least"));
  EXPECT_THAT(of([](problem& p) {
                p.bias = {at<const float>(10 << 20 | 1), 0, 0, 90, 1};
              }),
              testing::StartsWith("bias is at address 0xa00001"));
  EXPECT_EQ(of([](problem& p) { p.lengths.query_offsets = at<const std::int32_t>(16); }),
            "there are offsets of queries alone: expected those of queries and keys, or none");
  EXPECT_EQ(of([](problem& p) {
              p.lengths = {at<const std::int32_t>(16), at<const std::int32_t>(32), -1, 3};
            }),
            "query_rows is -1: expected 0 to 1073741823");
  EXPECT_EQ(of([](problem& p) {
              p.lengths = {at<const std::int32_t>(16), at<const std::int32_t>(32), 3, 181};
            }),
            "keys is 90: 2 packed members have 181 rows in all, expected the length of the longest");
  // strides of extents of 1 are not used, whatever they are
  EXPECT_EQ(of([](problem& p) {
              p.members = 1;
              p.q.member_stride = p.out.member_stride = -1;
            }),
            "accepted");
  // rows of inputs may be shared
  EXPECT_EQ(of([](problem& p) { p.k.member_stride = p.v.head_stride = 0; }), "accepted");
}

// Of packed members in memory that the host reads; beyond them there is nothing that may be read.
TEST(attention_requests, offsets_are_checked_before_a_launch) {
  const auto of = [](std::array<std::int32_t, 3> queries, std::array<std::int32_t, 3> keys) {
    return refused(
        [&](attention_problem& p, attention_options&) {
          p.out = packed_heads(at<float>(4 << 20), 6, 150, 64);
          p.lengths = {queries.data(), keys.data(), 150, 160};
        },
        true);
  };
  EXPECT_EQ(of({0, 90, 800000}, {0, 80, 160}),
            "the offsets of queries go from 0 to 800000: expected from 0 to 150");
  EXPECT_EQ(of({0, 75, 150}, {1, 80, 160}), "the offsets of keys go from 1 to 160: expected from 0 to 160");
  EXPECT_EQ(of({0, 75, 150}, {0, 170, 160}),
            "by the offsets of keys, member 0 has 170 of them: expected 0 to 90");
  EXPECT_EQ(of({0, 151, 150}, {0, 80, 160}),
            "by the offsets of queries, member 0 has 151 of them: expected 0 to 100");
  EXPECT_EQ(of({0, 40, 150}, {0, 80, 160}),
            "by the offsets of queries, member 1 has 110 of them: expected 0 to 100");
}

TEST(attention_requests, unknown_policies_and_small_workspaces_are_named) {
  EXPECT_EQ(
      refused([](auto&, auto& o) { o.policy = "fp23"; }),
      "there is no attention policy 'fp23': did you mean fp32? Expected auto, fp16, fp16-short, fp32, naive, "
      "tiled, double-buffered, roles or antiphase");
  std::byte small[256];
  EXPECT_EQ(refused(
                [&](auto&, auto& o) {
                  o = {.policy = "naive", .workspace = {small, 256}};
                },
                true),
            "the workspace has 256 bytes: this call needs 432000");
  EXPECT_EQ(refused(
                [&](auto&, auto& o) {
                  o = {.policy = "naive", .workspace = {at<std::byte>(264), 1 << 20}};
                },
                true),
            "the workspace is at address 0x108: expected a multiple of 256");
  const context where = context::on("cpu");
  EXPECT_EQ(refusal_of<not_supported>([&] {
              attention_problem p = fine();
              p.softmax = at<float>(9 << 20);
              attention_backward(where, p, fine_gradients(), {.policy = "tiled"});
            }),
            "attention policy tiled does not take 2 x 6 heads (3 of K and V) of 100 queries and 90 keys, "
            "depth 64: it "
            "is a step of the forward's ladder, which computes no gradients");
}

TEST(attention_requests, overlaps_are_found_before_a_launch) {
  using problem = attention_problem;
  const auto of = [](auto change) {
    return refused([&](problem& p, attention_options&) { change(p); }, true);
  };
  EXPECT_EQ(of([](problem& p) { p.out.data = at<float>((1 << 20) + 307200 - 256); }),
            "out overlaps q: expected memory of its own");
  EXPECT_EQ(of([](problem& p) { p.logsumexp = at<float>(4 << 20); }),
            "logsumexp overlaps out: expected memory of its own");
  // 12 heads of 100 queries: what lies after a head's is written, too
  EXPECT_EQ(of([](problem& p) { p.logsumexp = at<float>((1 << 20) - 4800), p.logsumexp_stride = 101; }),
            "logsumexp overlaps q: expected memory of its own");
  EXPECT_EQ(of([](problem& p) {
              p.visible = {at<unsigned char>((4 << 20) + 5), 0, 0, 0, 1};
            }),
            "out overlaps visible: expected memory of its own");
  EXPECT_EQ(refused(
                [](problem&, attention_options& o) {
                  o = {.policy = "naive", .workspace = {at<std::byte>(2 << 20), 1 << 20}};
                },
                true),
            "the workspace overlaps k: expected memory of its own");
}

TEST(attention_requests, gradients_are_checked_too) {
  const auto of = [](auto change, bool launches = false) { return refused_gradients(change, launches); };
  EXPECT_EQ(of([](auto&, auto&) {}), "accepted");
  EXPECT_EQ(of([](auto& p, auto&) { p.softmax = nullptr; }),
            "softmax is a null pointer: expected 9600 bytes");
  EXPECT_EQ(of([](auto& p, auto&) { p.softmax = nullptr, p.logsumexp = at<float>(9 << 20); }), "accepted");
  EXPECT_EQ(of(
                [](auto& p, auto& g) {
                  p.softmax = nullptr, p.logsumexp = at<float>(9 << 20);
                  g.q.data = at<float>(9 << 20);
                },
                true),
            "the gradient of q overlaps logsumexp: expected memory of its own");
  EXPECT_EQ(of(
                [](auto& p, auto& g) {
                  p.softmax = nullptr, p.logsumexp = at<float>(9 << 20), p.logsumexp_stride = 128;
                  g.q.data = at<float>((9 << 20) + 4 * (11 * 128 + 99));
                },
                true),
            "the gradient of q overlaps logsumexp: expected memory of its own");
  EXPECT_EQ(of([](auto&, auto& g) { g.out.data = nullptr; }),
            "the gradient of out is a null pointer: expected 307200 bytes");
  const auto of_bias = [&](auto change) {
    return of([&](auto& p, auto& g) {
      p.bias = {at<const float>(10 << 20), 0, 0, 90, 1};
      g.bias = {at<float>(11 << 20), 6 * 9000, 9000, 90, 1};
      change(p, g);
    });
  };
  EXPECT_EQ(of_bias([](auto&, auto&) {}), "accepted");
  EXPECT_EQ(of_bias([](auto& p, auto&) { p.bias.data = nullptr; }),
            "there is a gradient of the bias, but no bias: expected both");
  EXPECT_THAT(of_bias([](auto&, auto& g) { g.bias.member_stride = 0; }),
              testing::StartsWith("the gradient of the bias has rows that overlap each other"));
  EXPECT_EQ(of([](auto&, auto& g) { g.k.data = nullptr; }),
            "the gradient of k is a null pointer: expected 138240 bytes");
  EXPECT_THAT(of([](auto&, auto& g) { g.v.head_stride = 0; }),
              testing::StartsWith("the gradient of v has rows that overlap each other"));
  EXPECT_EQ(of([](auto&, auto& g) { g.q.data = at<float>(4 << 20); }, true),
            "the gradient of q overlaps out: expected memory of its own");
  EXPECT_EQ(of([](auto&, auto& g) { g.v.data = g.k.data; }, true),
            "the gradient of v overlaps the gradient of k: expected memory of its own");
}

// A forward at made-up addresses, one head after the other.
attention_problem forward_of(std::int64_t members, std::int64_t heads, std::int64_t queries,
                             std::int64_t keys, std::int64_t depth, causal mask = causal::no) {
  return {.q = packed_heads(at<const float>(1 << 20), heads, queries, depth),
          .k = packed_heads(at<const float>(2 << 20), heads, keys, depth),
          .v = packed_heads(at<const float>(3 << 20), heads, keys, depth),
          .out = packed_heads(at<float>(4 << 20), heads, queries, depth),
          .members = members,
          .heads = heads,
          .queries = queries,
          .keys = keys,
          .depth = depth,
          .mask = mask};
}

// The faster of policies fp16 and fp32. It is the one chosen, unless fp16-short is predicted to be faster.
std::string faster_of_two(const context& where, const attention_problem& p) {
  const auto us = [&](const char* policy) { return explain(where, p, {.policy = policy}).predicted; };
  const std::string faster = us("fp32") < us("fp16") ? "fp32" : "fp16";
  EXPECT_EQ(explain(where, p).kernel, us("fp16-short") < us(faster.c_str()) ? "fp16-short" : faster);
  return faster;
}

// Times in us that an H200 has measured, of random calls to which nothing was fitted.
TEST(attention_requests, predicted_times_of_random_calls_are_near_measured_ones) {
  const context h200(std::make_shared<test::stands_for_a_gpu>(shipped_profile("H200").limits));
  struct row {
    std::int64_t members, heads, queries, keys, depth;
    causal mask;
    bool biased;
    double fp16, fp32, fp16_gradients, fp32_gradients;
  };
  for (const row& m : {row{50, 2, 4592, 712, 48, causal::top_left, false, 603.9, 4161.4, 1642.4, 17547.3},
                       row{37, 10, 592, 592, 24, causal::no, false, 336.9, 1164.1, 877.6, 5663.6},
                       row{37, 2, 2080, 2080, 64, causal::no, true, 975.8, 9904.7, 2487.7, 23362.2},
                       row{6, 3, 1923, 1923, 128, causal::top_left, false, 163.7, 1243.1, 398.6, 5005.9},
                       row{2, 3, 4244, 4244, 128, causal::no, false, 375.7, 3325.7, 1141.5, 18715.7},
                       row{42, 3, 408, 408, 112, causal::no, false, 164.1, 661.1, 387.4, 3426.1},
                       row{4, 3, 784, 784, 24, causal::no, false, 36.1, 163.2, 82.8, 504.9},
                       row{31, 8, 32, 32, 40, causal::no, false, 24.7, 16.6, 47.1, 36.5}}) {
    const auto rows = [&](std::uintptr_t address, std::int64_t count) {
      return packed_heads(at<float>(address), m.heads, count, m.depth);
    };
    const auto read = [&](std::uintptr_t address, std::int64_t count) {
      return packed_heads(at<const float>(address), m.heads, count, m.depth);
    };
    attention_problem p = forward_of(m.members, m.heads, m.queries, m.keys, m.depth, m.mask);
    p.logsumexp = at<float>(6 << 20);
    if (m.biased) p.bias = {at<const float>(5 << 20), 0, 0, m.keys, 1};
    const attention_gradients g{read(7 << 20, m.queries), rows(8 << 20, m.queries), rows(9 << 20, m.keys),
                                rows(10 << 20, m.keys)};
    SCOPED_TRACE(testing::Message() << m.queries << " x " << m.keys << " x " << m.depth);
    EXPECT_NEAR(1e6 * explain(h200, p, {.policy = "fp16"}).predicted / m.fp16, 1, 0.2);
    EXPECT_NEAR(1e6 * explain(h200, p, {.policy = "fp32"}).predicted / m.fp32, 1, 0.2);
    EXPECT_NEAR(1e6 * explain(h200, p, g, {.policy = "fp16"}).predicted / m.fp16_gradients, 1, 0.2);
    EXPECT_NEAR(1e6 * explain(h200, p, g, {.policy = "fp32"}).predicted / m.fp32_gradients, 1, 0.2);
    EXPECT_EQ(faster_of_two(h200, p), m.fp32 < m.fp16 ? "fp32" : "fp16");
  }
}

// Times in us that an H100 has measured, of bench/results/experiments, 20261128-few-keys.
TEST(attention_requests, predicted_times_are_near_measured_ones_and_the_faster_policy_is_chosen) {
  const context h100(std::make_shared<test::stands_for_a_gpu>(shipped_profile("H100").limits));
  struct row {
    std::int64_t members, heads, queries, keys, depth;
    double fp32, fp16;
  };
  for (const row& m : {row{16, 8, 2009, 1, 17, 199.4, 503.2}, row{16, 8, 2009, 17, 17, 207.5, 121.4},
                       row{16, 8, 2009, 1, 128, 454.3, 801.3}, row{16, 8, 2009, 100, 64, 576.6, 153.5},
                       row{16, 8, 2009, 1000, 128, 5609.4, 1121.6}, row{4, 8, 512, 17, 64, 19.1, 23.0},
                       row{4, 8, 512, 300, 64, 82.6, 30.1}, row{2, 4, 128, 8, 64, 14.2, 16.0},
                       row{2, 4, 128, 1000, 64, 164.6, 36.6}}) {
    const attention_problem p = forward_of(m.members, m.heads, m.queries, m.keys, m.depth);
    const auto us = [&](const char* policy) { return 1e6 * explain(h100, p, {.policy = policy}).predicted; };
    SCOPED_TRACE(testing::Message() << m.queries << " x " << m.keys << " x " << m.depth);
    EXPECT_NEAR(us("fp32") / m.fp32, 1, 0.5);  // by an H200's constants
    EXPECT_NEAR(us("fp16") / m.fp16, 1, 0.35);
    EXPECT_EQ(faster_of_two(h100, p), m.fp32 < m.fp16 ? "fp32" : "fp16");
  }
}

// Times in us that an H200 has measured, of bench/results/experiments, 20261130-short-attention-h200.
TEST(attention_requests,
     predicted_times_of_short_sequences_are_near_measured_ones_and_the_faster_policy_is_chosen) {
  const context h200(std::make_shared<test::stands_for_a_gpu>(shipped_profile("H200").limits));
  struct row {
    std::int64_t members, heads, queries, keys, depth;
    causal mask;
    bool biased;
    double short_sequences, fp16;
  };
  for (const row& m : {row{512, 3, 49, 49, 32, causal::no, false, 30.2, 87.5},
                       row{1024, 6, 49, 49, 32, causal::no, true, 134.8, 405.2},
                       row{128, 16, 50, 50, 64, causal::top_left, false, 72.6, 209.4},
                       row{16, 12, 33, 1105, 64, causal::no, false, 81.4, 121.6},
                       row{4, 8, 64, 4096, 64, causal::no, false, 240.5, 116.3},
                       row{64, 8, 40, 300, 40, causal::no, false, 57.0, 106.5},
                       row{128, 4, 256, 256, 32, causal::no, false, 96.6, 133.8},
                       row{16, 16, 102, 102, 128, causal::no, false, 45.8, 69.8},
                       row{4, 12, 354, 1897, 128, causal::no, false, 429.5, 222.9}}) {
    attention_problem p = forward_of(m.members, m.heads, m.queries, m.keys, m.depth, m.mask);
    if (m.biased) p.bias = {at<const float>(5 << 20), 0, 0, 0, 1};
    SCOPED_TRACE(testing::Message() << m.queries << " x " << m.keys << " x " << m.depth);
    EXPECT_NEAR(1e6 * explain(h200, p, {.policy = "fp16-short"}).predicted / m.short_sequences, 1, 0.3);
    EXPECT_EQ(explain(h200, p).kernel, m.short_sequences < m.fp16 ? "fp16-short" : "fp16");
    EXPECT_EQ(explain(h200, p, {.policy = "fp16-short"}).workspace, 0u);
  }
}

TEST(attention_requests, predicted_times_follow_the_columns_that_are_multiplied) {
  const context h200(std::make_shared<test::stands_for_a_gpu>(shipped_profile("H200").limits));
  const auto us = [&](std::int64_t depth) {
    return 1e6 * explain(h200, forward_of(2, 16, 4096, 4096, depth), {.policy = "fp16"}).predicted;
  };
  for (const std::int64_t columns : {32, 48, 96})
    EXPECT_GT(us(columns + 1) - us(columns), 10 * (us(columns) - us(columns - 1))) << columns;
}

TEST(attention_requests, explain_names_the_kernels) {
  const context where = context::on("cpu");
  attention_problem p = fine();
  EXPECT_THAT(explain(where, p).code, testing::ElementsAre("attention.double-buffered"));
  EXPECT_EQ(explain(where, p).kernel, "fp32");
  EXPECT_EQ(explain(where, p).workspace, 0u);
  EXPECT_GT(explain(where, p).predicted, 0);
  EXPECT_THAT(
      explain(where, p, {.policy = "naive"}).code,
      testing::ElementsAre("attention.naive.scores", "attention.naive.softmax", "attention.naive.product"));
  EXPECT_EQ(attention_workspace(where, p, {.policy = "naive"}), 432000u);
  p.softmax = at<float>(9 << 20);
  EXPECT_THAT(explain(where, p, fine_gradients()).code,
              testing::ElementsAre("attention.dots", "attention.gradient-kv", "attention.gradient-q"));
  EXPECT_EQ(attention_workspace(where, p, fine_gradients()), 4864u);
  p.queries = 0;
  EXPECT_EQ(explain(where, p).launches, 0);
  EXPECT_THAT(explain(where, p).why, testing::ElementsAre("there is nothing to compute"));
}

}  // namespace
}  // namespace antiphase::attention_test
