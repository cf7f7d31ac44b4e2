// SPDX-License-Identifier: Apache-2.0
// The checker sees every kind of memory access.
#include <gmock/gmock.h>

#include <algorithm>
#include <antiphase/checker.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <span>
#include <vector>

#include "canaries.hpp"

namespace antiphase::test {

namespace cpu {
std::vector<canary> canaries();
kernel atomic_values_kernel();
}  // namespace cpu
namespace checked {
std::vector<canary> canaries();
kernel atomic_values_kernel();
}  // namespace checked

namespace {

using testing::IsEmpty;

std::vector<std::uint64_t> run(const context& where, const kernel& k) {
  device_array<std::uint64_t> out(
      where, std::span<const std::uint64_t>(std::vector<std::uint64_t>(2 * atomic_results)));
  const canary_params params{out.data(), 3};
  where.runs_on().launch(k, {}, &params, nullptr);
  return out.to_host();
}
check_report check_one(const kernel& k, schedule order) {
  return check([&](const context& where) { run(where, k); },
               {.schedules = 1, .orders = {order}, .workers = 1, .shorten = false});
}

TEST(Canaries, AreAllFoundAtTheirLine) {
  for (const canary& c : checked::canaries())
    for (const schedule order : {schedule::forward, schedule::reversed}) {
      SCOPED_TRACE(std::string(c.name) + ", " + name(order));
      const check_report report = check_one(c.racing, order);
      EXPECT_FALSE(report.clean());
      for (const finding& f : report.findings) {
        const bool came_first = order == schedule::forward;
        EXPECT_EQ(f.kind, came_first == c.writes ? finding_kind::race : finding_kind::overwritten_in_use);
        ASSERT_TRUE(f.earlier.has_value());
        const finding_side& side = came_first ? *f.earlier : f.access;
        if ((std::string_view(c.name).starts_with("write_std_") ||
             c.name == std::string_view("atomic_add_float")) &&
            side.place.file.starts_with("/usr/include/"))
          continue;  // a standard library function that was not inlined: its caller is unknown
        EXPECT_THAT(side.place.file, testing::EndsWith("kernels_canaries.cuh"));
        EXPECT_EQ(side.place.line, c.line) << to_text(report);
        EXPECT_EQ(side.thread, 0);
        EXPECT_EQ((came_first ? f.access : *f.earlier).thread, 40);
      }
    }
}

TEST(Canaries, BehindABarrierAreSilent) {
  for (const canary& c : checked::canaries()) {
    const check_report report = check_one(c.ordered, schedule::random);
    EXPECT_TRUE(report.clean()) << c.name << "\n" << to_text(report);
  }
}

TEST(Canaries, AtomicOperationsOfTheHooksDoWhatTheyAreDefinedToDo) {
  std::vector<std::uint64_t> found;
  const check_report report =
      check([&](const context& where) { found = run(where, checked::atomic_values_kernel()); },
            {.schedules = 1, .workers = 1});
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(found[1], 0xf4f5f6f7u);
  EXPECT_EQ(found, run(context(make_cpu_executor()), cpu::atomic_values_kernel()));
}

}  // namespace
}  // namespace antiphase::test
