// SPDX-License-Identifier: Apache-2.0
// Checks with the number of schedules that the test run asks for.
#pragma once
#include <antiphase/checker.hpp>
#include <antiphase/core/error.hpp>
#include <cstdlib>

namespace antiphase::mutants {

// The number of schedules that a kernel without a fault must pass.
inline int clean_schedules() {
  const char* asked = std::getenv("ANTIPHASE_CHECK_SCHEDULES");
  return asked != nullptr ? std::atoi(asked) : 20;
}

// `program` returns a description of wrong numbers, or an empty string.
inline check_report checked_run(const std::function<std::string(const context&)>& program, int schedules) {
  check_options how;
  how.schedules = schedules;
  how.workers = 1;
  how.shorten = false;
  return check(
      [&](const context& where) {
        if (const std::string wrong = program(where); !wrong.empty()) throw device_error(wrong);
      },
      how);
}

}  // namespace antiphase::mutants
