// SPDX-License-Identifier: Apache-2.0
// The compiled kernels of steps with several passes, and the plan of a request for them.
#pragma once
#include <antiphase/scan/ladder.hpp>
#include <antiphase/scan/problem.hpp>
#include <string>

#include "library/scan/request.hpp"

namespace antiphase::scans {

// Whether a step is compiled for a type and an operation, known without searching the lists.
bool has_passes(target where, const step& how, element type, scan_operation operation);

// Columns of the table in choose.hpp. The workspace ignores keys: the steps do not support segments.
misfit passes_suit(const step& how, const request& r);
std::string passes_words(misfit why, const step& how, const request& r);
std::size_t passes_workspace(const step& how, const problem& p, const scan_keys* keys);
plan plan_passes(const step& how, const request& r);

}  // namespace antiphase::scans
