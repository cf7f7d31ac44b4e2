// The kernels that only the tests of scans compile, for each target.
#pragma once
#include <antiphase/scan/ladder.hpp>
#include <vector>

namespace antiphase::scan_test {

enum class carried { brackets, nullable, matrix };

// One step of the ladder with another number of threads and another type.
struct test_kernels {
  const char* step;
  carried type;
  prefix::policy how;
  prefix::kernel_pair kernels;
};
// A kernel that is wrong in one place.
struct mutant {
  const char* fault;
  prefix::kernel_pair kernels;
};

}  // namespace antiphase::scan_test
