// SPDX-License-Identifier: Apache-2.0
// Constants of the cost models: both cards have the same, files are read whole or refused, an unknown card
// takes the H200's, and what follows for torch's own operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/published.hpp>
#include <antiphase/gemm/gain.hpp>
#include <antiphase/torch_comparison.hpp>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "library/costs/models.hpp"
#include "library/costs/shipped_models.hpp"

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
    EXPECT_LT(read.values.size(), 500u);
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
  EXPECT_THAT(changed("/attention/fp16", "few keys row", nullptr),
              HasSubstr("'attention.fp16.few keys row' is null: expected a number"));
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
  EXPECT_TRUE(compare(h200, attention, 1e-3).wins);
  EXPECT_TRUE(compare(h200, scan).wins);
  for (const device_limits& d : unknown) {
    SCOPED_TRACE(d.name);
    EXPECT_EQ(costs::fitted_models_of(d), nullptr);
    EXPECT_EQ(costs::models_of(d).device, "NVIDIA H200");
    EXPECT_FALSE(is_measured(d));
    const context where(make_cpu_executor({.limits = d}));
    EXPECT_FALSE(compare(where, attention, 1e-3).wins);
    EXPECT_FALSE(compare(where, scan).wins);
    EXPECT_EQ(compare(where, scan).torch_seconds, compare(h200, scan).torch_seconds);
    const float* const a = nullptr;
    const gemms::problem p{.a = row_major(a, 4096, 4096),
                           .b = row_major(a, 4096, 4096),
                           .c = row_major(static_cast<float*>(nullptr), 4096, 4096)};
    EXPECT_EQ(cublas_seconds(d, p, {}), multiply_adds_seconds(d, p, {}));
  }
}

// Microseconds of torch's operators on an H200: 12 of the random calls to which nothing was fitted.
TEST(torch_comparison, times_of_attention_are_near_measured_ones) {
  const context where(make_cpu_executor({.limits = card_named("NVIDIA H200")}));
  struct row {
    std::int64_t members, heads, queries, keys, depth;
    bool causal, biased;
    double forward, backward;
  };
  for (const row& m : {row{50, 2, 4592, 712, 48, true, false, 2423.1, 6559.2},
                       row{37, 10, 592, 592, 24, false, false, 996.7, 2468.7},
                       row{37, 2, 2080, 2080, 64, false, true, 3032.7, 6699.3},
                       row{6, 3, 1923, 1923, 128, true, false, 547.5, 1663.7},
                       row{2, 3, 4244, 4244, 128, false, false, 1654.9, 4852.8},
                       row{30, 7, 1367, 1367, 80, true, false, 2397.4, 7495.9},
                       row{9, 9, 780, 780, 160, false, true, 1175.7, 3379.9},
                       row{7, 5, 2024, 2130, 192, false, false, 3130.9, 9926.5},
                       row{48, 2, 3352, 3352, 72, false, false, 11366.2, 34678.9},
                       row{57, 4, 784, 784, 64, true, false, 719.1, 1720.2},
                       row{4, 3, 784, 784, 24, false, false, 105.1, 232.9},
                       row{42, 3, 408, 408, 112, false, false, 341.3, 1041.0}}) {
    torch_attention_call call{.members = m.members,
                              .heads = m.heads,
                              .queries = m.queries,
                              .keys = m.keys,
                              .depth = m.depth,
                              .causal = m.causal,
                              .biased = m.biased};
    SCOPED_TRACE(testing::Message() << m.queries << " x " << m.keys << " x " << m.depth);
    EXPECT_NEAR(1e6 * compare(where, call, 1).torch_seconds / m.forward, 1, 0.2);
    call.backward = true;
    EXPECT_NEAR(1e6 * compare(where, call, 1).torch_seconds / m.backward, 1, 0.2);
  }
}

