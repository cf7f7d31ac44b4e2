// SPDX-License-Identifier: Apache-2.0
// Parameters of the cost models: files are read whole or refused, each card has its own, and predictions grow
// with the product.
#include "src/gemm/laws/laws.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <antiphase/core/error.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/policies.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "src/gemm/laws/shipped_laws.hpp"
#include "tests/gemm/an_h200.hpp"

namespace antiphase::gemm_test {
namespace {

using testing::HasSubstr;

class counting : public gemms::law_visitor {
 public:
  int numbers = 0;
  void number(std::string_view name, double& value, double least, double most) override {
    ++numbers;
    EXPECT_LT(least, most) << name;
    EXPECT_GE(value, least) << name;
    EXPECT_LE(value, most) << name;
  }
  void enter(std::string_view) override {}
  void leave() override {}
};

TEST(gemm_laws, of_each_card_are_few_and_within_their_bounds) {
  std::set<std::string> cards;
  for (const std::string_view text : gemms::shipped_laws()) {
    gemms::laws l = gemms::parse_laws(text, "shipped");
    counting all;
    l.each(all);
    EXPECT_GT(all.numbers, 100);
    EXPECT_LE(all.numbers, 250);
    EXPECT_TRUE(cards.insert(l.device).second) << l.device;
  }
  EXPECT_EQ(cards.size(), 2u);
}
TEST(gemm_laws, are_those_of_the_card_by_its_name) {
  device_limits device = an_h200();
  EXPECT_EQ(gemms::laws_of(device).device, "NVIDIA H200");
  device.name = "NVIDIA H100 80GB HBM3";
  EXPECT_EQ(gemms::laws_of(device).device, device.name);
  device.multiprocessors = 114;
  EXPECT_EQ(gemms::laws_of(device).device, "NVIDIA H200") << "others are taken for it";
}
TEST(gemm_laws, a_file_is_read_whole_or_refused) {
  const nlohmann::json right = nlohmann::json::parse(gemms::shipped_laws().front());
  const auto said = [](const nlohmann::json& file) -> std::string {
    try {
      gemms::parse_laws(file.dump(), "'a.json'");
      return "nothing";
    } catch (const bad_request& e) {
      return e.what();
    }
  };
  EXPECT_EQ(said(right), "nothing");
  EXPECT_THAT(said(3),
              HasSubstr("laws 'a.json': expected a JSON object with 'device', 'multiprocessors' and 'laws'"));
  nlohmann::json wrong = right;
  wrong["laws"]["fp64"]["ring"].erase("cluster");
  EXPECT_THAT(said(wrong), HasSubstr("'stream.ring.cluster' is missing"));
  wrong = right, wrong["laws"]["fp64-dots"]["start"] = "fast";
  EXPECT_THAT(said(wrong), HasSubstr("'dots.start' is \"fast\": expected a number from 0.3 to 3"));
  wrong = right, wrong["laws"]["fp16"]["line"] = nullptr;
  EXPECT_THAT(said(wrong), HasSubstr("'split.line' is null: expected a number"));
  wrong = right, wrong["laws"]["fp16"]["mma"] = 1;
  EXPECT_THAT(said(wrong), HasSubstr("'split.mma' is 1: expected an object"));
  wrong = right, wrong["laws"]["fp64-short"]["strat"] = 1;
  EXPECT_THAT(said(wrong), HasSubstr("'short.' has 3 members: expected the 2 that the laws know"));
}

// Doubling M, N or K never lowers the prediction by more than the error of a fit: on each card, for auto and
// for each policy where it may be chosen. Not compared with a vector, which has kernels and a cost model of
// its own.
TEST(gemm_laws, predictions_grow_with_the_product) {
  int compared = 0;
  for (const char* const card : {"NVIDIA H200", "NVIDIA H100 80GB HBM3"}) {
    device_limits device = an_h200();
    device.name = card;
    const context where(make_cpu_executor({.limits = device}));
    const auto takes = [&](std::string_view policy, std::int64_t m, std::int64_t n, std::int64_t k) {
      const auto at = [](std::uintptr_t place) { return reinterpret_cast<float*>(place << 44); };
      const gemm_problem p{.a = row_major<const float>(at(1), m, k),
                           .b = row_major<const float>(at(2), k, n),
                           .c = row_major(at(3), m, n)};
      try {
        return explain(where, p, {.policy = policy}).predicted;
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

}  // namespace
}  // namespace antiphase::gemm_test
