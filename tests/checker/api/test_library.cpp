// SPDX-License-Identifier: Apache-2.0
// Coverage of `antiphase check`: every kernel compiled into the library is launched by its declared case, and
// none gives a finding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <antiphase/checker.hpp>
#include <antiphase/executor/forwarding_executor.hpp>
#include <mutex>
#include <ostream>
#include <set>
#include <utility>

namespace antiphase {
void PrintTo(const checked_case& c, std::ostream* out) { *out << c.name; }
}  // namespace antiphase

namespace antiphase::test {
namespace {

// Identity of a launched instance: kernels of one type may have several names, and several types one name.
using launched = std::pair<std::string, void (*)(const void*)>;
launched identity(const kernel& k) { return {k.name, k.body}; }

// Forwards to another executor and records the launches.
class recording_executor final : public forwarding_executor {
 public:
  recording_executor(const executor& of, std::set<launched>& all, std::mutex& guard)
      : forwarding_executor(of), all_(all), guard_(guard) {}

  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream on) const override {
    {
      const std::lock_guard lock(guard_);
      all_.insert(identity(k));
    }
    return forwarding_executor::launch(k, grid, params, on);
  }

 private:
  std::set<launched>& all_;
  std::mutex& guard_;
};

std::string described(const library_kernel& k) { return std::string(k.code.name) + " (" + k.variant + ")"; }

class library_case : public testing::TestWithParam<checked_case> {};
TEST_P(library_case, launches_its_kernels_and_has_no_finding) {
  const checked_case& c = GetParam();
  std::set<launched> all;
  std::mutex guard;
  check_options options;
  options.schedules = 2;
  options.workers = 1;
  options.shorten = false;
  options.limits = c.limits;
  const check_report report = check(
      [&](const context& where) {
        c.program(context(std::make_shared<const recording_executor>(where.runs_on(), all, guard)));
      },
      options);
  EXPECT_TRUE(report.clean()) << to_text(report);
  EXPECT_GT(report.accesses, 1000u);
  for (const library_kernel& k : library_kernels())
    if (k.by_case == c.name) {
      EXPECT_EQ(all.contains(identity(k.code)), k.unchecked.empty()) << described(k) << ": " << k.unchecked;
    }
}
std::string name_of(const testing::TestParamInfo<checked_case>& info) {
  std::string name = info.param.name;
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == '/'; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(all, library_case, testing::ValuesIn(library_cases()), name_of);

TEST(waits, are_what_keeps_kernels_right) {
  struct row {
    const char* kernel;
    ring_wait without;
    finding_kind found;
  };
  for (const row& r : {row{"gemm/async-2", ring_wait::data, finding_kind::read_before_landing},
                       {"gemm/async-2", ring_wait::barrier, finding_kind::uninitialised},
                       {"gemm/fp16", ring_wait::data, finding_kind::read_before_landing},
                       {"gemm/fp16", ring_wait::slot, finding_kind::overwritten_in_use},
                       {"scan/single-pass", ring_wait::data, finding_kind::uninitialised},
                       {"scan/single-pass", ring_wait::slot, finding_kind::overwritten_in_use}}) {
    const auto found = std::ranges::find(library_cases(), std::string(r.kernel), &checked_case::name);
    ASSERT_NE(found, library_cases().end());
    const check_report report =
        check(found->program, {.schedules = 1, .without = r.without, .limits = found->limits});
    ASSERT_FALSE(report.clean()) << r.kernel << " without " << name(r.without);
    EXPECT_EQ(report.findings.front().kind, r.found) << to_text(report, "check");
    EXPECT_THAT(replay_command(report.findings.front(), "check"),
                testing::HasSubstr(std::string("--without ") + name(r.without)));
    EXPECT_LT(report.accesses, 1'000'000u) << "the run goes on after its first finding";
  }
}

TEST(library_kernels, have_a_case_each) {
  const std::vector<library_kernel> kernels = library_kernels();
  EXPECT_GT(kernels.size(), 250u);
  std::set<std::string> cases;
  for (const checked_case& c : library_cases())
    EXPECT_TRUE(cases.insert(c.name).second) << "two cases are called " << c.name;
  for (const library_kernel& k : kernels)
    EXPECT_TRUE(cases.contains(k.by_case)) << described(k) << " has no case " << k.by_case;
}
// The only unchecked kernels are halves of kernels that are timed; any other exception needs a reason.
TEST(library_kernels, are_checked_but_those_that_only_compute) {
  for (const library_kernel& k : library_kernels())
    EXPECT_EQ(!k.unchecked.empty(), k.variant.ends_with("computes only"))
        << described(k) << ": " << k.unchecked;
}

}  // namespace
}  // namespace antiphase::test