TEST(torch_comparison, calls_of_attention_are_taken_for_a_gain_where_times_were_fitted) {
  const context where(make_cpu_executor({.limits = card_named("NVIDIA H200")}));
  const auto attention = [&](const torch_attention_call& call, double predicted = 1e-3) {
    return compare(where, call, predicted);
  };
  torch_attention_call call{.members = 64, .heads = 12, .queries = 1024, .keys = 1024, .depth = 64};
  for (const auto& [backward, host, of_one_host, share] :
       {std::tuple{false, 29e-6, 14e-6, .85}, std::tuple{true, 52e-6, 20e-6, .8}}) {
    call.backward = backward;
    EXPECT_EQ(attention(call).seconds, 1e-3);
    EXPECT_NEAR(attention(call, 1e-6).seconds, host, 1e-12) << "the host's";
    torch_attention_call of_one = call, captured = call;
    of_one.launches = 1, captured.launches = 0;
    EXPECT_NEAR(attention(of_one, 1e-6).seconds, of_one_host, 1e-12) << "the host's";
    EXPECT_EQ(attention(captured, 1e-6).seconds, 1e-6);
    const double most = share * attention(call).torch_seconds;
    EXPECT_TRUE(attention(call, most * (1 - 1e-9)).wins);
    EXPECT_FALSE(attention(call, most * (1 + 1e-9)).wins);
    EXPECT_FALSE(attention(call, std::numeric_limits<double>::infinity()).wins);
  }
  // A call as short as the host's time is taken if the GPU takes less of it, too.
  const torch_attention_call brief{.queries = 49, .keys = 49, .depth = 32, .launches = 1};
  torch_attention_call captured = brief, invalid = brief;
  captured.launches = 0, invalid.launches = -1;
  const double on_gpu = attention(captured).torch_seconds;
  EXPECT_LT(on_gpu, 12e-6);
  EXPECT_NEAR(attention(brief).torch_seconds, 17e-6, 1e-12);
  torch_attention_call gradients = brief;
  gradients.backward = true;
  EXPECT_NEAR(attention(gradients).torch_seconds, 60e-6, 1e-12);
  for (const torch_attention_call& one : {brief, captured}) {
    EXPECT_TRUE(attention(one, .85 * on_gpu * (1 - 1e-9)).wins) << one.launches;
    EXPECT_FALSE(attention(one, .85 * on_gpu * (1 + 1e-9)).wins) << one.launches;
  }
  EXPECT_THROW(attention(invalid), bad_request);
  EXPECT_FALSE(attention({.queries = 49, .keys = 49, .depth = 32}, 5e-6).wins) << "of several launches";
  EXPECT_GT(attention({.queries = 999, .keys = 999, .depth = 64, .biased = true}).torch_seconds,
            attention({.queries = 999, .keys = 999, .depth = 64}).torch_seconds);
  for (const auto& [depth, fitted] : {std::pair{256, true}, {257, false}}) {
    const torch_attention_call few{
        .backward = true, .members = 1 << 20, .queries = 2, .keys = 1, .depth = depth};
    EXPECT_EQ(attention(few).wins, fitted) << depth;
    EXPECT_EQ(std::isinf(attention(few).seconds), !fitted) << depth;
  }
}

// Microseconds of torch on an H100: docs/use/python.md.
TEST(torch_comparison, times_of_scans_are_those_of_the_cost_models) {
  const context where(make_cpu_executor({.limits = card_named("NVIDIA H100 80GB HBM3")}));
  using kind = torch_scan_call::kind;
  const auto us = [&](const torch_scan_call& call) { return 1e6 * compare(where, call).torch_seconds; };
  EXPECT_NEAR(us({.length = 1 << 28}), 19 + 0x1p31 / 2.2e6, 1e-6);
  EXPECT_NEAR(us({.length = 1'000'000, .inner = 40}), 19 + 1e6 * (.05 + 32 * .01), 1e-6);
  EXPECT_NEAR(us({.outer = 2048, .length = 65536}), 19 + 2048. * 65536 * 8 / 2.2e6, 1e-6);
  EXPECT_NEAR(us({.outer = 1025, .length = 1000}), 19 + 1025 * 5.5e-3, 1e-6);
  EXPECT_NEAR(us({.operation = kind::extremes, .length = 65536}), 25 + 65536 * 2.5e-3, 1e-6);
  EXPECT_NEAR(us({.operation = kind::log_sum_exp, .length = 65536}), 20 + 65536 * 8 / 1.8e6, 1e-6);
  EXPECT_NEAR(
      1e6 * compare(where, torch_scan_call{.operation = kind::extremes, .length = 65536, .written = 12})
                .seconds,
      60 + 65536. * (16 + 32) / 2.4e6, 1e-6);
}

TEST(torch_comparison, extents_must_make_sense) {
  const context where(make_cpu_executor({.limits = card_named("NVIDIA H200")}));
  const auto said = [&](const auto& call, auto... more) -> std::string {
    try {
      compare(where, call, more...);
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
