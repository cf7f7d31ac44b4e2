// SPDX-License-Identifier: Apache-2.0
// Random calls of attention: every output within its bound, no stray writes, and the same bits when repeated.
// ANTIPHASE_CALLS: how many; ANTIPHASE_CALLS_SEED: the seed of the first, each has its own.
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>

#include "library/attention/fp16/fp16_kernels.hpp"
#include "tests/attention/on_device.hpp"
#include "tests/attention/support.hpp"

namespace antiphase::attention_test {
namespace {

struct random_call {
  shape of;
  std::string policy;
  float q_by = 1, k_by = 1;
  std::int64_t large_head = -1;  // whose K is 2^20 times as large, so that FP16 parts do not hold it
  bool graded = false;           // columns of V from 2^-30 to 2^30
};

random_call drawn(std::uint64_t seed, bool long_ones) {
  std::mt19937_64 generator(seed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(n));
  };
  const auto one_of = [&](auto... values) {
    const std::array all{values...};
    return all[static_cast<std::size_t>(below(static_cast<std::int64_t>(all.size())))];
  };
  const auto extent = [&] {
    return one_of(1, 3, 63, 64, 65, 127, 128, 129) + (below(2) == 0 ? 0 : below(long_ones ? 400 : 90));
  };
  random_call c;
  shape& s = c.of;
  s.members = 1 + below(3), s.kv_heads = 1 + below(2), s.heads = s.kv_heads * (1 + below(3));
  s.queries = extent(), s.keys = below(3) == 0 ? s.queries : extent();
  s.depth = below(2) == 0 ? one_of(64, 128) : 1 + below(130);
  s.mask = one_of(causal::no, causal::top_left, causal::bottom_right);
  if (below(4) == 0) s.before = below(100);
  if (below(4) == 0) s.behind = below(100);
  if (below(4) == 0) s.scale = one_of(0.01f, 1.f, -0.25f);
  s.bias = below(5) == 0, s.visible = below(5) == 0;
  s.rows_first = below(2) == 0, s.padding = below(2) == 0 ? 0 : below(9), s.offset = below(5);
  if (below(4) == 0) {
    for (std::int64_t b = 0; b < s.members; ++b) {
      s.query_lengths.push_back(static_cast<std::int32_t>(below(s.queries + 1)));
      s.key_lengths.push_back(static_cast<std::int32_t>(below(s.keys + 1)));
    }
  }
  c.policy = one_of("auto", "fp16", "fp16", "fp16-short", "fp16-short", "fp32", "tiled", "double-buffered",
                    "naive", "roles");
  c.q_by = one_of(1.f, 1.f, 8.f, 0.01f), c.k_by = one_of(1.f, 1.f, 8.f);
  if (below(6) == 0) c.large_head = below(s.kv_heads);
  c.graded = below(5) == 0;
  s.spare = below(3) == 0 ? below(40) : 0;
  return c;
}

class attention_random_calls : public on_device {};

TEST_P(attention_random_calls, keep_their_bounds) {
  const auto number = [](const char* name, long by_default) {
    const char* const text = std::getenv(name);
    return text != nullptr ? std::atol(text) : by_default;
  };
  const long calls = number("ANTIPHASE_CALLS", on_gpu() ? 500 : 60),
             first = number("ANTIPHASE_CALLS_SEED", 1);
  std::map<std::string, int> ran;
  double worst = 0, worst_gradient = 0;
  for (long n = first; n < first + calls; ++n) {
    const random_call r = drawn(static_cast<std::uint64_t>(n), on_gpu());
    call c(r.of, static_cast<std::uint64_t>(n));
    c.q.fill(static_cast<std::uint64_t>(n), r.q_by), c.k.fill(static_cast<std::uint64_t>(n) + 1, r.k_by);
    c.k.each([&](auto b, auto h, auto j, auto i) {
      if (h == r.large_head) c.k(b, h, j, i) *= 0x1p20f;
    });
    if (r.graded)
      c.v.each([&](auto b, auto h, auto j, auto i) {
        c.v(b, h, j, i) *= std::ldexp(1.f, static_cast<int>(i % 61) - 30);
      });
    const std::string what = text(r.of) + ", policy " + r.policy + ", seed " + std::to_string(n);
    std::string kernel;
    try {
      c.forward(where(), {.policy = r.policy});
      kernel = explain(where(), c.problem(), {.policy = r.policy}).kernel;
    } catch (const not_supported&) {
      ASSERT_NE(r.policy, "auto") << what;
      ++ran["refused"];
      continue;
    }
    ++ran[kernel];
    const bool by_parts = kernel.starts_with("fp16") || kernel == "roles" || kernel == "antiphase";
    ASSERT_EQ(c.wrong_forward(by_parts ? arithmetic::fp16 : arithmetic::fp32, &worst), "") << what;
    const bool computes_gradients =
        r.policy == "auto" || r.policy == "fp16" || r.policy == "fp32" ||
        (r.policy == "fp16-short" && r.of.depth <= attentions::fp16::most_short_gradient);
    if (computes_gradients && n % 2 == 0) {
      if (r.of.bias && r.of.mask == causal::no && r.of.before < 0 && r.of.behind < 0 && !r.of.packed())
        c.d_bias.assign(c.bias.size(), guard_number(3));
      c.backward(where(), {.policy = r.policy});
      const attention_gradients g = c.gradients();
      const std::string by = explain(where(), c.problem(), g, {.policy = r.policy}).kernel;
      const bool of_parts = by_parts || by.starts_with("fp16");  // the softmax is the forward's
      ASSERT_EQ(c.wrong_backward(of_parts ? arithmetic::fp16 : arithmetic::fp32, &worst_gradient), "")
          << what;
      ++ran[by + ", gradients"];
    }
    std::vector<float> before;
    c.out.each([&](auto b, auto h, auto i, auto d) { before.push_back(c.out(b, h, i, d)); });
    c.forward(where(), {.policy = r.policy});
    std::size_t differ = 0, at = 0;
    c.out.each([&](auto b, auto h, auto i, auto d) {
      differ += static_cast<std::size_t>(!same_bits(before[at++], c.out(b, h, i, d)));
    });
    ASSERT_EQ(differ, 0u) << what << ": outputs that differ when repeated";
  }
  for (const auto& [name, count] : ran) std::printf("%s: %d calls\n", name.c_str(), count);
  std::printf("largest error as a part of its bound: %.3f, of gradients: %.3f\n", worst, worst_gradient);
  EXPECT_GT(ran["fp16"], 0);
  EXPECT_GT(ran["fp16-short"], 0);
  EXPECT_GT(ran["fp16-short, gradients"], 0);
}
AP_ATTENTION_ON_BOTH(attention_random_calls);

}  // namespace
}  // namespace antiphase::attention_test
