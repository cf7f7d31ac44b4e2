// SPDX-License-Identifier: Apache-2.0
// A kernel's waiting loops yield to other threads; one that never ends is reported with its line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <antiphase/checker.hpp>
#include <fstream>
#include <string>
#include <vector>
#include "tests/checker/api/waiting.hpp"

namespace antiphase::test {
namespace checked {
kernel waiting_kernel(loop_of l, setting s);
}
namespace {

int schedules_of(loop_of l) { return is_plain(l) ? 1 : 5; }  // plain loads take longer
check_report checked_loop(loop_of l, setting s) {
  const auto program = [=](const context& where) {
    std::vector<std::uint32_t> words(waiting_words + 1, 1);
    words.back() = 0;
    device_array<std::uint32_t> memory(where, std::span<const std::uint32_t>(words));
    const waiting_params p{memory.data()};
    where.runs_on().launch(checked::waiting_kernel(l, s), {}, &p, nullptr);
    if (memory.to_host().back() != 3) throw std::runtime_error("not all three have seen it");
  };
  return check(program, {.schedules = schedules_of(l), .workers = 1, .shorten = false});
}
std::string line_of(const code_place& at) {
  std::ifstream file(KERNELS_WAITING);
  std::string line;
  for (int i = 0; i < at.line; ++i) std::getline(file, line);
  return line;
}

TEST(waiting, ends_when_another_thread_sets_what_is_waited_for) {
  for (const loop_of l : all_loops) {
    const check_report report = checked_loop(l, setting::done);
    EXPECT_EQ(report.clean(), !is_plain(l)) << "loop " << static_cast<int>(l) << ":\n" << to_text(report);
    for (const finding& f : report.findings)
      EXPECT_TRUE(f.kind == finding_kind::race || f.kind == finding_kind::overwritten_in_use)
          << to_text(report);
  }
}

TEST(waiting, that_never_ends_is_a_deadlock_in_the_line_of_the_loop) {
  for (const loop_of l : all_loops) {
    const check_report report = checked_loop(l, setting::forgotten);
    SCOPED_TRACE(static_cast<int>(l));
    ASSERT_EQ(report.findings.size(), 1u) << to_text(report);
    const finding& f = report.findings.front();
    EXPECT_EQ(f.kind, finding_kind::deadlock);
    EXPECT_THAT(f.access.action,
                testing::ContainsRegex("threads [01]-[12] (polling in|in a loop around what)"));
    EXPECT_THAT(f.access.action, testing::HasSubstr("threads 3-63 finished"));
    EXPECT_THAT(f.access.place.file, testing::EndsWith("kernels_waiting.cuh"));
    const char* loop = l == loop_of::compare_exchanges ? "__atomic_compare_exchange_n("
                       : l == loop_of::loads_of_many   ? "for (int i"
                                                       : "while (";
    EXPECT_THAT(line_of(f.access.place), testing::HasSubstr(loop));
    EXPECT_EQ(f.times, static_cast<std::uint64_t>(schedules_of(l)));
  }
}

}  // namespace
}  // namespace antiphase::test
