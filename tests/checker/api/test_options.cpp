// SPDX-License-Identifier: Apache-2.0
// Options as text, and the command that replays a finding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <antiphase/core/error.hpp>
#include <sstream>
#include "tests/checker/api/support.hpp"

namespace antiphase::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

check_options parsed(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; in >> word;)
    words.push_back(word.front() == '\'' ? word.substr(1, word.size() - 2) : word);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return options_of(arguments);
}
std::string refusal(const std::string& line) {
  try {
    parsed(line);
  } catch (const bad_request& e) {
    return e.what();
  }
  ADD_FAILURE() << line << " was not refused";
  return {};
}

TEST(options, are_read) {
  const check_options o = parsed(
      "--schedules 7 --seed 4294967295 --order starved,forward --landing early --resident 2,1 --workers 3 "
      "--exhaustive 9 --script "
      "12:3,40:1 --without slot");
  EXPECT_EQ(o.schedules, 7);
  EXPECT_EQ(o.seed, 4294967295u);
  EXPECT_THAT(o.orders, testing::ElementsAre(schedule::starved, schedule::forward));
  EXPECT_THAT(o.copies, testing::ElementsAre(landing::early));
  EXPECT_THAT(o.resident_blocks, testing::ElementsAre(2, 1));
  EXPECT_EQ(o.workers, 3);
  EXPECT_EQ(o.exhaustive, 9u);
  EXPECT_EQ(o.script, "12:3,40:1");
  EXPECT_EQ(o.without, ring_wait::slot);
}

TEST(options, all_is_the_default) {
  const check_options o = parsed("--order all --landing all --resident all");
  EXPECT_TRUE(o.orders.empty());
  EXPECT_TRUE(o.copies.empty());
  EXPECT_TRUE(o.resident_blocks.empty());
}

TEST(options, are_refused_by_name) {
  EXPECT_THAT(refusal("--schedules 0"), AllOf(HasSubstr("--schedules '0'"), HasSubstr("integer from 1")));
  EXPECT_THAT(refusal("--seed -1"), HasSubstr("--seed '-1'"));
  EXPECT_THAT(refusal("--seed 4294967296"), HasSubstr("to 4294967295"));
  EXPECT_THAT(refusal("--seed 1x"), HasSubstr("'1x'"));
  EXPECT_THAT(refusal("--order random,fast"),
              AllOf(HasSubstr("--order 'fast'"),
                    HasSubstr("random, forward, reversed, starved, priority or script, or all")));
  EXPECT_THAT(refusal("--order random,"), HasSubstr("--order ''"));
  EXPECT_THAT(refusal("--landing soon"), HasSubstr("early, late or mixed"));
  EXPECT_THAT(refusal("--resident 1,0"), HasSubstr("--resident '0'"));
  EXPECT_THAT(refusal("--workers -2"), HasSubstr("--workers '-2'"));
  EXPECT_THAT(refusal("--exhaustive 0"), HasSubstr("--exhaustive '0'"));
  EXPECT_THAT(refusal("--without nothing"), HasSubstr("--without 'nothing'"));
  EXPECT_THAT(refusal("--without data,slot"), HasSubstr("one of none, data, slot and barrier"));
  EXPECT_THAT(refusal("--script 3:1,2:1"), HasSubstr("script, character 5"));
  EXPECT_THAT(refusal("--colour 3"), AllOf(HasSubstr("'--colour'"), HasSubstr("--schedules, --seed")));
  EXPECT_THAT(refusal("--ordr random"), HasSubstr("did you mean --order?"));
  EXPECT_THAT(refusal("--policy random"), HasSubstr("is called --order here"));
  EXPECT_THAT(refusal("--seed"), HasSubstr("--seed has no value"));
}

// The options that a report prints run exactly that schedule again.
TEST(options, replay_a_finding) {
  const auto broken = ticket_program(publishing::relaxed_by_thread_1);
  for (const char* how : {"--order reversed", "--order random --schedules 30",
                          "--order starved,priority --schedules 30", "--exhaustive 100"})
    for (const bool shorten : {false, true}) {
      check_options options = parsed(how);
      options.shorten = shorten;
      const check_report report = check(broken, options);
      ASSERT_EQ(report.findings.size(), 1u) << how;
      const std::string command = to_text(report.findings.front().first) + " --schedules 1";
      EXPECT_THAT(to_text(report, "some command"), HasSubstr("some command " + command + "\n"));
      EXPECT_THAT(to_json(report, "some command"), HasSubstr("some command " + command));
      const check_report again = check(broken, parsed(command));
      EXPECT_EQ(again.runs, 1);
      ASSERT_EQ(again.findings.size(), 1u) << command;
      const finding &one = report.findings.front(), &other = again.findings.front();
      EXPECT_EQ(to_text(other.first), to_text(one.first)) << "a single run is not shortened";
      EXPECT_EQ(other.access.thread, one.access.thread) << "a finding is reported as its run shows it";
      EXPECT_EQ(other.access.moment, one.access.moment);
      EXPECT_EQ(other.memory, one.memory);
    }
}

}  // namespace
}  // namespace antiphase::test
