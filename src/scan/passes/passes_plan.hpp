// SPDX-License-Identifier: Apache-2.0
// The compiled kernels of the steps of several passes, and what a request becomes for them.
#pragma once
#include <antiphase/scan/ladder.hpp>
#include <antiphase/scan/problem.hpp>
#include <string>

#include "src/scan/request.hpp"

namespace antiphase::scans {

// Whether a step is compiled for a type and an operation: what the lists hold, without looking for it.
bool has_passes(target where, const step& how, element type, scan_operation operation);

// The columns of the table (choose.hpp). Keys make no difference to the workspace, since the steps have no
// segments.
misfit passes_suit(const step& how, const request& r);
std::string passes_words(misfit why, const step& how, const request& r);
std::size_t passes_workspace(const step& how, const problem& p, const scan_keys* keys);
plan plan_passes(const step& how, const request& r);

}  // namespace antiphase::scans
