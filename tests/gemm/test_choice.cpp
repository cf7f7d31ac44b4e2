// SPDX-License-Identifier: Apache-2.0
// Which policy auto takes for which shape on which device; what a policy needs is there where it runs.
#include <algorithm>
#include <antiphase/executor/machine.hpp>
#include <antiphase/executor/published.hpp>
#include <antiphase/gemm/policies.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <thread>

#include "tests/gemm/an_h200.hpp"
#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

using testing::HasSubstr;

struct asked {
  std::int64_t m, n, k;
  major a = major::row, b = major::row, c = major::row;
  int offset = 0;  // of A, in floats
  float alpha = 1, beta = 0;
};
std::ostream& operator<<(std::ostream& to, const asked& q) {
  const auto by = [](major m) { return m == major::row ? "by rows" : "by columns"; };
  return to << q.m << " x " << q.n << " x " << q.k << ", A " << by(q.a) << ", B " << by(q.b) << ", C "
            << by(q.c) << ", offset " << q.offset << ", " << q.alpha << " and " << q.beta;
}

// Operands at addresses that nobody reads.
gemm_problem problem_of(const asked& q) {
  const auto view = [](std::uintptr_t number, std::int64_t rows, std::int64_t columns, major by, int offset) {
    float* const data = reinterpret_cast<float*>(number << 32) + offset;
    return by == major::row ? row_major(data, rows, columns) : column_major(data, rows, columns);
  };
  const auto read = [](const matrix_view<float>& v) {
    return matrix_view<const float>{v.data, v.rows, v.columns, v.row_stride, v.column_stride};
  };
  return {read(view(1, q.m, q.k, q.a, q.offset)), read(view(2, q.k, q.n, q.b, 0)), view(3, q.m, q.n, q.c, 0),
          q.alpha, q.beta};
}

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

// Which policies can take a product for precision fp32, in other words.
std::vector<std::string> able(const device_limits& d, const asked& q) {
  const std::string capability = compute_capability(d);
  const bool ampere = capability[0] == '8', hopper = capability == "9.0";
  const bool fast_fp64 = capability == "8.0" || hopper || capability == "10.0";
  std::vector<std::string> all;
  if ((fast_fp64 || ampere) && q.k <= 4) all.emplace_back("fp64-short");
  const bool large = q.m > 512 && q.n > 512 && q.k > 512;
  const bool vector = q.m == 1 || q.n == 1;  // which is left to dots
  if (fast_fp64 && !(hopper && large) && !vector) all.emplace_back("fp64");
  const bool little = q.k <= 8192 && double(q.m) * double(q.n) * double(q.k) <= 4e6;
  const bool few = q.m <= 8 || q.n <= 8;  // which are left to stream
  if ((fast_fp64 || ampere) && (vector || little || (few && !fast_fp64))) all.emplace_back("fp64-dots");
  if (hopper && q.k > 4) {
    all.emplace_back("tf32");
    all.emplace_back("fp16");
  }
  if ((hopper || ampere) && q.k > 4) all.emplace_back("fp16-mma");
  return all;
}

