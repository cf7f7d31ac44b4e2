// SPDX-License-Identifier: Apache-2.0
// The checker finds every mutant, with the kind and text given in its list, and reports nothing for a kernel
// without a fault. The stored results for the table in evaluation/who_finds_what.md are current.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/checker/mutants/checks.hpp"
#include "tests/checker/mutants/mutant.hpp"
#include "tests/support/mutant_runners.hpp"

namespace antiphase::mutants {
namespace checked {
std::vector<mutant> all();
}
namespace {

using json = nlohmann::json;
using test::is_the_one;

constexpr int schedules = 20;
check_report check_mutant(const mutant& m) {
  return checked_run([&](const context& where) { return run(where, m); },
                     m.broken == nullptr ? clean_schedules() : schedules);
}
json to_json(const mutant& m, const check_report& report) {
  std::vector<std::string> kinds;
  for (const finding& f : report.findings)
    if (std::find(kinds.begin(), kinds.end(), name(f.kind)) == kinds.end()) kinds.emplace_back(name(f.kind));
  const bool as_told = std::any_of(report.findings.begin(), report.findings.end(),
                                   [&](const finding& f) { return is_the_one(m.found, f); });
  return {{"name", m.name},
          {"family", m.policy.family},
          {"broken", m.broken == nullptr ? "" : m.broken},
          {"by", as_told ? json(name(m.found.finding)) : json()},
          {"kinds", kinds},
          {"gpu", !needs_checker(m.policy.program)}};
}
const json& stored() {
  static const json all = json::parse(std::ifstream(STORED_FINDINGS)).at("mutants");
  return all;
}
json stored_of(const mutant& m) {
  const auto found =
      std::find_if(stored().begin(), stored().end(), [&](const json& one) { return one["name"] == m.name; });
  return found == stored().end() ? json() : *found;
}

class mutants : public testing::TestWithParam<mutant> {};
TEST_P(mutants, are_found) {
  const mutant& m = GetParam();
  const std::clock_t start = std::clock();  // CPU time of this process only
  const check_report report = check_mutant(m);
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(to_json(m, report), stored_of(m))
      << "not what is stored: run evaluation/who_finds_what.py checker";
  if (m.broken == nullptr) {
    EXPECT_TRUE(report.clean()) << "nothing is broken, but found:\n" << to_text(report);
    return;
  }
  EXPECT_LT(took, 20);
  const auto found = std::find_if(report.findings.begin(), report.findings.end(),
                                  [&](const finding& f) { return is_the_one(m.found, f); });
  ASSERT_TRUE(found != report.findings.end())
      << m.broken << ": expected " << name(m.found.finding) << " (" << m.found.says << ") among\n"
      << to_text(report);
  if (m.found.finding == finding_kind::deadlock || m.found.finding == finding_kind::wrong_result ||
      m.policy.program == program::read_back_unordered)
    return;  // no place
  using testing::HasSubstr;
  EXPECT_THAT(found->access.place.file,
              testing::AnyOf(HasSubstr("tests/"), HasSubstr("library/gemm/"), HasSubstr("antiphase/scan/")));
  EXPECT_GT(found->access.place.line, 0);
}
INSTANTIATE_TEST_SUITE_P(all, mutants, testing::ValuesIn(checked::all()), test::name_of<use>);

TEST(list_of_mutants, has_sixty_and_a_right_one_per_family) {
  std::map<std::string, int> broken, whole;
  for (const mutant& m : checked::all()) ++(m.broken == nullptr ? whole : broken)[m.policy.family];
  int count = 0;
  for (const auto& [family, number] : broken) {
    count += number;
    EXPECT_GE(whole[family], 1) << family;
  }
  EXPECT_GE(count, 60);
  EXPECT_EQ(checked::all().size(), stored().size()) << "run evaluation/who_finds_what.py checker";
}

// For evaluation/who_finds_what.py: the checker's findings for each mutant.
void write_json(const char* path) {
  std::string lines;
  for (const mutant& m : checked::all())
    lines += (lines.empty() ? "  " : ",\n  ") + to_json(m, check_mutant(m)).dump();
  std::ofstream(path) << "{\"schema\": 1, \"schedules\": " << schedules << ", \"mutants\": [\n"
                      << lines << "\n]}\n";
}

}  // namespace
void write_checker_json(const char* path) { write_json(path); }
}  // namespace antiphase::mutants

// --checker-json FILE: writes the findings instead of testing them.
int main(int count, char** words) {
  if (count == 3 && std::strcmp(words[1], "--checker-json") == 0) {
    antiphase::mutants::write_checker_json(words[2]);
    return 0;
  }
  testing::InitGoogleTest(&count, words);
  return RUN_ALL_TESTS();
}
