// SPDX-License-Identifier: Apache-2.0
// Times of short works, each measured as a CUDA graph of many runs.
#pragma once
#include <antiphase/context.hpp>
#include <vector>

#include "tool/measure/measure.hpp"

namespace antiphase::tool {

struct graph_protocol {
  int samples = 9;
  int least_samples = 3;   // even if these exceed works_ms
  double graph_us = 400;   // a graph holds as many runs of a work as take this long
  double most_runs = 200;  // in a graph
  // budget for the samples of all works; limits the number of samples
  double works_ms = 250;
};
// Times of one run of each work. Works take turns in a new random order in each round; an untimed launch of
// its graph precedes every sample.
std::vector<timing> graph_times(const context& where, const std::vector<work>& works,
                                const graph_protocol& how = {});

}  // namespace antiphase::tool
