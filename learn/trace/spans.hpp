// SPDX-License-Identifier: Apache-2.0
// From the log of a recording twin to a timeline.
#pragma once
#include <antiphase/trace.hpp>
#include <cstdint>
#include <span>

#include "learn/trace/twins/twin.hpp"

namespace antiphase {

// Adds logged spans to the timeline. The log has room for `capacity` spans of each warp; counts[warp] is the
// number that the warp had, and those beyond `capacity` are counted as dropped. Time begins with the first
// span.
void collect(timeline& t, std::span<const span_record> log, std::span<const std::int32_t> counts,
             int capacity);

// For a timeline with the spans of a ring's operations: numbers their steps by order, and adds the warps'
// activities between them: loading after they acquired a slot, computing after they waited for an event. Sets
// `recorded` and `steps`. If spans were dropped, `steps` is estimated from `counts` (see collect) and the
// spans per step.
void complete_from_verbs(timeline& t, std::span<const std::int32_t> counts);

// For a timeline with complete spans (twin::spans): numbers the steps of each warp's loads, commits, waits
// and computations by order, for kernels that run one pipeline per tile. Sets `recorded` and, if it is 0,
// `steps`, in the same way.
void number_complete_spans(timeline& t, std::span<const std::int32_t> counts);

// Cuts the timeline off after its first `most` steps.
void keep_steps(timeline& t, int most);

// The number of steps that every warp has computed, in a timeline without roles.
int computed_steps(const timeline& t);

}  // namespace antiphase
