// SPDX-License-Identifier: Apache-2.0
// Findings of one cause, and of what kernels they are.
#pragma once
#include <antiphase/checker.hpp>
#include <vector>

namespace antiphase::checker_detail {

// Gives findings of one cause the same finding::group, counted from 1 in order of their first, and brings
// them together. Findings share a cause if the same missing order explains them: all pairs of places that no
// barrier separates. An access out of bounds also explains conflicts in the array that it hits.
void group_findings(std::vector<finding>& all);

// True of kernels on the library's device functions: sentences then use its words, not those of CUDA.
bool calls_library(const finding& f);

}  // namespace antiphase::checker_detail
