// What all tests that check kernels share.
#pragma once
#include <cstdlib>

namespace antiphase::mutants {

// How many schedules a kernel without a fault must pass.
inline int clean_schedules() {
  const char* asked = std::getenv("ANTIPHASE_CHECK_SCHEDULES");
  return asked != nullptr ? std::atoi(asked) : 20;
}

}  // namespace antiphase::mutants
