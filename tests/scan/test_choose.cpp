// SPDX-License-Identifier: Apache-2.0
// The choice of `auto` against the rule in other words; and the table against the existing kernels.
#include <gmock/gmock.h>

#include <antiphase/core/error.hpp>
#include <string_view>

#include "library/scan/choose.hpp"
#include "library/scan/columns/columns_plan.hpp"
#include "library/scan/ring/ring_plan.hpp"
#include "library/scan/wave/wave_plan.hpp"
#include "tests/executor/elsewhere.hpp"
#include "tests/scan/support.hpp"

namespace antiphase::scans {
namespace {

constexpr scan_operation operations[] = {scan_operation::sum, scan_operation::product, scan_operation::min,
                                         scan_operation::max};

template <class F> void each_type(F f) {
  for (int e = 0; e <= static_cast<int>(last_element); ++e) f(static_cast<element>(e));
}
// Calls f with the operations of all types, and with sums in wider types.
template <class F> void each_kind(F f) {
  each_type([&](element type) {
    for (const scan_operation operation : operations) f(problem{.type = type, .operation = operation});
    each_type([&](element wider) {
      if (accumulates(type, wider)) f(problem{.type = type, .accumulate = wider});
    });
  });
}
// Addresses without arrays.
problem placed(problem p, std::int64_t outer, std::int64_t length, std::int64_t inner) {
  p.in = reinterpret_cast<const void*>(std::uintptr_t{1} << 12);
  p.out = reinterpret_cast<void*>(std::uintptr_t{1} << 60);
  p.outer = outer;
  p.length = length;
  p.inner = inner;
  return p;
}
const scan_keys keys{.data = reinterpret_cast<const void*>(std::uintptr_t{1} << 61)};

std::string_view taken(const executor& on, const problem& p, const scan_keys* by) {
  try {
    return choose(on, p, by, "auto").chosen->name;
  } catch (const not_supported&) {
    return "nothing";
  }
}

// The rule of `auto`, case by case.
std::string_view expected(bool gpu, int major, const problem& p, bool by_key) {
  const std::int64_t size = static_cast<std::int64_t>(size_of(p.type)), lines = p.outer * p.inner;
  const bool half = p.type == element::f16 || p.type == element::bf16,
             wide = p.accumulate.value_or(p.type) != p.type,
             in_f64 = p.operation == scan_operation::product && is_floating(p.type);
  const bool several = by_key || p.outer > 1;
  const std::string_view ring = major == 9 ? "single-pass" : "single-pass-async";
  const bool in_list =
      gpu || major == 9 || p.type == element::f32 || p.type == element::u8 || p.type == element::i8;
  const bool has_ring = major >= 8 && p.inner == 1 && in_list && !(several && wide);
  const std::string_view once = has_ring ? ring : "nothing", twice = half || wide ? "nothing" : "items";
  if (by_key) return once;
  if (gpu && major >= 8 && lines == 1 && p.operation == scan_operation::sum && !half && !wide &&
      p.length * size <= 16 << 20)
    return "one-wave";
  if (!gpu && lines > 1 && !half && !wide) {
    const std::int64_t most = size == 8 || in_f64 ? 8 : 16;
    if (p.length <= most) return "items-thread";
    if (p.length <= 32 * most) return "items-warp";
  }
  // Totals of 8 bytes take two of the 2^31 words available to columns.
  const bool too_many = (size_of(p.accumulate.value_or(p.type)) == 8 || in_f64) &&
                        p.outer * p.length * p.inner > std::int64_t{1} << 40;
  const std::string_view in_one = p.inner > 1 && major >= 8 && !too_many ? "columns" : once;
  const bool first_once = gpu && p.outer * p.length * p.inner * size > 65536;
  if (first_once) return in_one != "nothing" ? in_one : twice;
  return twice != "nothing" ? twice : in_one;
}

TEST(scan_table, takes_what_the_rule_says) {
  for (const bool gpu : {false, true})
    for (const auto& [major, minor] : {std::pair{7, 5}, {8, 0}, {8, 9}, {9, 0}, {10, 0}, {12, 0}}) {
      device_limits limits = simulated_device();
      limits.major = major;
      limits.minor = minor;
      const std::shared_ptr<const executor> on = gpu ? std::make_shared<test::stands_for_a_gpu>(major, minor)
                                                     : make_cpu_executor({.limits = limits});
      each_kind([&](const problem& kind) {
        for (const std::int64_t outer : {1, 2, 1000})
          for (const std::int64_t inner : {1, 3})
            for (const std::int64_t length : {1,
                                              2,
                                              8,
                                              9,
                                              16,
                                              17,
                                              256,
                                              257,
                                              512,
                                              513,
                                              4096,
                                              8192,
                                              8193,
                                              16384,
                                              16385,
                                              32769,
                                              65537,
                                              2 << 20,
                                              (2 << 20) + 1,
                                              4 << 20,
                                              (4 << 20) + 1,
                                              (16 << 20) + 1,
                                              1 << 30}) {
              const problem p = placed(kind, outer, length, inner);
              ASSERT_EQ(taken(*on, p, nullptr), expected(gpu, major, p, false))
                  << (gpu ? "GPU " : "CPU ") << major << "." << minor << ", " << description(p, nullptr)
                  << ", " << outer << " x " << length << " x " << inner;
              if (outer * inner == 1) {
                ASSERT_EQ(taken(*on, p, &keys), expected(gpu, major, p, true))
                    << description(p, &keys) << ", " << length;
              }
            }
      });
    }
}

TEST(scan_table, of_nothing) {
  for (const int major : {7, 8, 9, 10}) {
    const test::stands_for_a_gpu on(major, 0);
    const problem p = placed({}, 1, 0, 1);
    EXPECT_EQ(taken(on, p, nullptr), "items");
    EXPECT_EQ(taken(on, p, &keys), major == 9 ? "single-pass" : "single-pass-async");
  }
}

// A step takes a request if and only if there is a kernel for it.
TEST(scan_table, knows_the_kernels_without_looking_for_them) {
  const auto on = make_cpu_executor();
  const auto is_in_list = [](const step& how, const problem& p, bool segments) {
    const element in = unsigned_of(p.type), out = unsigned_of(p.accumulate.value_or(p.type));
    const scan_operation least = p.operation == scan_operation::max ? scan_operation::min : p.operation;
    for (const single_pass_instance& i : single_pass_instances(target::cpu))
      if (i.step == how.name && i.in == in && i.out == out && i.operation == least &&
          (i.over == lines_kind::segments) == segments)
        return true;
    for (const columns_instance& i : columns_instances(target::cpu))
      if (is_for_columns(how) && i.in == in && i.out == out && i.operation == least && !segments) return true;
    if (segments || in != out) return false;
    for (const instance& i : instances(target::cpu))
      if (i.step == std::string_view(how.name) && i.type == computed_as(p) && i.operation == p.operation)
        return true;
    for (const wave_instance& i : wave_instances(target::cpu))
      if (is_one_wave(how) && i.type == computed_as(p) && i.operation == p.operation) return true;
    return false;
  };
  int takes = 0;
  each_kind([&](const problem& kind) {
    for (const candidate& c : candidates())
      for (const scan_keys* by : {static_cast<const scan_keys*>(nullptr), &keys}) {
        const problem p = placed(kind, 1, 1000, is_for_columns(*c.ladder) && by == nullptr ? 2 : 1);
        const bool suits = misfit_of(c, validated(*on, p, by)) == misfit::none;
        EXPECT_EQ(suits, is_in_list(*c.ladder, p, by != nullptr)) << c.name << ": " << description(p, by);
        takes += suits;
        if (suits) {
          EXPECT_EQ(choose(*on, p, by, c.name).chosen, &c);
        }
        if (by == nullptr && !kind.accumulate) {
          EXPECT_EQ(is_compiled(target::cpu, *c.ladder, p.type, p.operation), suits)
              << c.name << ": " << description(p, by);
        }
      }
  });
  EXPECT_GT(takes, 200);
}

// Kernel names derive from their step's.
TEST(scan_table, kernels_are_called_after_their_step) {
  for (const instance& i : instances(target::cpu)) {
    EXPECT_EQ(std::string("scan.") + i.step, i.kernels.scan.name);
    EXPECT_EQ(std::string("scan.") + i.step + ".totals", i.kernels.totals.name);
  }
  for (const single_pass_instance& i : single_pass_instances(target::cpu))
    EXPECT_EQ("scan." + std::string(i.step) + (i.over == lines_kind::segments ? ".segments" : ""),
              i.code.name);
}

// The documented workspace suffices for whatever runs, on any device.
TEST(scan_table, workspaces_are_enough_for_what_is_taken) {
  each_kind([&](const problem& kind) {
    for (const std::int64_t outer : {1, 3})
      for (const std::int64_t length : {1, 17, 5000, 100'000, 3'000'000}) {
        const problem p = placed(kind, outer, length, 1);
        for (const int major : {7, 8, 9, 10}) {
          const test::stands_for_a_gpu gpu(major, 0);
          for (const scan_keys* by : {static_cast<const scan_keys*>(nullptr), &keys}) {
            if (outer > 1 && by != nullptr) continue;
            if (taken(gpu, p, by) == "nothing") continue;
            const candidate& c = *choose(gpu, p, by, "auto").chosen;
            EXPECT_LE(c.traits.workspace(*c.ladder, p, by), lasting_workspace(p, by))
                << c.name << ": " << description(p, by) << ", " << length;
          }
        }
      }
  });
}

TEST(scan_table, says_what_every_policy_lacks_where_none_will_do) {
  const test::stands_for_a_gpu turing(7, 5);
  try {
    choose(turing, placed({.accumulate = element::f64}, 1, 1000, 1), nullptr, "auto");
    FAIL() << "there is no such kernel";
  } catch (const not_supported& e) {
    using testing::HasSubstr;
    EXPECT_THAT(e.what(),
                testing::AllOf(HasSubstr("no scan policy takes this problem"),
                               HasSubstr("items: sum of f32 into f64"),
                               HasSubstr("single-pass-async: it needs asynchronous copies (cp.async)")));
  }
}

}  // namespace
}  // namespace antiphase::scans
