// All mutants of a target.
#include <antiphase/device/index.cuh>

#include "tests/mutants/mutant.hpp"

namespace antiphase::mutants {
inline namespace AP_TARGET {

std::vector<mutant> plain();
std::vector<mutant> async();
std::vector<mutant> bulk_copies();

std::vector<mutant> all() {
  std::vector<mutant> list = plain();
  for (auto more : {&async, &bulk_copies})
    for (const mutant& m : more()) list.push_back(m);
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::mutants
