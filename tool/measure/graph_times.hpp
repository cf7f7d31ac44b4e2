// SPDX-License-Identifier: Apache-2.0
// Times of short works, each as a CUDA graph that holds many of its runs.
#pragma once
#include <antiphase/context.hpp>
#include <vector>

#include "tool/measure/measure.hpp"

namespace antiphase::tool {

struct graph_protocol {
  int samples = 9;
  int least_samples = 3;   // however long they take
  double graph_us = 400;   // a graph holds so many runs of a work as take that long
  double most_runs = 200;  // in a graph
  // that the samples of all works may take; fewer are taken if they would take longer
  double works_ms = 250;
};
// Of one run of each work. They take turns, in a new random order in every round; each sample has an untimed
// run of its graph before it.
std::vector<timing> graph_times(const context& where, const std::vector<work>& works,
                                const graph_protocol& how = {});

}  // namespace antiphase::tool
