// SPDX-License-Identifier: Apache-2.0
// Predicted times of scans, by step: docs/learn/model.md.
#pragma once
#include <antiphase/executor/pipeline_cost.hpp>
#include <antiphase/scan/ladder.hpp>
#include <cstdint>

namespace antiphase::scans {

// Seconds, and their parts, of a scan of one line of `count` elements of `size` bytes, both in and out, by a
// step of the ladder. Infinite where the step does not take such an array.
prediction predict(const machine_profile& on, const step& how, std::int64_t count, std::size_t size);

}  // namespace antiphase::scans
