// SPDX-License-Identifier: Apache-2.0
// Names in the lists of kernels: the correct one, and the fault of each other.
#pragma once
#include <antiphase/device/kernel.cuh>

#include "tests/checker/letter/letter.hpp"

namespace antiphase::letter {
inline namespace AP_TARGET {

template <class K> mutant right(const char* name, use how = {}) {
  return {.name = name, .code = kernel_of<K>(name), .policy = how};
}
template <class K>
mutant wrong(const char* name, const char* broken, finding_kind by, const char* says, use how = {}) {
  return {.name = name, .broken = broken, .found = {by, says}, .code = kernel_of<K>(name), .policy = how};
}

}  // namespace AP_TARGET
}  // namespace antiphase::letter
