// A test of one mutant.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>

#include "tests/gemm/kernel_mutant.hpp"

namespace antiphase::gemms {

// The fault is found, by the kind and the words its list names, when `use` runs the kernel; without one there is nothing to find.
inline void expect_found(const kernel_mutant& m, const std::function<void(const context&)>& use) {
  check_options options;
  options.schedules = 10;
  options.workers = 1;
  options.shorten = false;
  options.limits.multiprocessors = 1;       // so that no cluster shares a tile
  const std::clock_t start = std::clock();  // of this process: other work on the machine does not count
  const check_report report = check(use, options);
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (m.broken == nullptr) {
    EXPECT_TRUE(report.clean()) << "nothing is broken, but found:\n" << to_text(report);
    return;
  }
  EXPECT_LT(took, 10);
  const auto text = [](const finding& f) {
    return f.memory + "; " + f.access.action + "; " + (f.earlier ? f.earlier->action : "") + "; " + f.missing;
  };
  EXPECT_TRUE(std::any_of(report.findings.begin(), report.findings.end(),
                          [&](const finding& f) { return f.kind == m.by && text(f).find(m.says) != std::string::npos; }))
      << m.broken << ": expected " << name(m.by) << " (" << m.says << ") among\n"
      << to_text(report);
}
inline std::string name_of(const testing::TestParamInfo<kernel_mutant>& info) { return info.param.code.name; }

}  // namespace antiphase::gemms
