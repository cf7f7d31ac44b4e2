// SPDX-License-Identifier: Apache-2.0
// Timelines as a trace file for Perfetto (ui.perfetto.dev) and chrome://tracing.
#pragma once
#include <antiphase/trace.hpp>
#include <span>
#include <string>

namespace antiphase::tool {

// JSON in the Trace Event Format. Each timeline is a process; its buffers (load in flight, compute) and its
// warps (every span) are its threads. The format counts in microseconds: a nanosecond is shown as one, a
// clock cycle too.
std::string perfetto_json(std::span<const timeline> timelines);

}  // namespace antiphase::tool
