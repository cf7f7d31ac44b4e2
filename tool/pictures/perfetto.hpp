// SPDX-License-Identifier: Apache-2.0
// Timelines as a trace file for Perfetto (ui.perfetto.dev) and chrome://tracing.
#pragma once
#include <antiphase/trace.hpp>
#include <span>
#include <string>

namespace antiphase::tool {

// JSON in the Trace Event Format. Each timeline becomes a process; its buffers (load in flight, compute) and
// its warps (all spans) become threads; counters tell how many buffers are loading, full and in use, and the
// bytes in flight; arrows lead from a load to its first use, and from a landing or a release to the end of
// the wait for it. The format's unit is the microsecond: one nanosecond, or one clock
// cycle, is shown as one microsecond.
std::string perfetto_json(std::span<const timeline> timelines);

}  // namespace antiphase::tool
