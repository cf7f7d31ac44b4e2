// SPDX-License-Identifier: Apache-2.0
// Operands at the ends of FP32's range, alone and together: outputs and gradients are within their bounds.
#include <algorithm>
#include <array>
#include <cmath>

#include "library/attention/fp16/fp16_kernels.hpp"
#include "tests/attention/on_device.hpp"
#include "tests/attention/support.hpp"

namespace antiphase::attention_test {
namespace {

constexpr std::array sizes{0.f, 1e-41f, 1e-30f, 1e-19f, 1.f, 1e19f, 1e30f};  // the second: denormals
constexpr double largest_float = 0x1p127;

// An operand's size: one for all elements, or one for each row or head, from all sizes up to it.
enum class sized { alike, by_row, by_head };
struct range_case {
  std::array<float, 4> size{1, 1, 1, 1};  // of q, k, v, and the gradient of out
  sized how = sized::alike;
};
std::string text(const range_case& c) {
  std::string all = c.how == sized::alike    ? "sizes"
                    : c.how == sized::by_row ? "sizes by row"
                                             : "sizes by head";
  for (const float x : c.size) all += ' ' + std::to_string(std::log10(x));
  return all;
}

// One operand of each size, two, and all.
std::vector<range_case> cases() {
  constexpr std::array<std::array<bool, 4>, 10> which{{{1, 0, 0, 0},
                                                       {0, 1, 0, 0},
                                                       {0, 0, 1, 0},
                                                       {0, 0, 0, 1},
                                                       {1, 1, 0, 0},
                                                       {0, 0, 1, 1},
                                                       {1, 0, 1, 0},
                                                       {0, 1, 0, 1},
                                                       {1, 1, 1, 0},
                                                       {1, 1, 1, 1}}};
  std::vector<range_case> all;
  for (const sized how : {sized::alike, sized::by_row, sized::by_head})
    for (const float size : sizes)
      for (const auto& has : which) {
        range_case c{.how = how};
        for (std::size_t n = 0; n < 4; ++n)
          if (has[n]) c.size[n] = size;
        all.push_back(c);
      }
  // a large operand next to a tiny one
  for (const auto& [tiny, large] :
       {std::pair{1e-41f, 1e30f}, {1e-41f, 1e37f}, {1e-30f, 1e30f}, {1e-19f, 1e19f}})
    for (const std::pair<int, int>& at : {std::pair{0, 1}, {1, 0}, {2, 3}, {3, 2}, {2, 1}, {3, 0}, {0, 3}}) {
      range_case c;
      c.size[static_cast<std::size_t>(at.first)] = tiny;
      c.size[static_cast<std::size_t>(at.second)] = large;
      all.push_back(c);
    }
  for (const float large : {1e30f, 1e19f}) all.push_back({{1e-30f, large, 1e-19f, 1e-19f}});
  return all;
}

std::vector<shape> shapes_of_ranges() {
  return {{.heads = 2, .kv_heads = 1, .queries = 65, .keys = 70, .depth = 64},
          {.members = 2, .heads = 2, .kv_heads = 2, .queries = 40, .keys = 131, .depth = 128, .padding = 4},
          {.heads = 2, .kv_heads = 2, .queries = 70, .keys = 45, .depth = 40, .mask = causal::bottom_right},
          {.heads = 3, .kv_heads = 1, .queries = 33, .keys = 90, .depth = 72, .before = 20, .behind = 7},
          {.heads = 2, .kv_heads = 2, .queries = 37, .keys = 67, .depth = 64, .bias = true, .visible = true},
          {.heads = 2, .kv_heads = 2, .queries = 66, .keys = 3, .depth = 64},
          {.members = 3,
           .heads = 2,
           .kv_heads = 1,
           .queries = 70,
           .keys = 66,
           .depth = 64,
           .query_lengths = {70, 1, 33},
           .key_lengths = {65, 66, 0}}};
}

void fill(call& c, const range_case& r) {
  rows* const operands[] = {&c.q, &c.k, &c.v, &c.d_out};
  for (std::size_t n = 0; n < 4; ++n) {
    rows& x = *operands[n];
    const float most = r.size[n];
    const auto last = std::ranges::upper_bound(sizes, most) - sizes.begin();
    x.fill(40 + n);
    x.each([&](auto b, auto h, auto i, auto d) {
      const auto step = r.how == sized::by_row ? 3 * i + b : h + b;
      const float by = r.how == sized::alike || most == 1
                           ? most
                           : sizes[static_cast<std::size_t>((last - 1 + step) % last)];
      x(b, h, i, d) *= by;
    });
  }
}
double largest_of(const rows& x) {
  double largest = 0;
  x.each([&](auto b, auto h, auto i, auto d) {
    largest = std::max(largest, std::abs(static_cast<double>(x(b, h, i, d))));
  });
  return largest;
}
// What FP32's sums reach at most: of logits and outputs, and of gradients.
bool overflows(const call& c) {
  const double depth = static_cast<double>(c.of.depth);
  return depth * largest_of(c.q) * largest_of(c.k) > largest_float ||
         static_cast<double>(c.of.keys) * largest_of(c.v) > largest_float;
}
bool gradients_overflow(const call& c) {
  const double rows = static_cast<double>(std::max(c.of.queries * c.of.heads, c.of.keys)),
               g = largest_of(c.d_out), dp = 2 * static_cast<double>(c.of.depth) * g * largest_of(c.v);
  return rows * dp * std::max({1., largest_of(c.q), largest_of(c.k)}) > largest_float ||
         rows * g > largest_float;
}

class attention_ranges : public on_device {};
AP_ATTENTION_ON_BOTH(attention_ranges);

TEST_P(attention_ranges, ends_of_the_range_are_within_the_bounds) {
  const std::vector<range_case> all = cases();
  const std::vector<shape> of = shapes_of_ranges();
  const std::array<std::string, 4> steps{"naive", "tiled", "double-buffered", "roles"};
  int forwards = 0, backwards = 0;
  for (std::size_t n = 0; n < all.size(); ++n)
    for (std::size_t m = 0; m < of.size(); ++m) {
      // The CPU executor takes a shape of each case, and every third one of those of many sizes.
      if (!on_gpu() && (m != n % of.size() || (all[n].how != sized::alike && n % 3 != 0))) continue;
      call c(of[m]);
      fill(c, all[n]);
      if (overflows(c)) continue;
      for (const std::string& policy :
           {std::string("fp16"), std::string("fp16-short"), std::string("fp32"), steps[(n + m) % 4]}) {
        if (policy == "roles" && (c.of.bias || c.of.visible)) continue;
        const bool by_parts = policy.starts_with("fp16") || policy == "roles";
        const arithmetic by = by_parts ? arithmetic::fp16 : arithmetic::fp32;
        const std::string what = text(all[n]) + ", " + policy + ", " + text(of[m]);
        c.forward(where(), {.policy = policy});
        ASSERT_EQ(c.wrong_forward(by), "") << what;
        ++forwards;
        const bool computes_gradients =
            policy == "fp16" || policy == "fp32" ||
            (policy == "fp16-short" && of[m].depth <= attentions::fp16::most_short_gradient);
        if (!computes_gradients || gradients_overflow(c)) continue;
        c.backward(where(), {.policy = policy});
        ASSERT_EQ(c.wrong_backward(by), "") << what;
        ++backwards;
      }
    }
  std::printf("%d forward and %d backward calls\n", forwards, backwards);
  EXPECT_GT(forwards, 250);
  EXPECT_GT(backwards, 100);
}

// Weights are 2^15 times as large in the gradients of keys, so dP has less room than FP32 has.
TEST_P(attention_ranges, large_gradients_of_peaked_weights_do_not_overflow) {
  for (const std::string policy : {"fp16", "fp16-short", "fp32"}) {
    call c({.queries = 9, .keys = 70, .depth = 64});
    c.q.fill(1, 8), c.v.fill(3, 3e17f), c.d_out.fill(4, 3e17f);
    c.forward(where(), {.policy = policy});
    c.backward(where(), {.policy = policy});
    EXPECT_EQ(c.wrong_backward(policy == "fp32" ? arithmetic::fp32 : arithmetic::fp16), "") << policy;
  }
}

// D is of all V: a tile of keys whose own V are small is multiplied by it, too.
TEST_P(attention_ranges, large_values_reach_the_gradients_of_other_tiles) {
  for (const std::string policy : {"fp16", "fp16-short", "fp32"}) {
    call c({.queries = 1, .keys = 65, .depth = 1, .scale = 1.f});
    c.q.each([&](auto b, auto h, auto i, auto n) { c.q(b, h, i, n) = 8; });
    c.k.each([&](auto b, auto h, auto j, auto n) { c.k(b, h, j, n) = j % 64 == 0 ? 1.f : 0.f; });
    c.v.each([&](auto b, auto h, auto j, auto n) { c.v(b, h, j, n) = j == 64 ? 0x1p100f : 1.f; });
    c.d_out.each([&](auto b, auto h, auto i, auto n) { c.d_out(b, h, i, n) = 0x1p16f; });
    c.forward(where(), {.policy = policy});
    c.backward(where(), {.policy = policy});
    EXPECT_EQ(c.wrong_backward(policy == "fp32" ? arithmetic::fp32 : arithmetic::fp16), "") << policy;
  }
}

// One V of a column is up to 2^60 times the others, at weights from 1 down to what no output shows; others
// are zeros, or 2^40 apart from row to row. Weights come from a bias: logits of that size would make the
// bound larger. Another key has the weight 1, the rest none.
TEST_P(attention_ranges, large_v_at_every_weight_are_within_the_bound) {
  for (const std::int64_t depth : {64, 128})
    for (const float large : {0x1p10f, 0x1p20f, 0x1p30f, 0x1p40f, 0x1p60f}) {
      call c({.heads = 2, .kv_heads = 2, .queries = 65, .keys = 130, .depth = depth, .bias = true});
      c.q.fill(1, 0);
      for (std::int64_t n = 0; n < std::ssize(c.bias); ++n)
        c.bias[static_cast<std::size_t>(n)] = n % 130 == 129
                                                  ? -0.71f * static_cast<float>(n / 130 % 65) - 0.1f
                                              : n % 130 == 0 ? 0.f
                                                             : -90.f;
      c.v.each([&](auto b, auto h, auto j, auto n) {
        float& x = c.v(b, h, j, n);
        if (j == 129) {
          x = 1.7f * large;
        } else if (n % 3 > 0) {
          x *= n % 3 == 1 ? 0 : j % 2 == 0 ? 0x1p-20f : 0x1p20f;
        }
      });
      for (const std::string policy : {"fp16", "fp16-short", "fp32"}) {
        c.forward(where(), {.policy = policy});
        ASSERT_EQ(c.wrong_forward(policy == "fp32" ? arithmetic::fp32 : arithmetic::fp16), "")
            << policy << ", depth " << depth << ", " << large;
      }
    }
}

// A scale is a number like others, 0 too; without one it is 1 / sqrt(depth).
TEST_P(attention_ranges, every_scale_is_taken_as_it_is) {
  for (const float scale : {0.f, 1e-45f, 1e-40f, 1e-30f, -1e-42f, 1e30f})
    for (const std::string policy : {"fp16", "fp16-short", "fp32", "naive"}) {
      call c(shape{.heads = 2,
                   .kv_heads = 1,
                   .queries = 66,
                   .keys = 70,
                   .depth = 64,
                   .mask = causal::top_left,
                   .scale = scale});
      const float size = scale == 0 ? 1 : std::sqrt(1 / std::abs(scale));
      c.q.fill(1, std::min(size, 1e18f)), c.k.fill(2, std::min(size, 1e18f));
      c.forward(where(), {.policy = policy});
      const arithmetic by = policy.starts_with("fp16") ? arithmetic::fp16 : arithmetic::fp32;
      ASSERT_EQ(c.wrong_forward(by), "") << policy << ", scale " << scale;
      if (policy != "fp16" && policy != "fp32") continue;
      c.backward(where(), {.policy = policy});
      ASSERT_EQ(c.wrong_backward(by), "") << policy << ", scale " << scale;
    }
}

}  // namespace
}  // namespace antiphase::attention_test
