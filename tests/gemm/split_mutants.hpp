// The kernels of kernels_split_mutants.cuh: the product of split operands with one fault each, and how the checker must find it.
#pragma once
#include <antiphase/checker.hpp>
#include <antiphase/gemm/split_product.hpp>
#include <ostream>
#include <vector>

namespace antiphase::mm {

struct split_mutant {
  product_instance with;
  const char* broken = nullptr;  // null: nothing is
  finding_kind by{};
  const char* says = "";  // a part of that finding's text
};
inline void PrintTo(const split_mutant& m, std::ostream* out) { *out << m.with.code.name; }

namespace checked {
std::vector<split_mutant> split_mutants();
}

}  // namespace antiphase::mm
