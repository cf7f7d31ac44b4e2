// Broken products as a test sees them.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <ostream>
#include <string>
#include <vector>

namespace antiphase::gemm_test {

enum class outcome {
  right,  // under every seed
  wrong,  // under at least one
};
inline void PrintTo(outcome o, std::ostream* out) { *out << (o == outcome::right ? "right" : "wrong"); }
// A kernel that takes gemms::problem as its params; one block per tile of `side` x `side` outputs.
struct mutant {
  std::string fault;
  kernel what;
  outcome early, late;  // by the landing of its copies
};
constexpr int mutant_side = 16, mutant_tile_k = 16;

}  // namespace antiphase::gemm_test
