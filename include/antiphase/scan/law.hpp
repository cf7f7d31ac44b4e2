// SPDX-License-Identifier: Apache-2.0
// What scans are predicted to take, by the step that runs. docs/model.md.
#pragma once
#include <antiphase/executor/pipeline_law.hpp>
#include <antiphase/scan/ladder.hpp>
#include <cstdint>

namespace antiphase::scans {

// Seconds of a scan of one line of `count` elements of `size` bytes, in and out, by a step of the ladder;
// infinite where it takes no such array. What it is made of, as of products.
prediction predict(const machine_profile& on, const step& how, std::int64_t count, std::size_t size);

}  // namespace antiphase::scans
