// SPDX-License-Identifier: Apache-2.0
// Constants of the cost models: both cards have the same, files are read whole or refused, an unknown card
// takes the H200's, and what follows for torch's own operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/published.hpp>
#include <antiphase/gemm/gain.hpp>
#include <antiphase/torch_judgement.hpp>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "src/costs/models.hpp"
#include "src/costs/shipped_models.hpp"

namespace antiphase {
namespace {

using nlohmann::json;
using testing::HasSubstr;

device_limits card_named(const char* name, int multiprocessors = 132) {
  device_limits d = published_device("9.0");
  d.name = name, d.multiprocessors = multiprocessors;
  return d;
}

class all_constants : public costs::constant_visitor {
 public:
  std::map<std::string, double> values;
  void number(std::string_view name, double& value, double least, double most) override {
    EXPECT_LT(least, most) << name;
    EXPECT_GE(value, least) << name;
    EXPECT_LE(value, most) << name;
    EXPECT_TRUE(values.emplace(path_ + "/" + std::string(name), value).second) << path_ << "/" << name;
  }
  void enter(std::string_view group) override { path_ += "/" + std::string(group); }
  void leave() override { path_.resize(path_.rfind('/')); }

 private:
  std::string path_;
};

// By their JSON pointers, as the files have them and as the visitor reads them.
TEST(constants, each_card_has_all_of_them_and_each_is_read) {
  std::set<std::string> cards;
  for (const std::string_view text : costs::shipped_models()) {
    costs::models models = costs::parse_models(text, "shipped");
    all_constants read;
    models.each(read);
    const json given = json::parse(text)["constants"].flatten();
    ASSERT_EQ(read.values.size(), given.size()) << models.device;
    for (const auto& [path, value] : read.values) {
      ASSERT_TRUE(given.contains(path)) << path;
      EXPECT_EQ(given[path].get<double>(), value) << path;
    }
    EXPECT_GT(read.values.size(), 250u);
    EXPECT_LT(read.values.size(), 350u);
    EXPECT_TRUE(cards.insert(models.device).second) << models.device;
  }
  EXPECT_EQ(cards, (std::set<std::string>{"NVIDIA H100 80GB HBM3", "NVIDIA H200"}));
}

TEST(constants, files_are_read_whole_or_refused) {
  const json right = json::parse(costs::shipped_models().front());
  const auto said = [](const json& file) -> std::string {
    try {
      costs::parse_models(file.dump(), "'a.json'");
      return "nothing";
    } catch (const bad_request& e) {
      return e.what();
    }
  };
  EXPECT_EQ(said(right), "nothing");
  EXPECT_THAT(said(3), HasSubstr("cost models 'a.json': expected a JSON object with 'device', "
                                 "'multiprocessors' and 'constants'"));
  const auto changed = [&](const char* group, const char* name, const json& value) {
    json wrong = right;
    wrong["constants"][json::json_pointer(group)][name] = value;
    return said(wrong);
  };
  json wrong = right;
  wrong["constants"]["products"]["fp64"]["ring"].erase("cluster");
  EXPECT_THAT(said(wrong), HasSubstr("'products.fp64.ring.cluster' is missing"));
  EXPECT_THAT(changed("/products/fp64-dots", "start", "fast"),
              HasSubstr("'products.fp64-dots.start' is \"fast\": expected a number from 0.3 to 3"));
  EXPECT_THAT(changed("/attention/fp16", "round", nullptr),
              HasSubstr("'attention.fp16.round' is null: expected a number"));
  EXPECT_THAT(changed("/scans", "items", 1), HasSubstr("'scans.items' is 1: expected an object"));
  EXPECT_THAT(changed("/products/fp64-short", "strat", 1),
              HasSubstr("'products.fp64-short.' has 3 members: expected the 2 that the cost models know"));
  EXPECT_THAT(changed("/torch", "least", 1), HasSubstr("'torch.' has 4 members: expected the 3"));
}

// What an unknown card takes.
TEST(constants, an_unknown_card_takes_an_h200s_and_overrides_nothing) {
  for (const char* const name : {"NVIDIA H200", "NVIDIA H100 80GB HBM3"}) {
    EXPECT_EQ(costs::models_of(card_named(name)).device, name);
    EXPECT_TRUE(is_measured(card_named(name)));
  }
  std::vector<device_limits> unknown{card_named("NVIDIA H100 80GB HBM3", 114),
                                     card_named("NVIDIA GH200 480GB")};
  for (const device_limits& d : published_devices()) unknown.push_back(d);
  const torch_attention_call attention{.members = 8, .heads = 12, .queries = 4096, .keys = 4096, .depth = 64};
  const torch_scan_call scan{.length = 1'000'000, .inner = 32};
  const context h200(make_cpu_executor({.limits = card_named("NVIDIA H200")}));
  EXPECT_TRUE(judge(h200, attention, 1e-3).wins);
  EXPECT_TRUE(judge(h200, scan).wins);
  for (const device_limits& d : unknown) {
    SCOPED_TRACE(d.name);
    EXPECT_EQ(costs::fitted_models_of(d), nullptr);
    EXPECT_EQ(costs::models_of(d).device, "NVIDIA H200");
    EXPECT_FALSE(is_measured(d));
    const context where(make_cpu_executor({.limits = d}));
    EXPECT_FALSE(judge(where, attention, 1e-3).wins);
    EXPECT_FALSE(judge(where, scan).wins);
    EXPECT_EQ(judge(where, scan).torch_seconds, judge(h200, scan).torch_seconds);
    const float* const a = nullptr;
    const gemms::problem p{.a = row_major(a, 4096, 4096),
                           .b = row_major(a, 4096, 4096),
                           .c = row_major(static_cast<float*>(nullptr), 4096, 4096)};
    EXPECT_EQ(cublas_seconds(d, p, {}), multiply_adds_seconds(d, p, {}));
  }
}

// Microseconds of torch on an H100: docs/python.md.
TEST(torch_judgement, times_are_those_of_the_cost_models) {
  const context where(make_cpu_executor({.limits = card_named("NVIDIA H100 80GB HBM3")}));
  const auto attention = [&](const torch_attention_call& call, double predicted = 1e-3) {
    return judge(where, call, predicted);
  };
  // 64 x 64 pairs by tiles; of 2474 queries 39 tiles, of 1942 keys 31
  const torch_attention_call causal{
      .members = 3, .heads = 12, .queries = 2474, .keys = 1942, .depth = 100, .causal = true};
  EXPECT_NEAR(attention(causal).torch_seconds,
              5e-6 + 36 * 64 * (64 * (31 * 32 / 2 + 8 * 31) + 39 * 70.) * (4.3 + .0497 * 100) * 1e-12, 1e-12);
  torch_attention_call all = causal;
  all.causal = false, all.backward = true;
  EXPECT_NEAR(attention(all).torch_seconds,
              5e-6 + 36 * 64 * (64 * 39 * 31 + 39 * 175.) * (2.2 + .239 * 100) * 1e-12, 1e-12);
  EXPECT_EQ(attention(causal).seconds, 1e-3);
  EXPECT_NEAR(attention(causal, 1e-6).seconds, 20e-6, 1e-12) << "the host's";
  EXPECT_NEAR(attention(all, 1e-6).seconds, 45e-6, 1e-12);
  const double most = .9 * attention(causal).torch_seconds;
  EXPECT_TRUE(attention(causal, most * (1 - 1e-9)).wins);
  EXPECT_FALSE(attention(causal, most * (1 + 1e-9)).wins);
  EXPECT_FALSE(attention(causal, std::numeric_limits<double>::infinity()).wins);
  for (const auto& [queries, keys, depth, fitted] : {std::tuple{128, 64, 128, true},
                                                     {127, 64, 128, false},
                                                     {128, 63, 128, false},
                                                     {128, 64, 129, false}}) {
    const torch_attention_call call{.members = 1 << 20, .queries = queries, .keys = keys, .depth = depth};
    EXPECT_EQ(attention(call).wins, fitted) << queries << " " << keys << " " << depth;
    EXPECT_EQ(std::isinf(attention(call).seconds), !fitted);
  }

  using kind = torch_scan_call::kind;
  const auto us = [&](const torch_scan_call& call) { return 1e6 * judge(where, call).torch_seconds; };
  EXPECT_NEAR(us({.length = 1 << 28}), 19 + 0x1p31 / 2.2e6, 1e-6);
  EXPECT_NEAR(us({.length = 1'000'000, .inner = 40}), 19 + 1e6 * (.05 + 32 * .01), 1e-6);
  EXPECT_NEAR(us({.outer = 2048, .length = 65536}), 19 + 2048. * 65536 * 8 / 2.2e6, 1e-6);
  EXPECT_NEAR(us({.outer = 1025, .length = 1000}), 19 + 1025 * 5.5e-3, 1e-6);
  EXPECT_NEAR(us({.operation = kind::extremes, .length = 65536}), 25 + 65536 * 2.5e-3, 1e-6);
  EXPECT_NEAR(us({.operation = kind::log_sum_exp, .length = 65536}), 20 + 65536 * 8 / 1.8e6, 1e-6);
  EXPECT_NEAR(
      1e6 *
          judge(where, torch_scan_call{.operation = kind::extremes, .length = 65536, .written = 12}).seconds,
      60 + 65536. * (16 + 32) / 2.4e6, 1e-6);
}

TEST(torch_judgement, extents_must_make_sense) {
  const context where(make_cpu_executor({.limits = card_named("NVIDIA H200")}));
  const auto said = [&](const auto& call, auto... more) -> std::string {
    try {
      judge(where, call, more...);
      return "nothing";
    } catch (const bad_request& e) {
      return e.what();
    }
  };
  constexpr std::int64_t most = std::int64_t{1} << 40;
  EXPECT_EQ(said(torch_attention_call{.queries = most, .keys = most, .depth = 64, .causal = true}, 1.),
            "nothing");
  EXPECT_EQ(said(torch_attention_call{.queries = 1, .keys = most + 1, .depth = 64}, 1.),
            "keys is 1099511627777: expected 1 to 2^40");
  EXPECT_EQ(said(torch_attention_call{.heads = 0, .queries = 1, .keys = 1, .depth = 1}, 1.),
            "heads is 0: expected 1 to 2^40");
  EXPECT_EQ(said(torch_scan_call{.length = -1}), "length is -1: expected 1 to 2^40");
  EXPECT_EQ(said(torch_scan_call{.length = 1, .written = 0}), "written is 0: expected 1 to 2^40");
}

}  // namespace
}  // namespace antiphase
