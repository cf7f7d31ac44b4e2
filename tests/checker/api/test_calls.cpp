// SPDX-License-Identifier: Apache-2.0
// A finding names the calls that led to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <antiphase/checker.hpp>
#include <fstream>
#include <string>
#include <vector>

namespace antiphase::test {
namespace checked {
kernel calling_kernel();
}
namespace {

std::vector<std::string> text_of(const std::vector<code_place>& places) {
  std::vector<std::string> all;
  for (const code_place& p : places) {
    std::ifstream file(KERNELS_CALLS);
    std::string line;
    for (int i = 0; i < p.line; ++i) std::getline(file, line);
    all.push_back(line.substr(line.find("//") == std::string::npos ? 0 : line.find("//")));
  }
  return all;
}

TEST(calls, of_the_later_side_are_named_up_to_the_kernel) {
  const auto program = [](const context& where) {
    device_array<std::uint32_t> word(where, std::vector<std::uint32_t>{0});
    std::uint32_t* const p = word.data();
    where.runs_on().launch(checked::calling_kernel(), {}, &p, nullptr);
  };
  const check_report report = check(program, {.schedules = 1, .workers = 1});
  ASSERT_FALSE(report.clean());
  const finding& f = report.findings.front();
  EXPECT_THAT(text_of({f.access.place}), testing::ElementsAre("// line of the access"));
  EXPECT_THAT(text_of(f.access.callers),
              testing::ElementsAre("// line of the first call", "// line of the second call",
                                   "// line of the third call"))
      << to_text(report);
  // Only the inlined callers of the earlier access are known.
  ASSERT_TRUE(f.earlier.has_value());
  EXPECT_THAT(text_of(f.earlier->callers), testing::ElementsAre("// line of the first call"));
  EXPECT_THAT(to_text(report), testing::HasSubstr("called from "));
}

}  // namespace
}  // namespace antiphase::test
