// SPDX-License-Identifier: Apache-2.0
// Tests of mutants, one function per check that may have to find one. On a GPU,
// tests/checker/mutants/on_gpu.cpp runs them.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <ctime>
#include <functional>
#include <string>

#include "tests/support/mutant.hpp"

namespace antiphase::test {

// A finding as text without line numbers.
inline std::string text_of(const finding& f) {
  return f.memory + "; " + f.access.action + "; " + (f.earlier ? f.earlier->action : "") + "; " +
         missing_text(f);
}
inline bool is_the_one(const found_by& by, const finding& f) {
  return f.kind == by.finding && text_of(f).find(by.says) != std::string::npos;
}

// Schedules for a kernel of a few blocks, on a device with `number` multiprocessors.
inline check_options on_multiprocessors(int number, int schedules) {
  check_options options;
  options.schedules = schedules;
  options.limits.multiprocessors = number;
  return options;
}

// The checker reports the mutant's finding when `use` runs its kernel, within `seconds` of CPU time; a mutant
// without a fault gets no finding.
template <class How> void expect_accused(const mutant<How>& m, const std::function<void(const context&)>& use,
                                         check_options options, double seconds = 10) {
  options.workers = 1;
  options.shorten = false;
  const std::clock_t start = std::clock();  // CPU time of this process only
  const check_report report = check(use, options);
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (m.broken == nullptr) {
    EXPECT_TRUE(report.clean()) << "nothing is broken, but found:\n" << to_text(report);
    return;
  }
  EXPECT_LT(took, seconds);
  EXPECT_TRUE(std::ranges::any_of(report.findings, [&](const finding& f) { return is_the_one(m.found, f); }))
      << m.broken << ": expected " << name(m.found.finding) << " (" << m.found.says << ") among\n"
      << to_text(report);
}

// The outcome over seeds 1 to `seeds`, with early and late copy landings, is the mutant's. run(landing, seed)
// returns whether the numbers are right; a device_error counts as a report.
template <class How, class Run> void expect_outcomes(const mutant<How>& m, unsigned seeds, Run run) {
  for (const landing copies : {landing::early, landing::late}) {
    const outcome expected = copies == landing::early ? m.found.early : m.found.late;
    const std::string when = copies == landing::early ? "early" : "late";
    bool any_wrong = false;
    for (unsigned seed = 1; seed <= seeds; ++seed) {
      SCOPED_TRACE(m.name + ", seed " + std::to_string(seed) + ", copies land " + when);
      outcome seen = outcome::reported;
      try {
        seen = run(copies, seed) ? outcome::right : outcome::wrong_numbers;
      } catch (const device_error& e) {
        EXPECT_THAT(e.what(), testing::HasSubstr(m.found.says));
      }
      any_wrong = any_wrong || seen == outcome::wrong_numbers;
      if (expected == outcome::caught)
        EXPECT_NE(seen, outcome::right);
      else if (expected == outcome::sometimes_wrong)
        EXPECT_NE(seen, outcome::reported);
      else
        EXPECT_EQ(seen, expected);
    }
    EXPECT_TRUE(any_wrong || expected != outcome::sometimes_wrong)
        << m.name << ": right under every seed, copies land " << when;
  }
}

template <class How> std::string name_of(const testing::TestParamInfo<mutant<How>>& info) {
  std::string name = info.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace antiphase::test
