// SPDX-License-Identifier: Apache-2.0
// Attention in FP32: every output within the bound of sequential FP32, by every step; gradients.
#include <gmock/gmock.h>

#include <antiphase/attention/ladder.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/features.hpp>
#include <array>
#include <cmath>

#include "library/attention/fp16/fp16_kernels.hpp"
#include "library/attention/fp32/fp32_plan.hpp"
#include "tests/attention/on_device.hpp"
#include "tests/attention/support.hpp"

namespace antiphase::attention_test {
namespace {

// Odd sizes, every padded depth, and every option.
std::vector<shape> shapes() {
  return {
      {.queries = 1, .keys = 1, .depth = 1},
      {.members = 2, .heads = 3, .kv_heads = 3, .queries = 67, .keys = 35, .depth = 1},
      {.heads = 2, .kv_heads = 2, .queries = 70, .keys = 101, .depth = 32, .mask = causal::top_left},
      {.heads = 4,
       .kv_heads = 2,
       .queries = 45,
       .keys = 71,
       .depth = 40,
       .mask = causal::bottom_right,
       .rows_first = true},
      {.heads = 2,
       .kv_heads = 1,
       .queries = 71,
       .keys = 45,
       .depth = 64,
       .mask = causal::bottom_right,
       .padding = 4},
      {.members = 2,
       .heads = 2,
       .kv_heads = 2,
       .queries = 33,
       .keys = 130,
       .depth = 96,
       .before = 20,
       .behind = 7,
       .padding = 3,
       .offset = 1},
      {.heads = 2,
       .kv_heads = 1,
       .queries = 65,
       .keys = 64,
       .depth = 128,
       .mask = causal::top_left,
       .before = 9},
      {.queries = 19, .keys = 77, .depth = 200, .scale = 0.25f, .rows_first = true},
      {.queries = 21, .keys = 40, .depth = 255, .offset = 2},
      {.members = 2,
       .heads = 4,
       .kv_heads = 2,
       .queries = 37,
       .keys = 43,
       .depth = 64,
       .bias = true,
       .spare = 27},
      {.heads = 2,
       .kv_heads = 2,
       .queries = 66,
       .keys = 39,
       .depth = 33,
       .mask = causal::bottom_right,
       .bias = true,
       .visible = true},
      {.members = 2, .queries = 30, .keys = 65, .depth = 32, .visible = true, .spare = 2},
      {.members = 2, .heads = 2, .kv_heads = 1, .queries = 37, .keys = 3, .depth = 80, .spare = 27},
      {.queries = 40, .keys = 50, .depth = 16, .scale = -1.5f},
      // one pair of a tile is hidden: its last key of its first query, its first key of its last query
      {.queries = 70, .keys = 100, .depth = 32, .mask = causal::bottom_right},
      {.queries = 128, .keys = 128, .depth = 32, .before = 30, .behind = 70},
      {.queries = 50, .keys = 40, .depth = 16, .before = 3, .behind = 0},
      {.members = 4,
       .heads = 4,
       .kv_heads = 2,
       .queries = 70,
       .keys = 80,
       .depth = 64,
       .mask = causal::top_left,
       .rows_first = true,
       .padding = 1,
       .query_lengths = {1, 70, 0, 33},
       .key_lengths = {5, 64, 7, 80}},
      {.members = 3,
       .heads = 2,
       .kv_heads = 2,
       .queries = 40,
       .keys = 40,
       .depth = 48,
       .mask = causal::bottom_right,
       .before = 30,
       .spare = 5,
       .query_lengths = {40, 3, 31},
       .key_lengths = {0, 40, 29}},
      {.heads = 2, .kv_heads = 2, .queries = 3, .keys = 0, .depth = 8, .spare = 29},
  };
}

std::vector<std::string> forward_policies() {
  std::vector<std::string> all{"fp32"};
  for (const attentions::step& s : attentions::steps)
    if (s.method != attentions::method::roles) all.emplace_back(s.name);
  return all;
}

bool has_tensor_cores(const context& where) {
  return !lacks(where.limits(), {.bulk_copies = true, .wgmma = true, .sm_90a = true});
}
// These, and those that compute in FP32 what FP16 parts do not hold.
std::vector<std::string> policies_of_shape(const context& where, const shape& s) {
  std::vector<std::string> all = forward_policies();
  if (has_tensor_cores(where)) all.emplace_back("fp16-short");
  if (has_tensor_cores(where) && s.depth <= 128) all.emplace_back("fp16");
  return all;
}
bool is_by_parts(const std::string& policy) { return policy.starts_with("fp16"); }

class attention_fp32 : public on_device {};
AP_ATTENTION_ON_BOTH(attention_fp32);

TEST_P(attention_fp32, every_output_is_within_its_bound_by_every_step) {
  for (const shape& s : shapes()) {
    std::vector<float> first;
    for (const std::string& policy : forward_policies()) {
      call c(s);
      c.forward(where(), {.policy = policy});
      EXPECT_EQ(c.wrong_forward(), "") << policy << ", " << text(s);
      // a row's result does not depend on the tile of queries, nor on who copies
      if (policy == "naive") continue;
      std::vector<float> all;
      c.out.each([&](auto b, auto h, auto i, auto n) { all.push_back(c.out(b, h, i, n)); });
      if (first.empty()) first = all;
      for (std::size_t n = 0; n < all.size(); ++n)
        ASSERT_TRUE(same_bits(all[n], first[n])) << policy << ", " << text(s) << ", output " << n;
    }
  }
}

// The bits of a result, in a call of its own: queries [first, first + count) of a member's head.
void expect_same_alone(const context& where, call& all, std::string_view policy, std::int64_t b,
                       std::int64_t h, std::int64_t first, std::int64_t count) {
  shape alone = all.of;
  alone.members = alone.heads = alone.kv_heads = 1, alone.queries = count;
  call c(alone);
  const auto copy = [&](rows& to, const rows& from, std::int64_t skipped) {
    to.each([&](auto, auto, auto i, auto n) { to(0, 0, i, n) = from(b, h, i + skipped, n); });
  };
  copy(c.q, all.q, first), copy(c.k, all.k, 0), copy(c.v, all.v, 0);
  c.forward(where, {.policy = policy});
  c.out.each([&](auto, auto, auto i, auto n) {
    ASSERT_TRUE(same_bits(c.out(0, 0, i, n), all.out(b, h, first + i, n)))
        << policy << ", queries " << first << " to " << first + count - 1 << " of head " << h << " of member "
        << b;
  });
}
// By fp32 the bits of a query depend on its keys and values alone; by fp16 also on the other queries of its
// member, which share its scales.
TEST_P(attention_fp32, a_query_has_the_same_bits_alone_and_in_any_batch) {
  for (const std::int64_t keys : {5, 65, 200}) {
    call all({.members = 3, .heads = 2, .kv_heads = 2, .queries = 70, .keys = keys, .depth = 40});
    all.q(1, 0, 3, 2) = infinite, all.q(1, 0, 33, 0) = std::nanf("");
    // of this head, and of no other, fp16 has larger lo parts of Q and K
    all.k.each([&](auto b, auto h, auto j, auto c) {
      if (b == 2 && h == 0) all.k(b, h, j, c) *= 0x1p12f;
    });
    all.forward(where(), {.policy = "fp32"});
    for (const auto& [first, count] : {std::array{0, 1}, {2, 1}, {34, 9}, {69, 1}, {4, 29}})
      for (const std::int64_t b : {0, 1}) expect_same_alone(where(), all, "fp32", b, 0, first, count);
    if (lacks(where().limits(), {.bulk_copies = true, .wgmma = true, .sm_90a = true})) continue;
    for (const char* policy : {"fp16", "fp16-short"}) {
      all.forward(where(), {.policy = policy});
      for (const std::int64_t b : {0, 1, 2})
        for (const std::int64_t h : {0, 1}) expect_same_alone(where(), all, policy, b, h, 0, 70);
    }
  }
}

// The shape with rows whose gradients the policy computes.
shape computed_by(std::string_view policy, shape s) {
  if (policy == "fp16-short")
    s.depth = std::min<std::int64_t>(s.depth, attentions::fp16::most_short_gradient);
  return s;
}

TEST_P(attention_fp32, gradients_are_within_their_bounds_and_the_same_bits_twice) {
  for (const std::string policy : {"fp32", "fp16-short"})
    for (const shape& asked : shapes()) {
      const shape s = computed_by(policy, asked);
      if (policy != "fp32" && (!has_tensor_cores(where()) || s.keys == 0)) continue;
      call c(s), again(s);
      c.forward(where(), {.policy = "fp32"});
      c.backward(where(), {.policy = policy});
      EXPECT_EQ(c.wrong_backward(policy == "fp32" ? arithmetic::fp32 : arithmetic::fp16), "")
          << policy << ": " << text(s);
      again.forward(where(), {.policy = "fp32"});
      again.backward(where(), {.policy = policy});
      for (const auto& [one, other] :
           {std::pair{&c.d_q, &again.d_q}, {&c.d_k, &again.d_k}, {&c.d_v, &again.d_v}})
        one->each([&](auto b, auto h, auto i, auto n) {
          ASSERT_TRUE(same_bits((*one)(b, h, i, n), (*other)(b, h, i, n))) << policy << ": " << text(s);
        });
    }
}

// What fp16's forward stores serves fp32's gradients.
TEST_P(attention_fp32, policies_of_fp16_are_within_their_bound_and_their_softmax_serves_gradients) {
  for (const char* policy : {"fp16", "fp16-short"})
    for (const shape& s : shapes()) {
      if ((s.depth > 128 && policy == std::string("fp16")) || s.keys == 0) continue;
      call c(s);
      c.forward(where(), {.policy = policy});
      EXPECT_EQ(c.wrong_forward(arithmetic::fp16), "") << policy << ": " << text(s);
      if (s.depth < 64) continue;  // where fp32's bound is the larger one
      c.backward(where(), {.policy = "fp32"});
      EXPECT_EQ(c.wrong_backward(), "") << policy << ": " << text(s);
    }
}

// The forward of rows that need fewer columns than their padded depth has multiplies no more than it must.
TEST_P(attention_fp32, policies_of_fp16_multiply_the_columns_that_rows_have) {
  for (const auto& [columns, depths] : {std::pair{32, std::array{1, 31, 32}},
                                        {48, std::array{33, 47, 48}},
                                        {64, std::array{49, 63, 64}},
                                        {96, std::array{65, 95, 96}},
                                        {128, std::array{97, 127, 128}}})
    for (const int depth : depths) {
      const shape even{.heads = 2, .kv_heads = 2, .queries = 131, .keys = 130, .depth = depth},
          masked{.members = 2,
                 .heads = 2,
                 .kv_heads = 1,
                 .queries = 70,
                 .keys = 259,
                 .depth = depth,
                 .mask = causal::bottom_right,
                 .before = 180,
                 .padding = 1};
      for (const shape& s : {even, masked}) {
        call c(s);
        c.v.each([&](auto b, auto h, auto j, auto n) { c.v(b, h, j, n) *= n % 2 == 0 ? 0x1p15f : 0x1p-15f; });
        const int short_sequences = columns <= 32 ? 32 : columns <= 64 ? 64 : 128;
        for (const auto& [policy, count] : {std::pair{"fp16", columns}, {"fp16-short", short_sequences}}) {
          c.forward(where(), {.policy = policy});
          EXPECT_EQ(c.wrong_forward(arithmetic::fp16), "") << policy << ": " << text(s);
          EXPECT_THAT(explain(where(), c.problem(), {.policy = policy}).code,
                      testing::Contains("attention." + (policy + ("-" + std::to_string(count)))))
              << text(s);
        }
      }
    }
}

// Whether blocks of keys compute dQ as well follows from a member's own keys. Rows of its second tile of
// queries are too large for parts.
TEST_P(attention_fp32, gradients_of_a_packed_member_have_the_same_bits_beside_any_other) {
  if (!has_tensor_cores(where())) GTEST_SKIP();
  const auto d_q_beside = [&](std::int32_t keys) {
    call c({.members = 2,
            .heads = 2,
            .kv_heads = 1,
            .queries = 100,
            .keys = std::max(40, keys),
            .depth = 40,
            .query_lengths = {100, 50},
            .key_lengths = {40, keys}});
    std::uint64_t seed = 1;
    for (rows* const x : {&c.q, &c.k, &c.v, &c.d_out}) {
      x->each([&](auto b, auto h, auto i, auto n) {
        const auto place = static_cast<std::uint64_t>(((b * 2 + h) * 100 + i) * 64 + n);
        (*x)(b, h, i, n) = number_at(seed, place) * (x == &c.q && b == 0 && i >= 64 ? 0x1p20f : 1.f);
      });
      ++seed;
    }
    c.forward(where(), {.policy = "fp32"});
    c.backward(where(), {.policy = "fp16-short"});
    EXPECT_EQ(c.wrong_backward(), "") << keys;
    std::vector<float> found;
    c.d_q.each([&](auto b, auto h, auto i, auto n) {
      if (b == 0) found.push_back(c.d_q(b, h, i, n));
    });
    return found;
  };
  const std::vector<float> one = d_q_beside(40), other = d_q_beside(100);
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t n = 0; n < one.size(); ++n) ASSERT_TRUE(same_bits(one[n], other[n])) << n;
}

// Gradients of every pair, also of hidden ones; one head of the other shapes is not for FP16 parts.
TEST_P(attention_fp32, gradients_of_a_bias_are_within_their_bounds) {
  for (const char* policy : {"fp32", "fp16", "fp16-short"})
    for (const shape& asked :
         {shape{.members = 2,
         .heads = 4,
         .kv_heads = 2,
         .queries = 70,
         .keys = 134,
         .depth = 24,
         .bias = true,
         .visible = true},
          shape{.heads = 2, .kv_heads = 2, .queries = 131, .keys = 67, .depth = 128, .bias = true},
          shape{.heads = 2, .kv_heads = 2, .queries = 131, .keys = 61, .depth = 20, .bias = true}}) {
      const shape s = computed_by(policy, asked);
      call c(s);
      c.d_bias.assign(c.bias.size(), guard_number(3));
      if (s.queries == 131)
        c.k.each([&](auto b, auto h, auto j, auto i) {
          if (h == 1) c.k(b, h, j, i) *= 0x1p20f;
        });
      c.forward(where(), {.policy = policy});
      c.backward(where(), {.policy = policy});
      EXPECT_EQ(c.wrong_backward(arithmetic::fp16), "") << policy << ": " << text(s);
    }
}

// Also of queries that see no key, and of packed members.
TEST_P(attention_fp32, gradients_take_the_logsumexp_alone) {
  for (const char* policy : {"fp32", "fp16", "fp16-short"})
    for (const shape& asked :
         {shape{
              .heads = 2, .queries = 70, .keys = 40, .depth = 64, .mask = causal::bottom_right, .spare = 26},
          shape{.members = 3,
          .heads = 2,
          .kv_heads = 1,
          .queries = 9,
          .keys = 33,
          .depth = 72,
          .spare = 2,
          .query_lengths = {9, 0, 5},
          .key_lengths = {33, 2, 0}}}) {
      const shape s = computed_by(policy, asked);
      call c(s);
      c.forward(where(), {.policy = policy});
      c.backward(where(), {.policy = policy}, true);
      EXPECT_EQ(c.wrong_backward(arithmetic::fp16), "") << policy << ": " << text(s);
    }
  // Each query sees one key, with a large logit that FP32 holds: the weight is 1, and dV is dO, except for
  // what the rounded factor log2(e) of logits costs.
  const shape s{.heads = 2,
                .kv_heads = 2,
                .queries = 40,
                .keys = 40,
                .depth = 64,
                .before = 0,
                .behind = 0,
                .bias = true};
  call c(s);
  c.q.fill(1, 0);
  for (std::size_t n = 0; n < c.bias.size(); ++n) c.bias[n] = 1000 + static_cast<float>(n % 41);
  c.forward(where(), {.policy = "fp32"});
  c.backward(where(), {.policy = "fp32"}, true);
  c.d_v.each([&](auto b, auto h, auto j, auto i) {
    ASSERT_NEAR(c.d_v(b, h, j, i), c.d_out(b, h, j, i), 2e-5 * std::abs(c.d_out(b, h, j, i)) + 1e-7)
        << "key " << j;
  });
}

// Scores that grow with the keys, so that every tile rescales; that are large; and that are all equal.
TEST_P(attention_fp32, scores_of_every_size_are_within_the_bound) {
  const shape s{.queries = 20, .keys = 150, .depth = 24};
  for (const float by : {0.0f, 1e-3f, 8.0f, 1e4f, 1e17f}) {
    call c(s);
    c.k.fill(2, by);
    c.forward(where(), {.policy = "fp32"});
    EXPECT_EQ(c.wrong_forward(), "") << by;
    if (by < 1e4f) {
      c.backward(where(), {.policy = "fp32"});
      EXPECT_EQ(c.wrong_backward(), "") << by;
    }
  }
  call rising(s);
  rising.k.each([&](auto b, auto h, auto j, auto c) {
    rising.k(b, h, j, c) =
        static_cast<float>(j) * (0.25f + 0.01f * number_at(3, static_cast<std::uint64_t>(c)));
  });
  rising.q.each([&](auto b, auto h, auto i, auto c) {
    rising.q(b, h, i, c) = 0.1f + 0.01f * static_cast<float>(i + c);
  });
  rising.forward(where(), {.policy = "fp32"});
  EXPECT_EQ(rising.wrong_forward(), "");
  rising.backward(where(), {.policy = "fp32"});
  EXPECT_EQ(rising.wrong_backward(), "");
}

// A query is 2^-21 times the tile's largest, and the bound of logits 2^23: with lo parts that are not kept
// larger, logits would be off by 64 units, and outputs by 13.
TEST_P(attention_fp32, small_queries_next_to_large_ones_keep_their_bits_under_large_bounds_of_logits) {
  if (lacks(where().limits(), {.bulk_copies = true, .wgmma = true, .sm_90a = true})) GTEST_SKIP();
  call c({.heads = 2, .kv_heads = 1, .queries = 66, .keys = 140, .depth = 63, .scale = 1.f, .padding = 1});
  c.q.each([&](auto b, auto h, auto i, auto n) {
    c.q(b, h, i, n) = i % 65 == 0 ? (n == 0 ? 1.f : 0.f) : n == 0 ? 0.f : 0x1p-21f * (1 + 0x1p-18f);
  });
  c.k.each([&](auto b, auto h, auto j, auto n) { c.k(b, h, j, n) = n > 0 && j % 2 == 0 ? 0x1p15f : 0.f; });
  c.v.each([&](auto b, auto h, auto j, auto n) { c.v(b, h, j, n) = j % 2 == 0 ? 1.f : 0.f; });
  const double logit = 62 * 0x1p-6 * (1 + 0x1p-18), expected = 1 / (1 + std::exp(-logit));
  for (const char* policy : {"fp16", "fp16-short"}) {
    c.forward(where(), {.policy = policy});
    EXPECT_EQ(c.wrong_forward(arithmetic::fp16), "") << policy;
    c.out.each([&](auto b, auto h, auto i, auto n) {
      if (i % 65 == 0) return;
      ASSERT_NEAR(c.out(b, h, i, n), expected, 5 * unit) << policy << ' ' << i << ' ' << n;
    });
  }
}

TEST_P(attention_fp32, one_visible_key_gives_its_v_bit_for_bit) {
  for (const shape& s : {shape{.heads = 2,
                        .kv_heads = 1,
                        .queries = 70,
                        .keys = 90,
                        .depth = 20,
                        .mask = causal::bottom_right,
                        .before = 0},
                         shape{.queries = 3, .keys = 1, .depth = 70, .bias = true}})
    for (const std::string& policy : policies_of_shape(where(), s)) {
      call c(s);
      if (s.bias) c.bias.assign(c.bias.size(), 0.75f);
      c.v(0, 0, 0, 0) = -0.0f;
      c.v(0, 0, s.keys - 1, 3) = 0x1p-149f;
      c.forward(where(), {.policy = policy});
      c.out.each([&](auto b, auto h, auto i, auto n) {
        const auto key = s.keys == 1 ? 0 : i + s.keys - s.queries;
        ASSERT_TRUE(same_bits(c.out(b, h, i, n), c.v(b, 0, key, n)))
            << policy << ", query " << i << ", column " << n;
      });
    }
}

// The rounding of a large logit is in no weight.
TEST_P(attention_fp32, one_visible_key_has_weight_1_in_gradients_however_large_its_logit) {
  call c({.queries = 1, .keys = 1, .depth = 8, .scale = 1234.56f});
  c.forward(where(), {.policy = "fp32"});
  c.backward(where(), {.policy = "fp32"});
  for (std::int64_t n = 0; n < 8; ++n)
    EXPECT_NEAR(c.d_v(0, 0, 0, n), c.d_out(0, 0, 0, n), 8 * unit * std::abs(c.d_out(0, 0, 0, n)));
}

// The forward's FP16 parts do not hold such logits, nor does its softmax: heads of large logits get the bits
// of fp32's forward and backward.
TEST_P(attention_fp32, gradients_of_large_logits_are_fp32s_from_its_own_forward) {
  for (const shape& s : {shape{.members = 2,
                        .heads = 2,
                        .kv_heads = 1,
                        .queries = 70,
                        .keys = 90,
                        .depth = 50,
                        .mask = causal::bottom_right,
                        .rows_first = true,
                        .padding = 3},
                         shape{.members = 3,
                         .queries = 60,
                         .keys = 40,
                         .depth = 64,
                         .query_lengths = {60, 0, 33},
                         .key_lengths = {40, 7, 29}}}) {
    call c(s), expected(s), in_one_kernel(s);
    for (call* const one : {&c, &expected, &in_one_kernel}) one->q.fill(2, 8), one->k.fill(3, 100);
    c.forward(where(), {.policy = "fp16"});
    c.backward(where(), {.policy = "fp16"});
    EXPECT_EQ(c.wrong_backward(), "") << text(s);
    in_one_kernel.forward(where(), {.policy = "fp16"});
    in_one_kernel.backward(where(), {.policy = "fp16-short"});
    EXPECT_EQ(in_one_kernel.wrong_backward(), "") << text(s);
    expected.forward(where(), {.policy = "fp32"});
    expected.backward(where(), {.policy = "fp32"});
    for (const auto& [one, other] :
         {std::pair{&c.d_q, &expected.d_q}, {&c.d_k, &expected.d_k}, {&c.d_v, &expected.d_v}})
      one->each([&](auto b, auto h, auto i, auto n) {
        ASSERT_TRUE(same_bits((*one)(b, h, i, n), (*other)(b, h, i, n))) << text(s);
      });
  }
}

enum class hidden_by { reach, bias, visible };
// Every element of a hidden key may be anything.
TEST_P(attention_fp32, a_key_that_a_query_does_not_see_reaches_it_in_no_way) {
  constexpr std::int64_t key = 37;  // seen by queries from 17 on
  for (const hidden_by how : {hidden_by::reach, hidden_by::bias, hidden_by::visible})
    for (const float poison : {infinite, -infinite, std::nanf("")})
      for (const std::string& policy : policies_of_shape(where(), {.depth = 40})) {
        const shape s{.heads = 2,
                      .kv_heads = 1,
                      .queries = 50,
                      .keys = 70,
                      .depth = 40,
                      .mask = how == hidden_by::reach ? causal::bottom_right : causal::no,
                      .bias = how == hidden_by::bias,
                      .visible = how == hidden_by::visible};
        call clean(s), c(s);
        for (call* const one : {&clean, &c})
          for (std::int64_t h = 0; h < s.heads; ++h)
            for (std::int64_t i = 0; i < s.queries; ++i) {
              if (s.bias) one->bias[one->pair(0, h, i, key)] = i < 17 ? -infinite : 0.5f;
              if (s.visible) one->visible[one->pair(0, h, i, key)] = i < 17 ? 0 : 1;
            }
        for (std::int64_t n = 0; n < s.depth; ++n) c.k(0, 0, key, n) = c.v(0, 0, key, n) = poison;
        clean.forward(where(), {.policy = policy});
        c.forward(where(), {.policy = policy});
        c.out.each([&](auto b, auto h, auto i, auto n) {
          if (i < 17 && is_by_parts(policy)) {  // what shares a scale with the key is computed in FP32
            ASSERT_NEAR(c.out(b, h, i, n), clean.out(b, h, i, n), 2e-6) << policy << ", query " << i;
          } else if (i < 17) {
            ASSERT_TRUE(same_bits(c.out(b, h, i, n), clean.out(b, h, i, n))) << policy << ", query " << i;
          } else if (std::isnan(poison)) {
            ASSERT_TRUE(std::isnan(c.out(b, h, i, n))) << policy << ", query " << i;
          }
        });
        if (policy != "fp32" && policy != "fp16-short") continue;
        clean.backward(where(), {.policy = policy});
        c.backward(where(), {.policy = policy});
        c.d_q.each([&](auto b, auto h, auto i, auto n) {
          if (i >= 17) return;
          if (policy == "fp32")
            ASSERT_TRUE(same_bits(c.d_q(b, h, i, n), clean.d_q(b, h, i, n))) << "query " << i;
          else
            ASSERT_NEAR(c.d_q(b, h, i, n), clean.d_q(b, h, i, n), 5e-6) << "query " << i;
        });
      }
}

TEST_P(attention_fp32, a_nan_or_infinity_reaches_what_depends_on_it) {
  const shape s{
      .heads = 2, .kv_heads = 2, .queries = 40, .keys = 45, .depth = 36, .mask = causal::bottom_right};
  for (const std::string& policy : policies_of_shape(where(), s)) {
    call clean(s), c(s);
    clean.forward(where(), {.policy = policy});
    c.q(0, 0, 7, 35) = std::nanf("");
    c.q(0, 0, 9, 0) = infinite;
    c.v(0, 1, 11, 5) = infinite;
    c.forward(where(), {.policy = policy});
    c.out.each([&](auto b, auto h, auto i, auto n) {
      const float x = c.out(b, h, i, n);
      if (h == 0 && (i == 7 || i == 9)) {
        ASSERT_TRUE(std::isnan(x)) << policy << ", query " << i;
      } else if (h == 1 && n == 5 && i >= 6) {
        ASSERT_EQ(x, infinite) << policy << ", query " << i;
      } else if (is_by_parts(policy)) {  // what shares a scale with them is computed in FP32
        ASSERT_NEAR(x, clean.out(b, h, i, n), 1e-6) << policy << ", query " << i << ", column " << n;
      } else {
        ASSERT_TRUE(same_bits(x, clean.out(b, h, i, n))) << policy << ", query " << i << ", column " << n;
      }
    });
    EXPECT_TRUE(std::isnan(c.logsumexp[7])) << policy;
    EXPECT_TRUE(std::isnan(c.softmax[15])) << policy;
    if (policy != "fp32" && policy != "fp16-short") continue;
    c.backward(where(), {.policy = policy});
    EXPECT_TRUE(std::isnan(c.d_q(0, 0, 7, 0)));
    EXPECT_TRUE(std::isnan(c.d_k(0, 0, 12, 0)));   // seen by query 7
    EXPECT_FALSE(std::isnan(c.d_k(0, 0, 44, 0)));  // seen by later ones alone
  }
}

// Logits, sums of V or numbers that FP16 parts do not hold, in one column of the second tile of keys: the
// block's queries are computed in FP32, and others keep the bits that they have without.
TEST_P(attention_fp32, policy_fp16_short_computes_in_fp32_what_parts_do_not_hold) {
  if (!has_tensor_cores(where())) GTEST_SKIP();
  const shape even{.heads = 2, .kv_heads = 2, .queries = 70, .keys = 140, .depth = 40},
      of_two_groups{.heads = 2,
                    .kv_heads = 2,
                    .queries = 66,
                    .keys = 75,
                    .depth = 250,
                    .rows_first = true,
                    .padding = 3},
      masked{.members = 2,
             .heads = 4,
             .kv_heads = 2,
             .queries = 90,
             .keys = 200,
             .depth = 100,
             .mask = causal::bottom_right,
             .before = 77,
             .bias = true,
             .offset = 1,
             .spare = 7},
      packed{.members = 3,
             .heads = 2,
             .kv_heads = 2,
             .queries = 100,
             .keys = 130,
             .depth = 33,
             .spare = 3,
             .query_lengths = {100, 0, 3},
             .key_lengths = {130, 4, 70}};
  for (const shape& s : {even, of_two_groups, masked, packed})
    for (const std::int64_t column : {std::int64_t{0}, s.depth - 1})
      for (const int what : {0, 1, 2}) {
        call clean(s), c(s);
        clean.forward(where(), {.policy = "fp16-short"});
        EXPECT_EQ(clean.wrong_forward(arithmetic::fp16), "") << text(s);
        constexpr std::int64_t key = 68;
        if (what == 0) c.k(0, 0, key, column) = 0x1p30f;
        if (what == 1) c.v(0, 0, key, column) = 0x1p126f;
        if (what == 2) c.v(0, 0, key, column) = infinite;
        c.forward(where(), {.policy = "fp16-short"});
        if (what < 2) {
          EXPECT_EQ(c.wrong_forward(), "") << what << ", column " << column << ", " << text(s);
        }
        const std::int64_t group = s.heads / s.kv_heads;
        c.out.each([&](auto b, auto h, auto i, auto n) {
          if (b == 0 && h / group == 0) return;
          ASSERT_TRUE(same_bits(c.out(b, h, i, n), clean.out(b, h, i, n))) << what << ' ' << h << ' ' << i;
        });
      }
}

// By -infinity in a bias, by `visible`, by the reach, and because all scores are -infinity.
TEST_P(attention_fp32, a_query_that_sees_nothing_is_zero) {
  shape s{.queries = 34, .keys = 40, .depth = 8, .bias = true, .visible = true};
  for (const std::string& policy : policies_of_shape(where(), s)) {
    call c(s);
    c.bias.assign(c.bias.size(), 0);
    c.visible.assign(c.visible.size(), 1);
    for (std::int64_t j = 0; j < s.keys; ++j) {
      c.bias[c.pair(0, 0, 3, j)] = -infinite;
      c.visible[c.pair(0, 0, 33, j)] = 0;
      (j % 2 == 0 ? c.bias[c.pair(0, 0, 20, j)] : c.bias[c.pair(0, 0, 21, j)]) = -infinite;
      if (j % 2 == 1) c.visible[c.pair(0, 0, 20, j)] = 0;
    }
    c.forward(where(), {.policy = policy});
    EXPECT_EQ(c.wrong_forward(is_by_parts(policy) ? arithmetic::fp16 : arithmetic::fp32), "") << policy;
    for (const std::int64_t i : {3, 20, 33}) {
      EXPECT_EQ(c.out(0, 0, i, 0), 0);
      EXPECT_EQ(c.logsumexp[static_cast<std::size_t>(i)], -infinite);
    }
    if (policy != "fp32") continue;
    c.backward(where(), {.policy = policy});
    EXPECT_EQ(c.wrong_backward(), "");
    for (const std::int64_t i : {3, 20, 33}) EXPECT_EQ(c.d_q(0, 0, i, 5), 0);
  }
  s.bias = s.visible = false;
  call c(s);
  c.k.each([&](auto b, auto h, auto j, auto n) { c.k(b, h, j, n) = n == 0 ? -infinite : 0; });
  c.q.each([&](auto b, auto h, auto i, auto n) { c.q(b, h, i, n) = 1; });
  c.forward(where(), {.policy = "fp32"});
  c.out.each([&](auto b, auto h, auto i, auto n) { ASSERT_EQ(c.out(b, h, i, n), 0); });
  c.backward(where(), {.policy = "fp32"});
  c.d_v.each([&](auto b, auto h, auto i, auto n) { ASSERT_EQ(c.d_v(b, h, i, n), 0); });
}

// The rest of what another policy computes: flagged heads, and queries that see few keys.
TEST_P(attention_fp32, with_flags_computes_flagged_heads_and_queries_of_few_keys) {
  shape s{.members = 2,
          .heads = 4,
          .kv_heads = 2,
          .queries = 150,
          .keys = 152,
          .depth = 32,
          .mask = causal::bottom_right,
          .before = 140};
  const context on = where();
  call whole(s);
  whole.forward(on, {.policy = "fp32"});
  const std::vector<std::uint32_t> flags{0, 1, 0x80000000u, 0};
  const device_array<std::uint32_t> words(where(), std::span<const std::uint32_t>(flags));
  const auto flagged = [&](std::int64_t b, std::int64_t kv_head) {
    return flags[static_cast<std::size_t>(b * s.kv_heads + kv_head)] != 0;
  };
  // with queries that see at most 4 keys at the beginning, at the end and everywhere
  for (const std::int64_t before : {std::int64_t{-1}, std::int64_t{3}}) {
    s.before = before;
    s.mask = causal::top_left;
    if (before < 0) s.queries = 150, s.keys = 152;
    call expected(s), c(s);
    expected.forward(where(), {.policy = "fp32"});
    c.forward(where(), {.policy = "naive"});  // makes the problem
    device_array<float> untouched(where(), std::vector<float>(c.logsumexp.size(), 42.0f));
    attention_problem p = c.problem();
    p.logsumexp = untouched.data();
    rows guarded(s, false);
    guarded.upload(where());
    p.out = guarded.view<float>();
    const attentions::request r = attentions::validated(on.runs_on(), p, nullptr);
    for (const attentions::launchable& l :
         {attentions::few_keys_forward(r), attentions::fp32_forward(r, words.data())})
      on.runs_on().launch(l.code, l.grid, l.arguments.get(), nullptr);
    where().runs_on().synchronize(nullptr);
    const std::vector<float> told = untouched.to_host();
    guarded.download();
    guarded.each([&](auto b, auto h, auto i, auto n) {
      const bool few = before >= 0 || i < 4;
      const bool computed = few || flagged(b, h / 2);
      // which adds up in another order
      if (few && !flagged(b, h / 2)) {
        ASSERT_NEAR(guarded(b, h, i, n), expected.out(b, h, i, n), 1e-6) << i;
      }
      const float x = guarded(b, h, i, n);
      const float before_it = guard_number(guarded.place(b, h, i, n));
      if (!computed || flagged(b, h / 2)) {
        ASSERT_TRUE(same_bits(x, computed ? expected.out(b, h, i, n) : before_it))
            << b << ' ' << h << ' ' << i;
      }
      ASSERT_EQ(told[c.stored(b, h, i)] == 42.0f, !computed);
    });
  }
  // gradients: flagged heads alone
  const attention_gradients g = whole.gradients();
  const attentions::request r = attentions::validated(on.runs_on(), whole.problem(), &g);
  attentions::cutter counted({});
  attentions::fp32_backward(r, counted, words.data());
  device_array<std::byte> workspace(where(), counted.used());
  attentions::cutter memory({workspace.data(), workspace.size()});
  for (const attentions::launchable& l : attentions::fp32_backward(r, memory, words.data()))
    where().runs_on().launch(l.code, l.grid, l.arguments.get(), nullptr);
  where().runs_on().synchronize(nullptr);
  for (rows* const one : {&whole.d_q, &whole.d_k, &whole.d_v}) one->download();
  whole.d_q.each([&](auto b, auto h, auto i, auto n) {
    ASSERT_EQ(same_bits(whole.d_q(b, h, i, n), guard_number(whole.d_q.place(b, h, i, n))),
              !flagged(b, h / 2));
  });
  for (const rows* const one : {&whole.d_k, &whole.d_v})
    one->each([&](auto b, auto h, auto i, auto n) {
      ASSERT_EQ(same_bits((*one)(b, h, i, n), guard_number(one->place(b, h, i, n))), !flagged(b, h));
    });
}

}  // namespace
}  // namespace antiphase::attention_test
