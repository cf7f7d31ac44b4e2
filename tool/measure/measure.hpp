// SPDX-License-Identifier: Apache-2.0
// Measuring times on a GPU: warm-up, random order, medians with their spread. docs/project/measuring.md has
// the method and its reasons.
#pragma once
#include <antiphase/context.hpp>
#include <functional>
#include <string_view>
#include <vector>

namespace antiphase::tool {

using work = std::function<void(stream)>;  // queues one run

struct timing {
  double median_us = 0, fastest_us = 0, slowest_us = 0;  // per run
  double lower_quartile_us = 0, upper_quartile_us = 0;
};

// rested: the GPU idles before each sample, so that it starts cool and at its clock. hot: it has been busy
// for a while and stays so.
enum class protocol_kind { rested, hot };
std::string_view name(protocol_kind kind);
protocol_kind parse_protocol(std::string_view text);  // throws bad_request

struct protocol {
  protocol_kind kind = protocol_kind::rested;
  int samples = 9;
  double rest_ms = 50;    // rested: idle before each sample
  double heat_ms = 1000;  // hot: busy before the first sample
  double sample_ms = 2;   // short runs are repeated until a sample lasts about this long
  // even with a few launches per run, this many fit a stream's queue without blocking the host
  int most_repeats = 200;
};

// Measures all works, in a new random order in each round, so that none profits from its position. `so_far`
// gets the results up to now after each round.
using timing_observer = std::function<void(const std::vector<timing>&)>;
std::vector<timing> measure(const executor& where, const std::vector<work>& works, const protocol& how = {},
                            const timing_observer& so_far = {});

// Host time to queue a run, wall-clock: of up to 400 runs, few at a time in the stream so that none blocks.
timing host_time(const executor& where, const work& run);

// Time of one run, from the time of `by` runs.
timing divided(timing t, int by);

// Median, extremes and quartiles (by linear interpolation) of at least one sample, in microseconds.
timing summary(std::vector<double> samples);

}  // namespace antiphase::tool
