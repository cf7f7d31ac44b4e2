// SPDX-License-Identifier: Apache-2.0
// Findings of one cause, and of what kernels they are.
#pragma once
#include <antiphase/checker.hpp>
#include <vector>

namespace antiphase::checker_detail {

// Gives findings of one cause the same finding::group, counted from 1 in order of their first, and brings
// them together. The cause is a gap in the code: what is missing there is missing for all pairs of places
// around it that no barrier separates. Where an access leaves its array, what it does to another one follows.
void group_findings(std::vector<finding>& all);

// True of kernels on the library's device functions: sentences then use its words, not those of CUDA.
bool calls_library(const finding& f);

}  // namespace antiphase::checker_detail