// Of those that can, the one that is predicted to be the fastest; if none can, or for precision strict, the
// last step that the device has.
TEST(gemm_table, auto_takes_the_fastest_of_those_that_can) {
  int compared = 0;
  for (const device_limits& d : devices()) {
    if (d.shared_opt_in < 48 * 1024) continue;
    const context where(make_cpu_executor({.limits = d}));
    const bool small =
        d.threads_per_block < 1024 || (compute_capability(d) == "9.0" && d.shared_opt_in < 227 * 1024);
    for (const std::int64_t m : {0, 1, 64, 257, 2048, 4096, 8448, 8576})
      for (const std::int64_t n : {0, 1, 128, 256, 257, 4096, 5000})
        for (const std::int64_t k : {0, 1, 4, 5, 17, 512, 1024, 7168, 65536, 65540})
          for (const asked& q : {asked{m, n, k},
                                 {m, n, k, major::column},
                                 {m, n, k, major::row, major::column},
                                 {m, n, k, major::column, major::row, major::column},
                                 {.m = m, .n = n, .k = k, .offset = 1},
                                 {.m = m, .n = n, .k = k, .alpha = 0, .beta = 0.5f},
                                 {.m = m, .n = n, .k = k, .alpha = -1.5f, .beta = 2}})
            for (const precision accuracy : {precision::fp32, precision::strict}) {
              const gemm_choice is = explain(where, problem_of(q), {.accuracy = accuracy});
              SCOPED_TRACE(testing::Message()
                           << q << " on " << d.name << " with " << d.shared_opt_in / 1024 << " KiB");
              ASSERT_TRUE(std::isfinite(is.bound.units)) << "auto runs what is promised alone";
              ASSERT_TRUE(is.predicted > 0 && std::isfinite(is.predicted));
              const bool something = m > 0 && n > 0 && k > 0 && q.alpha != 0;
              if (!something || accuracy == precision::strict) {
                ASSERT_TRUE(is.considered.empty());
                if (compute_capability(d) == "7.5") {
                  ASSERT_EQ(is.kernel, "double-buffered");  // asynchronous copies begin with 8.0
                } else if (d.shared_opt_in >= 227 * 1024 && d.threads_per_block == 1024) {
                  // with less it depends on the variant, of which test_limits knows
                  ASSERT_EQ(is.kernel, "strict");
                }
                continue;
              }
              ASSERT_TRUE(std::ranges::is_sorted(is.considered, {}, &gemm_choice::candidate::predicted));
              std::vector<std::string> could;
              for (const gemm_choice::candidate& c : is.considered) {
                const auto about = [&](const std::string& refusal) {
                  return refusal.starts_with(c.kernel + ":");
                };
                if (std::ranges::none_of(is.refused, about)) could.push_back(c.kernel);
              }
              if (!could.empty()) {
                ASSERT_EQ(is.kernel, could.front());
              }
              if (small) continue;
              ++compared;
              // Of those behind the first that can nobody has asked whether they can.
              std::vector<std::string> right = able(d, q);
              ASSERT_EQ(could.empty(), right.empty());
              if (!right.empty()) {
                ASSERT_NE(std::ranges::find(right, is.kernel), right.end()) << is.kernel;
              }
              for (const std::string& one : right)
                ASSERT_NE(std::ranges::find(is.considered, one, &gemm_choice::candidate::kernel),
                          is.considered.end())
                    << one << " was not considered";
            }
  }
  EXPECT_GT(compared, 15'000);
}
// What is taken on an H200 takes at most a tenth longer than the fastest of what was measured there,
// whichever policy that is.
TEST(gemm_table, auto_loses_little_on_an_h200) {
  const context where(make_cpu_executor({.limits = an_h200()}));
  const auto chosen = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return explain(where, problem_of({m, n, k})).kernel;
  };
  struct measured {
    std::int64_t m, n, k;
    std::map<std::string, double> us;
  };
  for (const measured& one :
       std::initializer_list<measured>{{4096, 4096, 4096, {{"fp16", 629.6}}},
                                       // nothing comes near
                                       {16384, 16384, 16384, {{"fp16", 1}}},
                                       {1024, 1024, 1024, {{"fp16", 21}, {"tf32", 23}}},
                                       {4, 4096, 4096, {{"fp64", 20}}},
                                       {4096, 32, 4096, {{"fp64", 24}}},
                                       {64, 64, 1'000'000, {{"fp64", 1}}},
                                       {64, 4096, 4096, {{"tf32", 33.6}}},
                                       {1, 4096, 4096, {{"fp64-dots", 17.7}, {"fp64", 20.2}}},
                                       {8192, 1, 1024, {{"fp64-dots", 7.0}, {"fp64", 9.1}}},
                                       {512, 512, 512, {{"fp64", 9.7}, {"fp16", 12.4}}},
                                       {1'000'000, 64, 64, {{"tf32", 137}, {"fp64", 220}}},
                                       {100'000, 256, 32, {{"tf32", 43}, {"fp64", 55}}},
                                       {8192, 8192, 16, {{"tf32", 89}, {"fp64", 93}, {"fp16", 103}}},
                                       {32, 32, 512, {{"fp64-dots", 1.8}}},
                                       {256, 256, 256, {{"fp64", 3.9}}},
                                       {13680, 13, 4, {{"fp64-short", 1.8}, {"fp64", 3.0}}}}) {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [policy, us] : one.us) least = std::min(least, us);
    const auto taken = one.us.find(chosen(one.m, one.n, one.k));
    SCOPED_TRACE(testing::Message() << one.m << " x " << one.n << " x " << one.k << " by "
                                    << chosen(one.m, one.n, one.k));
    ASSERT_NE(taken, one.us.end());
    EXPECT_LE(taken->second, 1.1 * least);
  }
  EXPECT_EQ(explain(where, problem_of({4, 4, 4}),
                    {.batch = {.count = 100'000, .a_stride = 16, .b_stride = 16, .c_stride = 16}})
                .kernel,
            "fp64-short");
}

// Microseconds that were measured on an H200, in graphs, of policies that auto takes and of such that it does
// not.
TEST(gemm_table, predictions_are_near_what_was_measured) {
  const context where(make_cpu_executor({.limits = an_h200()}));
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
                                       {"tf32", {64, 4096, 4096, major::row, major::column}, 33.6},
                                       {"tf32", {1'000'000, 64, 64}, 137.2},
                                       {"tf32", {8192, 8192, 16}, 90.1},
                                       {"tf32", {.m = 4096, .n = 4096, .k = 64, .beta = 1}, 46.8},
                                       {"fp16", {8192, 8192, 64}, 101.5},
                                       {"fp16", {4096, 4096, 4096}, 629.6}}) {
    const double predicted = 1e6 * explain(where, problem_of(of), {.policy = policy}).predicted;
    EXPECT_NEAR(predicted, us, 0.45 * us) << policy << ", " << of;
  }
}
// What sets times apart on any such device: rows of C that are no whole sectors, and that
// split-mma has no clusters to share a tile among.
TEST(gemm_table, predictions_know_what_is_slow) {
  const context where(make_cpu_executor({.limits = published_device("9.0")}));
  const auto takes = [&](const char* policy, std::int64_t m, std::int64_t n, std::int64_t k, float beta = 0) {
    return explain(where, problem_of({.m = m, .n = n, .k = k, .beta = beta}), {.policy = policy}).predicted;
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

// Memory, as far as the L2 cache cannot help; multiplying units; and of what auto might have taken itself, it
// takes what is least.
TEST(gemm_table, no_prediction_is_below_what_the_device_can_do) {
  std::vector<machine_profile> machines = shipped_profiles();
  for (const device_limits& d : published_devices()) machines.push_back(profile_of(d));
  int compared = 0;
  for (const machine_profile& on : machines) {
    const context where(make_cpu_executor({.limits = on.limits}));
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
            const gemm_choice is = explain(where, problem_of(q));
            for (const gemms::policy_info& p : gemms::policies()) try {
                const double predicted = explain(where, problem_of(q), {.policy = p.name}).predicted;
                ASSERT_GE(predicted, least(p)) << p.name;
                ++compared;
                // A vector is left to dots, other long lines to stream, large products to FP16, and few k to
                // FP64; the ladder keeps a K of 1 alone.
                const bool by_rule = p.ladder != nullptr ||
                                     (p.name == "fp64" && (m == 1 || n == 1 || std::min({m, n, k}) > 512)) ||
                                     (p.name == "fp64-dots" && m > 1 && n > 1 && m * n * k > 4e6) ||
                                     (k <= 4 && (p.name.starts_with("fp16") || p.name == "tf32"));
                const bool compared_with =
                    features_of(on.limits).fast_fp64 || compute_capability(on.limits).starts_with("8");
                if (!by_rule && compared_with && keeps(p.promise(on.limits, q.k), is.asked)) {
                  EXPECT_LE(is.predicted, 1.02 * predicted) << is.kernel << " instead of " << p.name;
                }
              } catch (const not_supported&) {
              }
            ASSERT_GE(is.predicted, least(*gemms::find_policy(is.kernel))) << is.kernel;
            for (const gemm_choice::candidate& c : is.considered) {
              ASSERT_GE(c.predicted, least(*gemms::find_policy(c.kernel))) << c.kernel;
            }
          }
  }
  EXPECT_GT(compared, 40'000);
}

// What runs, by itself or asked for, has the features that it needs; what lacks one is refused by name and
// with the capability.
TEST(gemm_table, needs_are_honoured_on_every_published_device) {
  for (const device_limits& d : devices()) {
    const context where(make_cpu_executor({.limits = d}));
    const device_features has = features_of(d);
    for (const gemms::policy_info& p : gemms::policies())
      for (const asked& q : {asked{8192, 128, 4096}, {4096, 4096, 4096}, {300, 200, 8}}) {
        SCOPED_TRACE(testing::Message() << p.name << " on " << d.name);
        const feature_name* const missing = first_missing(has, p.needs);
        try {
          const gemm_choice chosen = explain(where, problem_of(q), {.policy = p.name});
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
          const gemm_choice chosen = explain(where, problem_of(q), {.accuracy = accuracy});
          EXPECT_EQ(first_missing(has, gemms::find_policy(chosen.kernel)->needs), nullptr) << chosen.kernel;
        }
      }
  }
}
TEST(gemm_table, every_policy_needs_what_its_kernels_are_compiled_for) {
  for (const gemms::policy_info& p : gemms::policies()) {
    const bool waits_for_copies = p.ladder != nullptr && p.ladder->how.copy == gemms::copy_kind::asynchronous;
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
  EXPECT_EQ(gemms::find_policy("split-inside"), gemms::find_policy("fp16")) << "a name that was";
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
  const auto tell = [](const device_limits& device, const asked& q, std::int64_t count, reproducibility how) {
    const context where(make_cpu_executor({.workers = 1, .limits = device}));
    try {
      const gemm_choice c = explain(where, problem_of(q),
                                    {.batch = {count, q.m * q.k, q.k * q.n, q.m * q.n}, .reproducible = how});
      return told{c.kernel, c.blocks, c.cluster, c.parts, c.predicted};
    } catch (const not_supported&) {
      return told{};
    }
  };
  asked reads_c{.m = 128, .n = 128, .k = 4096};
  reads_c.beta = 1;
  for (const asked& q : {asked{.m = 128, .n = 128, .k = 4096}, reads_c, asked{.m = 64, .n = 3000, .k = 1000},
                         asked{.m = 4096, .n = 8, .k = 4096}})
    for (const std::int64_t count : {1, 3})
      for (const reproducibility how : {reproducibility::by_shape, reproducibility::batch_invariant})
        for (const device_limits& device : all) {
          const told here = tell(device, q, count, how);
          told elsewhere{};
          std::thread([&] { elsewhere = tell(device, q, count, how); }).join();  // it knows nothing yet
          EXPECT_TRUE(here == elsewhere)
              << q << ", " << count << " times on " << device.name << " of " << device.multiprocessors << ", "
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
