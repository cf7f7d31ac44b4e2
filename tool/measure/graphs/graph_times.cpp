// SPDX-License-Identifier: Apache-2.0
// Times of short works, each measured as a CUDA graph of many runs.
#include "tool/measure/graphs/graph_times.hpp"

#include <algorithm>

#include "tool/measure/graphs/graph.hpp"

namespace antiphase::tool {
namespace {

double milliseconds_of(const executor& where, const work& run) {
  where.milliseconds(run, nullptr);  // loads the code, fills the caches
  return where.milliseconds(run, nullptr);
}

}  // namespace

std::vector<timing> graph_times(const context& where, const std::vector<work>& works,
                                const graph_protocol& how) {
  std::vector<work> graphs;
  std::vector<int> runs;
  double round_ms = 0;
  for (const work& run : works) {
    const double once_us = std::max(1000 * milliseconds_of(where.runs_on(), run), .1);
    runs.push_back(static_cast<int>(std::clamp(how.graph_us / once_us, 1., how.most_runs)));
    graphs.push_back(in_graph(where, run, runs.back()));
    round_ms += 2 * runs.back() * once_us / 1000;
  }
  const int fitting = static_cast<int>(how.works_ms / round_ms);
  std::vector<timing> all =
      measure(where.runs_on(), graphs,
              {.kind = protocol_kind::hot,
               .samples = std::clamp(fitting, std::min(how.least_samples, how.samples), how.samples),
               .heat_ms = 0,
               .sample_ms = 0,
               .most_repeats = 1});
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = divided(all[i], runs[i]);
  return all;
}

}  // namespace antiphase::tool
