// Taking times on a GPU: rested, warmed up, in random order, medians with their spread.
#pragma once
#include <antiphase/context.hpp>
#include <functional>
#include <vector>

namespace antiphase::tool {

using work = std::function<void(stream)>;  // queues one run

struct timing {
  double median_us = 0, fastest_us = 0, slowest_us = 0;  // of one run
};
struct protocol {
  int samples = 7;
  double rest_ms = 50;     // idle before each sample, so that the chip starts it cool and at its clock
  double sample_ms = 2;    // a sample repeats short runs until it lasts about that long, which keeps launch latency out of it
  int most_repeats = 200;
};

// All of them, in a new random order in every round, so that none profits from its place.
std::vector<timing> measure(const executor& where, const std::vector<work>& works, const protocol& how = {});

}  // namespace antiphase::tool
