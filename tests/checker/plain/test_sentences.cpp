// SPDX-License-Identifier: Apache-2.0
// Findings are data: no count, group, severity or fix depends on the sentences of a report.
#include <gmock/gmock.h>

#include <antiphase/plain_cuda.hpp>
#include <filesystem>
#include <fstream>
#include <regex>

#include "checker/findings/groups.hpp"
#include "checker/order/missing.hpp"

namespace antiphase {
namespace {

using checker_detail::numbers_for_sentences;

struct with_numbers {
  with_numbers() { numbers_for_sentences = true; }
  with_numbers(const with_numbers&) = delete;
  with_numbers& operator=(const with_numbers&) = delete;
  ~with_numbers() { numbers_for_sentences = false; }
};

// All of a report that is not a sentence.
std::vector<std::string> data_of(const check_report& r) {
  std::vector<std::string> all{
      fmt::format("{} runs, {} errors, {} causes, {} notes", r.runs, r.errors(), r.causes(), r.notes.size())};
  for (const finding& f : r.findings)
    all.push_back(fmt::format("{} {} group {}: {}:{}, {} times, lacks {} at {}, {}", name(f.severity()),
                              id(f.kind), f.group, f.access.place.file, f.access.place.line, f.times,
                              name(f.missing.order()), name(f.missing.scope()), f.remarks.size()));
  return all;
}
std::vector<std::string> data_of(const std::vector<plain_fix>& fixes) {
  std::vector<std::string> all;
  for (const plain_fix& f : fixes) all.push_back(fmt::format("{}: {} of {}", f.group, f.change, f.tried));
  return all;
}

struct Sentences : testing::TestWithParam<const char*> {
  plain_program program;
  check_options options;
  Sentences() {
    program.sources = {std::string(PROGRAMS) + "/" + GetParam() + ".cu"};
    program.compiler_options = {"-DBROKEN"};
    program.object = testing::TempDir() + "sentences_" + GetParam() + ".so";
    std::filesystem::remove(program.object);
    options.schedules = 6;
  }
  ~Sentences() override { std::filesystem::remove(program.object); }
};

TEST_P(Sentences, CanBeReplacedByTheirNumbers) {
  const check_report words = check_plain(program, options);
  ASSERT_FALSE(words.clean());
  const with_numbers on;
  const check_report numbers = check_plain(program, options);
  EXPECT_EQ(data_of(numbers), data_of(words));
  for (const finding& f : numbers.findings)
    EXPECT_TRUE(f.missing.empty() || missing_text(f).starts_with('#')) << missing_text(f);
}
INSTANTIATE_TEST_SUITE_P(Programs, Sentences,
                         testing::Values("reduction", "matmul_double_buffered", "pipeline_copies",
                                         "ptx_bulk_ring", "volatile_lockstep", "last_block", "streams",
                                         "pdl_pairs", "clusters", "uninitialised", "managed", "mixed_sizes",
                                         "barrier_after_break", "histogram", "host_functions", "leak",
                                         "misaligned", "copies_refused"),
                         [](const auto& i) { return std::string(i.param); });

using Fixes = Sentences;
TEST_P(Fixes, DoNotDependOnSentences) {
  program.object.clear();
  const check_report report = check_plain(program, options);
  ASSERT_GT(report.errors(), 0u);
  const auto words = data_of(find_fixes(program, options, report, 300));
  const with_numbers on;
  EXPECT_EQ(data_of(find_fixes(program, options, report, 300)), words);
}
INSTANTIATE_TEST_SUITE_P(Programs, Fixes, testing::Values("reduction", "warp_reduction"),
                         [](const auto& i) { return std::string(i.param); });

TEST(Groups, KeepAnMbarriersWaitAndABlockBarrierApart) {
  const auto made = [](finding_kind kind, int line, int earlier, sentence missing) {
    finding f;
    f.kind = kind;
    f.space = line_memory::shared;
    f.access.place = {"no such file.cu", line};
    f.access.thread = 1;
    f.earlier = finding_side{};
    f.earlier->place = {"no such file.cu", earlier};
    f.earlier->thread = 0;
    f.missing = missing;
    return f;
  };
  const auto groups = [](std::vector<finding> all) {
    checker_detail::group_findings(all);
    return all.back().group;
  };
  const finding copy = made(finding_kind::read_before_landing, 30, 18, sentence::phase),
                race = made(finding_kind::race, 30, 26, sentence::sync_block),
                other_race = made(finding_kind::race, 30, 27, sentence::sync_block),
                refill = made(finding_kind::overwritten_in_use, 30, 20, sentence::slot_arrival);
  EXPECT_EQ(groups({copy, race}), 2);
  EXPECT_EQ(groups({race, other_race}), 1);
  EXPECT_EQ(groups({copy, refill}), 1);
}

// The modules that group findings and that fix programs read enumerators.
TEST(Groups, SearchNoTextOfFindings) {
  for (const char* file : {"/checker/findings/groups.cpp", "/checker/plain/repair/fixes.cpp"}) {
    std::ifstream in(std::string(SOURCE) + file);
    ASSERT_TRUE(in) << file;
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_THAT(text, testing::HasSubstr("missing.order()"));
    for (
        const char* search :
        {R"(missing_text)", R"(to_text\()",
         R"((missing|in_practice|memory|action|when|values|notes)\w*\)?\s*\.\s*(find|starts_with|ends_with|contains|compare)\b)",
         R"(has\([^)]*(missing|in_practice|memory|action|notes))"})
      EXPECT_FALSE(std::regex_search(text, std::regex(search))) << file << ": " << search;
  }
}

TEST(Sentences, StateTheirValues) {
  EXPECT_EQ(to_text(checker_detail::explain(sentence::aligned, 8)), "an address that is a multiple of 8");
  EXPECT_EQ(to_text({sentence::argument, {"at most {} blocks"}}), "at most {} blocks");
  EXPECT_EQ(to_text(explanation()), "");
  const with_numbers on;
  EXPECT_EQ(to_text(checker_detail::explain(sentence::aligned, 8)),
            fmt::format("#{} 8", static_cast<int>(sentence::aligned)));
}

}  // namespace
}  // namespace antiphase
