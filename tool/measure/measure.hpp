// SPDX-License-Identifier: Apache-2.0
// Taking times on a GPU: warmed up, in random order, medians with their spread. docs/measuring.md says how
// and why.
#pragma once
#include <antiphase/context.hpp>
#include <functional>
#include <string_view>
#include <vector>

namespace antiphase::tool {

using work = std::function<void(stream)>;  // queues one run

struct timing {
  double median_us = 0, fastest_us = 0, slowest_us = 0;  // of one run
  double lower_quartile_us = 0, upper_quartile_us = 0;
};

// Rested: the chip idles before each sample, so that it starts cool and at its clock. Hot: it has been busy
// for a while and stays so.
enum class protocol_kind { rested, hot };
std::string_view name(protocol_kind kind);
protocol_kind parse_protocol(std::string_view text);  // throws bad_request

struct protocol {
  protocol_kind kind = protocol_kind::rested;
  int samples = 9;
  double rest_ms = 50;    // rested: idle before each sample
  double heat_ms = 1000;  // hot: busy before the first sample
  double sample_ms = 2;   // a sample repeats short runs until it lasts about that long
  // together with a few launches per run still less than what a stream takes without waiting
  int most_repeats = 200;
};

// All of them, in a new random order in every round, so that none profits from its place. After each round
// `so_far` gets what is known.
using timing_observer = std::function<void(const std::vector<timing>&)>;
std::vector<timing> measure(const executor& where, const std::vector<work>& works, const protocol& how = {},
                            const timing_observer& so_far = {});

// How long the host takes to queue a run, by the clock on the wall: of up to 400, with few at a time in the
// stream, so that none waits for another.
timing host_time(const executor& where, const work& run);

// Of one of `by` runs, where a run held so many.
timing divided(timing t, int by);

// Median, extremes and quartiles (by linear interpolation) of at least one sample, in microseconds.
timing summary(std::vector<double> samples);

}  // namespace antiphase::tool
