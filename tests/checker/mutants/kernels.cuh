// SPDX-License-Identifier: Apache-2.0
// All mutants of a target.
#include <antiphase/device/index.cuh>

#include "tests/checker/mutants/mutant.hpp"

namespace antiphase::mutants {
inline namespace AP_TARGET {

std::vector<mutant> threads_of_a_block();
std::vector<mutant> blocks_and_launches();
std::vector<mutant> asynchronous();
std::vector<mutant> bulk_copies();

std::vector<mutant> all() {
  std::vector<mutant> list = threads_of_a_block();
  for (auto more : {&blocks_and_launches, &asynchronous, &bulk_copies})
    for (const mutant& m : more()) list.push_back(m);
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::mutants
