// SPDX-License-Identifier: Apache-2.0
// Predictions grow with what there is to do, are near what was measured, and never below what the device can
// do.
#include <gtest/gtest.h>

#include <antiphase/executor/machine.hpp>

#include "tests/gemm/asked.hpp"

namespace antiphase::gemm_test {
namespace {

// Doubling M, N or K never lowers the prediction by more than the error of a fit: on each card, for auto and
// for each policy where it may be chosen. Not compared with a vector, which has kernels and a cost model of
// its own.
TEST(gemm_costs, predictions_grow_with_the_product) {
  int compared = 0;
  for (const char* const card : {"NVIDIA H200", "NVIDIA H100 80GB HBM3"}) {
    device_limits device = an_h200();
    device.name = card;
    const context where = on_paper(device);
    const auto takes = [&](std::string_view policy, std::int64_t m, std::int64_t n, std::int64_t k) {
      try {
        return explained(where, {m, n, k}, policy).predicted;
      } catch (const not_supported&) {
        return -1.;
      }
    };
    std::vector<std::string_view> policies{"auto"};
    for (const gemms::policy_info& p : gemms::policies())
      if (p.ladder == nullptr) policies.push_back(p.name);
    for (const std::string_view policy : policies)
      for (const std::int64_t m : {1, 8, 64, 512, 4096})
        for (const std::int64_t n : {1, 16, 128, 1024, 8192})
          for (const std::int64_t k : {2, 16, 64, 256, 2048}) {
            const double here = takes(policy, m, n, k);
            for (const auto& [more_m, more_n, more_k] :
                 {std::array<std::int64_t, 3>{2 * m, n, k}, {m, 2 * n, k}, {m, n, 2 * k}}) {
              const double there = takes(policy, more_m, more_n, more_k);
              const bool few_k = k <= 4 && (policy == "tf32" || policy.starts_with("fp16"));
              const bool vector = (m == 1 && more_m > 1) || (n == 1 && more_n > 1);
              if (here < 0 || there < 0 || few_k || vector) continue;
              ++compared;
              EXPECT_GE(there, 0.92 * here) << policy << " on " << card << ": " << more_m << " x " << more_n
                                            << " x " << more_k << " after " << m << " x " << n << " x " << k;
            }
          }
  }
  EXPECT_GT(compared, 3000);
}

// Microseconds that were measured on an H200, in graphs, of policies that auto takes and of such that it does
// not.
TEST(gemm_costs, predictions_are_near_what_was_measured) {
  const context where = on_paper(an_h200());
  struct measured {
    const char* policy;
    asked of;
    double us;
  };
  for (const auto& [policy, of, us] : {measured{"fp64", {512, 512, 512}, 9.72},
                                       {"fp16", {512, 512, 512}, 12.58},
                                       {"fp64", {824, 5220, 44}, 19.34},
                                       {"fp16", {824, 5220, 44}, 22.0},
                                       {"fp64", {1024, 1024, 64}, 6.32},
                                       {"fp64", {4, 8192, 1024}, 9.96},
                                       {"fp64", {8192, 8, 1024}, 11.64},
                                       {"tf32", {64, 4096, 4096, "nt"}, 33.6},
                                       {"tf32", {1'000'000, 64, 64}, 137.2},
                                       {"tf32", {8192, 8192, 16}, 90.1},
                                       {"tf32", {4096, 4096, 64, "nn", 1}, 46.8},
                                       {"fp16", {8192, 8192, 64}, 101.5},
                                       {"fp16", {4096, 4096, 4096}, 629.6}}) {
    const double predicted = 1e6 * explained(where, of, policy).predicted;
    EXPECT_NEAR(predicted, us, 0.45 * us) << policy << ", " << of;
  }
}
// What sets times apart on any such device: rows of C that are no whole sectors, and that fp16-mma has no
// clusters to share a tile among.
TEST(gemm_costs, predictions_know_what_is_slow) {
  const context where = on_paper(published_device("9.0"));
  const auto takes = [&](const char* policy, std::int64_t m, std::int64_t n, std::int64_t k, float beta = 0) {
    return explained(where, {.m = m, .n = n, .k = k, .beta = beta}, policy).predicted;
  };
  for (const auto& [policy, by_halves, anywhere] : {std::tuple{"fp16", 1.02, 1.02}, {"tf32", 1.05, 1.1}}) {
    EXPECT_GT(takes(policy, 4096, 4100, 64), by_halves * takes(policy, 4096, 4096, 64)) << policy;
    EXPECT_LT(takes(policy, 4100, 4096, 64), 1.25 * takes(policy, 4096, 4096, 64))
        << policy << ": C lies by rows";
    EXPECT_GT(takes(policy, 4096, 4099, 64), anywhere * takes(policy, 4096, 4096, 64)) << policy;
    EXPECT_GT(takes(policy, 4096, 4096, 64, 1), 1.2 * takes(policy, 4096, 4096, 64)) << policy;
  }
  EXPECT_GT(takes("fp16-mma", 128, 128, 8192), 4 * takes("fp16", 128, 128, 8192));
  EXPECT_LT(takes("fp16-mma", 4096, 4096, 1024), 4 * takes("fp16", 4096, 4096, 1024));
  EXPECT_GT(takes("fp64", 4000, 1003, 64), takes("fp64", 4000, 1000, 64));
}

// Memory, as far as the L2 cache cannot help, and multiplying units.
TEST(gemm_costs, no_prediction_is_below_what_the_device_can_do) {
  std::vector<machine_profile> machines = shipped_profiles();
  for (const device_limits& d : published_devices()) machines.push_back(profile_of(d));
  int compared = 0;
  for (const machine_profile& on : machines) {
    const context where = on_paper(on.limits);
    const double processors = on.limits.multiprocessors, power = on.clock.value / on.clock_under_power.value;
    for (const double m : {1, 2, 16, 64, 1000, 16384})
      for (const double n : {1, 8, 17, 64, 1024, 16384})
        for (const double k : {1, 4, 15, 256, 8192, 65536})
          for (const float beta : {0.f, 1.f}) {
            const asked q{.m = std::int64_t(m), .n = std::int64_t(n), .k = std::int64_t(k), .beta = beta};
            const double bytes = 4 * (m * k + k * n + m * n * (beta == 0 ? 1 : 2));
            const auto least = [&](const gemms::policy_info& p) {
              const double rate = p.ladder != nullptr ? on.multiply_adds.value * processors * on.clock.value
                                  : p.name.starts_with("fp16") ? on.tensor_fp16.value * power / 3
                                  : p.name == "tf32"           ? on.tensor_tf32.value * power / 3
                                                               : on.tensor_fp64.value;
              const double chain = p.name == "naive" ? 4 * k / on.clock.value : 0;
              return (1 - 1e-9) * std::max({(bytes - on.cache_size.value) / on.memory_bytes.value,
                                            bytes / on.cache_bytes.value, m * n * k / rate, chain});
            };
            SCOPED_TRACE(testing::Message() << q << " on " << on.limits.name);
            for (const gemms::policy_info& p : gemms::policies()) try {
                ASSERT_GE(explained(where, q, p.name).predicted, least(p)) << p.name;
                ++compared;
              } catch (const not_supported&) {
              }
            for (const gemm_choice::candidate& c : explained(where, q).considered)
              ASSERT_GE(c.predicted, least(*gemms::find_policy(c.kernel))) << c.kernel;
          }
  }
  EXPECT_GT(compared, 40'000);
}

}  // namespace
}  // namespace antiphase::gemm_test
