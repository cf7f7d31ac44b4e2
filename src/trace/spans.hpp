// SPDX-License-Identifier: Apache-2.0
// From what a recording twin has logged to a timeline.
#pragma once
#include <antiphase/trace.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "src/trace/twin.hpp"

namespace antiphase {

// What the warps logged, warp by warp, `capacity` spans for each; counts[warp] says how many it had. Adds
// them to the timeline, counts the others as dropped, and lets time begin with the first of them.
void collect(timeline& t, std::span<const span_record> log, std::span<const std::int32_t> counts,
             int capacity);

// Of a timeline whose spans are those of a ring's verbs: numbers their steps, by their order, and adds what
// warps did between them: loading after they acquired a slot, working after they waited for an event. Sets
// `recorded`, and `steps` to as many as there were: where spans were dropped, by `counts` (as of collect) and
// how many a step has.
void complete_from_verbs(timeline& t, std::span<const std::int32_t> counts);

// Of a timeline whose spans are complete (twin::spans): numbers the steps of each warp's loads, commits,
// waits and computations by their order, as kernels do that run one pipeline for each of their tiles. Sets
// `recorded`, and `steps` if that is 0, in the same way.
void number_complete_spans(timeline& t, std::span<const std::int32_t> counts);

// Ends the timeline with the first `most` steps.
void keep_steps(timeline& t, int most);

// The steps that every warp has computed, of a timeline without roles.
int computed_steps(const timeline& t);

}  // namespace antiphase
