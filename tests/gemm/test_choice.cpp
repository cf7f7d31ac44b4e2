// SPDX-License-Identifier: Apache-2.0
// What auto takes: never what is not able, and little slower than the fastest, as predicted and as measured.
// Which policy that is no thread asks here; how fast each of them is predicted to be, test_costs does.
#include <algorithm>
#include <antiphase/executor/machine.hpp>
#include <antiphase/executor/published.hpp>
#include <antiphase/gemm/policies.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <sstream>
#include <thread>

#include "tests/gemm/asked.hpp"

namespace antiphase::gemm_test {
namespace {

using testing::HasSubstr;

std::vector<device_limits> devices() {
  std::vector<device_limits> all(published_devices().begin(), published_devices().end());
  const device_limits h200 = published_device("9.0");
  for (const std::size_t kib : {4, 16, 48, 99}) {
    device_limits less = h200;
    less.shared_opt_in = kib * 1024;
    less.shared_per_block = std::min(less.shared_per_block, less.shared_opt_in);
    all.push_back(less);
  }
  all.push_back(simulated_device());
  all.push_back(h200);
  all.back().threads_per_block = 512;
  return all;
}
std::string_view last_step_for(const device_limits& d) {
  std::string_view last;
  for (const gemms::policy_info& p : gemms::policies())
    if (p.ladder != nullptr && first_missing(features_of(d), p.needs) == nullptr) last = p.name;
  return last;
}

// Of those that are considered, the first that can; strict takes the ladder's last step, whatever the shape.
TEST(gemm_table, auto_takes_the_first_that_can) {
  int compared = 0;
  for (const device_limits& d : devices()) {
    if (d.shared_opt_in < 48 * 1024) continue;
    const context where = on_paper(d);
    // With less the last step depends on its variant, of which test_limits knows.
    const bool roomy = d.threads_per_block == 1024 && (d.major < 8 || d.shared_opt_in >= 227 * 1024);
    for (const std::int64_t m : {0, 1, 64, 257, 2048, 8576})
      for (const std::int64_t n : {0, 1, 128, 257, 5000})
        for (const std::int64_t k : {0, 1, 4, 5, 17, 512, 7168, 65540})
          for (const asked& q : {asked{m, n, k},
                                 {m, n, k, "tn"},
                                 {m, n, k, "nt"},
                                 {m, n, k, "tnt"},
                                 {.m = m, .n = n, .k = k, .offset = 1},
                                 {.m = m, .n = n, .k = k, .beta = 0.5f, .alpha = 0},
                                 {.m = m, .n = n, .k = k, .beta = 2, .alpha = -1.5f}})
            for (const precision accuracy : {precision::fp32, precision::strict}) {
              SCOPED_TRACE(testing::Message()
                           << q << " on " << d.name << " with " << d.shared_opt_in / 1024 << " KiB");
              const gemm_choice is = explain(where, q.what(), {.accuracy = accuracy});
              ASSERT_TRUE(std::isfinite(is.bound.units)) << "auto runs only what is guaranteed";
              ASSERT_TRUE(is.predicted > 0 && std::isfinite(is.predicted));
              const bool something = m > 0 && n > 0 && k > 0 && q.alpha != 0;
              if (!something || accuracy == precision::strict) {
                ASSERT_TRUE(is.considered.empty());
                if (roomy) {
                  ASSERT_EQ(is.kernel, last_step_for(d));
                }
                continue;
              }
              ++compared;
              ASSERT_TRUE(std::ranges::is_sorted(is.considered, {}, &gemm_choice::candidate::predicted));
              const auto first = std::ranges::find_if(is.considered, [&](const auto& c) {
                return std::ranges::none_of(is.refused,
                                            [&](const auto& r) { return r.starts_with(c.kernel + ":"); });
              });
              if (first == is.considered.end()) {
                ASSERT_NE(gemms::find_policy(is.kernel)->ladder, nullptr) << is.kernel;
              } else {
                ASSERT_EQ(is.kernel, first->kernel);
              }
              ASSERT_EQ(explained(where, q, is.kernel).predicted, is.predicted) << "it can be asked for";
            }
  }
  EXPECT_GT(compared, 9000);
}

// Whoever may be asked for by name is hardly ever predicted to be faster than what auto takes: the rules that
// leave some policies unasked cost little. They cost most for a vector with a long K, and on an A100 for a
// batch with few lines.
TEST(gemm_table, auto_loses_little_of_what_is_predicted) {
  regret lost;
  for (const machine_profile& on : shipped_profiles()) {
    const device_limits& d = on.limits;
    // Elsewhere what keeps the guarantee is slow, and auto takes the ladder.
    if (!features_of(d).fast_fp64 && d.major != 8) continue;
    const context where = on_paper(d);
    for (const std::int64_t m : {1, 2, 16, 64, 1000, 16384})
      for (const std::int64_t n : {1, 8, 17, 64, 1024, 16384})
        for (const std::int64_t k : {1, 4, 15, 256, 8192, 65536})
          for (const auto& [beta, count] : {std::pair{0.f, 1}, {1.f, 1}, {0.f, 1000}}) {
            if (count > 1 && m * n * k > 1'000'000) continue;
            const asked q{.m = m, .n = n, .k = k, .beta = beta, .count = count};
            const gemm_choice is = explained(where, q);
            if (is.considered.empty()) continue;
            double least = is.predicted;
            for (const gemm_choice& other : able(where, q)) {
              // Of few k Tensor Cores are sure of nothing, and their cost models do not know that.
              const bool sure = k > 4 || gemms::find_policy(other.kernel)->sums.has_value();
              if (sure && keeps(other.bound, is.asked)) least = std::min(least, other.predicted);
            }
            lost.add(is.predicted / least, testing::Message()
                                               << q << " on " << d.name << " by " << is.kernel);
          }
  }
  lost.print();
  EXPECT_GT(lost.products, 2000);
  EXPECT_GE(lost.share(), 0.95);
  EXPECT_LE(lost.mean(), 1.02);
  EXPECT_LE(lost.worst, 4);
}

// Contests: products that were timed on an H200 by several policies, each in the form that was the fastest.
struct contest {
  asked q;
  std::map<std::string, double, std::less<>> us;
  void add(std::string_view policy, double time) {
    // the policies' names of the day, and those of today
    static const std::map<std::string, std::string, std::less<>> renamed{
        {"narrow", "tf32"}, {"short", "fp64-short"}, {"split", "fp16"}, {"stream", "fp64"}};
    const auto now = renamed.find(policy);
    double& least =
        us.try_emplace(now == renamed.end() ? std::string(policy) : now->second, time).first->second;
    least = std::min(least, time);
  }
};
std::vector<contest> contests() {
  const auto read = [](const char* name) {
    std::ifstream file(std::filesystem::path(ANTIPHASE_RESULTS) / "experiments" / name);
    return nlohmann::json::parse(file);
  };
  std::vector<contest> all;
  const nlohmann::json by_all = read("20261125-all-policies.json"),
                       of_two = read("20261126-narrow-instructions.json");
  for (const auto& r : by_all.at("products")) {
    contest one{.q = {r[0], r[1], r[2], r[5], r[4].get<float>(), r[3]}, .us = {}};
    std::string word;
    double time = 0;
    for (std::istringstream forms(r[6].get<std::string>()); forms >> word >> time;) one.add("fp64", time);
    for (std::istringstream others(r[7].get<std::string>()); others >> word >> time;) one.add(word, time);
    all.push_back(one);
  }
  for (const auto& series : of_two.at("series")) {
    contest one;
    char layout[3] = "";
    if (std::sscanf(series.at("name").get<std::string>().c_str(), "choice: %ldx%ldx%ld %2s", &one.q.m,
                    &one.q.n, &one.q.k, layout) != 4)
      continue;
    one.q.layout = layout;
    for (const auto& v : series.at("variants"))
      if (v.at("what") != "auto") one.add(v.at("what").get<std::string>(), v.at("us"));
    all.push_back(one);
  }
  return all;
}
// Some kernels of fp64 and tf32 have become faster by a quarter since.
TEST(gemm_table, auto_loses_little_of_what_was_measured) {
  const context where = on_paper(an_h200());
  regret lost;
  for (const contest& one : contests()) {
    const std::string taken = explained(where, one.q).kernel;
    const auto time = one.us.find(taken);
    if (time == one.us.end()) continue;  // whose kernels came later
    const double least = std::ranges::min(std::views::values(one.us));
    lost.add(time->second / least, testing::Message() << one.q << " by " << taken);
  }
  lost.print();
  EXPECT_GT(lost.products, 180);
  EXPECT_GE(lost.share(), 0.9);
  EXPECT_LE(lost.mean(), 1.03);
}

// The kernel follows from K and the device alone, and so do the pieces of K.
TEST(gemm_table, batch_invariant_depends_on_k_alone) {
  for (const device_limits& d : devices()) {
    if (!features_of(d).fast_fp64 || d.shared_opt_in < 99 * 1024) continue;
    const context where = on_paper(d);
    for (const std::int64_t k : {1, 4, 5, 100, 4096, 100'000}) {
      std::map<std::pair<std::string, int>, asked> seen;
      for (const std::int64_t m : {1, 8, 130, 4096})
        for (const std::int64_t n : {1, 8, 64, 3000})
          for (const std::int64_t count : {1, 3, 500}) {
            const asked q{.m = m, .n = n, .k = k, .count = count};
            const gemm_choice is =
                explain(where, q.what(), {.batch = q.of(), .reproducible = reproducibility::batch_invariant});
            const bool in_pieces = is.kernel == "tf32";  // a cluster has a piece for each block
            const int shares = is.cluster * is.parts;
            EXPECT_TRUE(shares == 1 || (in_pieces && shares == 4 && (is.cluster == 1 || is.parts == 1))) << q;
            seen.try_emplace({is.kernel, in_pieces ? 0 : is.cluster}, q);
          }
      EXPECT_EQ(seen.size(), 1u) << testing::PrintToString(seen) << " on " << d.name;
    }
  }
}

// What runs, by itself or asked for, has the features that it needs; what lacks one is refused by name and
// with the capability.
TEST(gemm_table, needs_are_honoured_on_every_published_device) {
  for (const device_limits& d : devices()) {
    const context where = on_paper(d);
    const device_features has = features_of(d);
    for (const gemms::policy_info& p : gemms::policies())
      for (const asked& q : {asked{8192, 128, 4096}, {4096, 4096, 4096}, {300, 200, 8}}) {
        SCOPED_TRACE(testing::Message() << p.name << " on " << d.name);
        const feature_name* const missing = first_missing(has, p.needs);
        try {
          const gemm_choice chosen = explained(where, q, p.name);
          EXPECT_EQ(missing, nullptr) << "it runs without " << missing->name;
          EXPECT_EQ(chosen.kernel, p.name);
          EXPECT_EQ(chosen.bound.units, p.promise(d, q.k).units);
        } catch (const not_supported& e) {
          if (missing == nullptr) continue;  // memory, or K
          EXPECT_THAT(e.what(), testing::AllOf(HasSubstr("policy " + std::string(p.name)),
                                               HasSubstr(std::string(missing->name)),
                                               HasSubstr(std::string(missing->begins)),
                                               HasSubstr(compute_capability(d))));
        }
        if (d.shared_opt_in < 16 * 1024) continue;
        for (const precision accuracy : {precision::fp32, precision::strict}) {
          const gemm_choice chosen = explain(where, q.what(), {.accuracy = accuracy});
          EXPECT_EQ(first_missing(has, gemms::find_policy(chosen.kernel)->needs), nullptr) << chosen.kernel;
        }
      }
  }
}
TEST(gemm_table, every_policy_needs_what_its_kernels_are_compiled_for) {
  for (const gemms::policy_info& p : gemms::policies()) {
    const bool waits_for_copies =
        p.ladder != nullptr && p.ladder->policy.copy == gemms::copy_kind::asynchronous;
    const bool by_wgmma = p.name == "fp16" || p.name == "tf32", by_mma = p.name == "fp16-mma";
    const bool streams = p.name == "fp64";
    EXPECT_EQ(p.needs.cp_async, waits_for_copies || by_mma || streams) << p.name;
    EXPECT_EQ(p.needs.mma_sync, by_mma || streams) << p.name;
    EXPECT_EQ(p.needs.wgmma, by_wgmma) << p.name;
    EXPECT_EQ(p.needs.fast_fp64, streams) << p.name;
    EXPECT_EQ(p.sums.has_value(), !by_wgmma && !by_mma) << p.name;
  }
}
TEST(gemm_table, names_are_found_and_others_refused) {
  EXPECT_EQ(gemms::find_policy("auto"), nullptr);
  for (const gemms::policy_info& p : gemms::policies()) EXPECT_EQ(gemms::find_policy(p.name), &p);
  EXPECT_THROW(gemms::find_policy("split_mma"), bad_request);
  EXPECT_EQ(gemms::policies().size(), std::size(gemms::steps) + 6);
}
// What a call ran is what explain() tells of it.
TEST(gemm_table, a_call_tells_what_it_ran) {
  const context where = context::on("cpu");
  const product p = product_of(random_reals(130, 20, 1), random_reals(20, 7, 2));
  matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
  const gemm_problem what{.a = a.view(), .b = b.view(), .c = c.view()};
  for (const char* policy : {"auto", "async-2", "fp16-mma"}) {
    gemm_choice ran;
    gemm(where, what, {.policy = policy, .ran = &ran});
    const gemm_choice told = explain(where, what, {.policy = policy});
    EXPECT_EQ(ran.kernel, told.kernel);
    EXPECT_EQ(ran.why, told.why);
    EXPECT_EQ(ran.blocks, told.blocks);
    EXPECT_EQ(ran.bound.units, told.bound.units);
  }
}

// A matrix of few lines and a vector, on an H200: microseconds by either policy, the mean over both layouts
// (series 20261201-long-rows of bench/results/experiments).
TEST(gemm_table, few_long_lines_are_divided_among_blocks) {
  struct measured {
    std::int64_t lines, k;
    double dots, fp64;
  };
  const context where = on_paper(an_h200());
  for (const measured& is : {measured{45, 3278, 3.0, 5.3},
                             {1, 6985, 3.5, 6.0},
                             {3, 4602, 2.8, 5.9},
                             {7, 23474, 9.7, 6.7},
                             {1, 47719, 17.5, 7.8},
                             {133, 38320, 18.4, 11.6},
                             {9, 157282, 60.5, 11},
                             {187, 140838, 96, 34.8},
                             {2, 219848, 77, 13.4}})
    for (const char* layout : {"nn", "tn"}) {
      const std::string faster = is.dots < is.fp64 ? "fp64-dots" : "fp64";
      EXPECT_EQ(explain(where, asked{is.lines, 1, is.k, layout}.what()).kernel, faster)
          << is.lines << ' ' << is.k;
      EXPECT_EQ(explain(where, asked{1, is.lines, is.k, layout}.what()).kernel, faster)
          << is.lines << ' ' << is.k;
    }
}

// What a thread has found out before must not matter: not what it found for another device that differs in
// one number, or another request.
TEST(gemm_table, what_was_chosen_before_changes_nothing) {
  std::vector<device_limits> all = devices();
  for (const int multiprocessors : {1, 20, 132}) {
    all.push_back(published_device("9.0"));
    all.back().multiprocessors = multiprocessors;
  }
  struct told {
    std::string kernel;
    std::uint64_t blocks;
    int cluster, parts;
    double predicted;
    bool operator==(const told&) const = default;
  };
  const auto tell = [](const device_limits& device, const asked& q, reproducibility how) {
    const context where(make_cpu_executor({.workers = 1, .limits = device}));
    try {
      const gemm_choice c = explain(where, q.what(), {.batch = q.of(), .reproducible = how});
      return told{c.kernel, c.blocks, c.cluster, c.parts, c.predicted};
    } catch (const not_supported&) {
      return told{};
    }
  };
  for (asked q : {asked{128, 128, 4096}, {128, 128, 4096, "nn", 1}, {64, 3000, 1000}, {4096, 8, 4096}})
    for (q.count = 1; q.count <= 3; q.count += 2)
      for (const reproducibility how : {reproducibility::by_shape, reproducibility::batch_invariant})
        for (const device_limits& device : all) {
          const told here = tell(device, q, how);
          told elsewhere{};
          std::thread([&] { elsewhere = tell(device, q, how); }).join();  // it knows nothing yet
          EXPECT_TRUE(here == elsewhere)
              << q << " on " << device.name << " of " << device.multiprocessors << ", "
              << device.shared_opt_in << " bytes: " << here.kernel << ", " << elsewhere.kernel;
        }
}

TEST(published, devices_are_known_by_their_capability) {
  for (const device_limits& d : published_devices()) {
    EXPECT_EQ(published_device(compute_capability(d)).name, d.name);
    EXPECT_LE(d.shared_opt_in, d.shared_per_multiprocessor) << d.name;
    EXPECT_GE(d.threads_per_multiprocessor, d.threads_per_block) << d.name;
  }
  try {
    published_device("5.2");
    ADD_FAILURE() << "not refused";
  } catch (const bad_request& e) {
    EXPECT_THAT(e.what(),
                testing::AllOf(HasSubstr("'5.2'"), HasSubstr("7.5, 8.0, 8.6"), HasSubstr("or 12.0")));
  }
}

}  // namespace
}  // namespace antiphase::gemm_test
