// Kernels with one fault each, and how the checker must find it.
#pragma once
#include <antiphase/checker.hpp>
#include <antiphase/executor/kernel.hpp>
#include <ostream>
#include <vector>

namespace antiphase::gemms {

struct kernel_mutant {
  kernel code;
  const char* broken = nullptr;  // null: nothing is
  finding_kind by{};
  const char* says = "";  // a part of that finding's text
};
inline void PrintTo(const kernel_mutant& m, std::ostream* out) { *out << m.code.name; }

}  // namespace antiphase::gemms
