// SPDX-License-Identifier: Apache-2.0
// Products by a step of the ladder.
#pragma once
#include <antiphase/gemm/ladder.hpp>

namespace antiphase::gemms {

// prepare() of a problem that has been checked. Throws not_supported if there is no kernel or no such grid.
plan plan_step(target where, const step& how, const problem& p, parts run = parts::all);

}  // namespace antiphase::gemms
