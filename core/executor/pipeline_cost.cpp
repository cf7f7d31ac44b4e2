// SPDX-License-Identifier: Apache-2.0
#include <antiphase/executor/pipeline_cost.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace antiphase {
namespace {

using namespace fitted;
using next_loads = pipeline_step::next_loads;

// exponent of soft_maximum()
constexpr double sharpness = 4;
constexpr int schedulers = 4;

// The share of the time in which units are busy: with few warps, at times all warps of a scheduler stall.
double busy_share(const pipeline_step& s, int blocks) {
  if (!s.meets) return 1;
  const double warps = std::ceil(s.threads / 32.) * blocks / schedulers;
  return warps / (warps + (s.registers_ahead ? waits_reading_ahead : waits_reading));
}

// Smooth maximum of two overlapping times: equal ones do not hide each other fully.
double soft_maximum(double a, double b) {
  return std::pow(std::pow(a, sharpness) + std::pow(b, sharpness), 1 / sharpness);
}

struct unit {
  antiphase::limit limit;
  double clocks;
};
unit busiest(const machine_profile& on, const pipeline_step& s) {
  return std::max({unit{limit::arithmetic, s.arithmetic},
                   {limit::issue, s.issue / on.issue.value},
                   {limit::shared_memory, s.shared}},
                  [](const unit& a, const unit& b) { return a.clocks < b.clocks; });
}

void add_scaled(prediction& to, const prediction& of, double times) {
  for (std::size_t i = 0; i < limit_count; ++i)
    to.parts[i] += of.parts[i] * times, to.savings[i] += of.savings[i] * times;
  to.seconds += of.seconds * times;
}

}  // namespace

std::string_view name(limit l) {
  switch (l) {
    case limit::launch: return "launch";
    case limit::memory: return "memory";
    case limit::arithmetic: return "arithmetic";
    case limit::issue: return "issue slots";
    case limit::shared_memory: return "shared memory";
    case limit::latency: return "latency";
    case limit::barriers: return "barriers";
    case limit::stores: return "stores";
    case limit::waiting: break;
  }
  return "waiting";
}

double least_to_move(const machine_profile& on, double bytes) {
  return std::max(bytes / on.cache_bytes.value, (bytes - on.cache_size.value) / on.memory_bytes.value);
}

limit prediction::largest() const {
  return static_cast<limit>(std::max_element(savings.begin(), savings.end()) - savings.begin());
}

void prediction::scale(double times) {
  for (double& part : parts) part *= times;
  for (double& saved : savings) saved *= times;
  seconds *= times;
}

double in_flight_wanted(const machine_profile& on, bool in_cache) {
  return in_cache ? on.cache_bytes.value * on.cache_latency.value / std::max(1, on.limits.multiprocessors)
                  : on.memory_in_flight.value;
}

int loads_ahead(const pipeline_step& s) {
  if (s.by_roles || s.next == next_loads::before) return s.asynchronous ? s.stages : 1;
  if (s.next == next_loads::blocking) return 0;
  return s.asynchronous ? s.stages - 1 : std::min(1, s.stages - 1);
}

bool takes_turns(const pipeline_step& s) {
  if (s.by_roles) return false;
  return s.next == next_loads::blocking ||
         (s.stages == 1 && (s.asynchronous || s.next != next_loads::before));
}

namespace {

// `s` as it would be if a limit vanished. That of latency and barriers also depends on the machine and the
// form: see clocks_without().
pipeline_step without(limit l, pipeline_step s) {
  switch (l) {
    case limit::arithmetic: s.arithmetic = 0; break;
    case limit::issue: s.issue = 0; break;
    case limit::shared_memory: s.shared = 0; break;
    case limit::latency: s.latency = 0; break;
    default: break;
  }
  return s;
}

// Clocks of a step if `missing` vanished; nothing: as it is.
prediction clocks_without(std::optional<limit> missing, const machine_profile& on, const pipeline_step& all,
                          int blocks) {
  const pipeline_step s = missing ? without(*missing, all) : all;
  const unit most = busiest(on, s);
  const double clock = on.clock.value, processors = std::max(1, on.limits.multiprocessors);
  const double barriers = s.meets && !s.by_roles && missing != limit::barriers
                              ? barrier_of_warp * std::ceil(s.threads / 32.)
                              : 0,
               latency = s.latency * clock;
  const bool turns = takes_turns(s) || (s.by_roles && s.stages == 1);
  const int ahead = loads_ahead(s);

  // The latency `of` a load that `to` does not hide.
  const auto add_open_latency = [&](prediction& to, double of) {
    to.add(limit::latency, soft_maximum(to.seconds, of / std::max(1, ahead)) - to.seconds);
  };
  // One block alone: its computation, and its load.
  prediction chain;
  chain.add(most.limit, most.clocks / busy_share(s, 1));
  chain.add(limit::barriers, barriers);
  // With roles, or where copies begin before the wait, a slot is computed from and then loaded again: each
  // slot completes a step in the time of both.
  if (turns)
    chain.add(limit::latency, latency);
  else
    add_open_latency(chain, s.asynchronous && ahead == s.stages ? latency + chain.seconds : latency);

  // All resident blocks together: the busiest unit, or memory.
  prediction together;
  together.add(most.limit, blocks * most.clocks / busy_share(s, blocks));
  add_open_latency(together, latency);
  prediction moved;
  if (s.bytes > 0) {
    const double rate = (s.in_cache ? on.cache_bytes : on.memory_bytes).value / processors / clock,
                 in_flight = blocks * s.bytes * std::max(1, ahead),
                 // few bytes in flight: those take a latency under load to be there
        paced = blocks * s.bytes / rate * in_flight_wanted(on, s.in_cache) / in_flight,
                 busy = missing == limit::memory ? 0 : blocks * s.bytes / rate,
                 throttled = missing == limit::latency ? busy : std::max(busy, paced);
    // few bytes in flight are not slowed by others: they take their latency
    const double few = s.latency > 0 ? std::hypot(busy, latency / std::max(1, ahead)) : throttled;
    // few bytes in flight: it is the latency that limits
    moved.add(few < throttled && few > 2 * busy ? limit::latency : limit::memory, std::min(throttled, few));
  }
  const prediction& longest = together.seconds > moved.seconds ? together : moved;
  return longest.seconds > chain.seconds ? longest : chain;
}

}  // namespace

prediction step_clocks(const machine_profile& on, const pipeline_step& s, int blocks) {
  prediction all = clocks_without(std::nullopt, on, s, blocks);
  for (std::size_t i = 0; i < limit_count; ++i)
    all.savings[i] = std::max(0., all.seconds - clocks_without(static_cast<limit>(i), on, s, blocks).seconds);
  return all;
}

prediction blocks_seconds(const machine_profile& on, const pipeline_step& s, std::int64_t tiles,
                          std::int64_t steps, int resident) {
  prediction all;
  const std::int64_t processors = std::max(1, on.limits.multiprocessors),
                     at_once = processors * std::max(1, resident);
  const std::int64_t whole = tiles / at_once, left = tiles % at_once;
  const auto count = [](std::int64_t n) { return static_cast<double>(n); };
  if (whole > 0)
    add_scaled(all, step_clocks(on, s, std::max(1, resident)), count(whole * steps) / on.clock.value);
  if (left > 0)
    add_scaled(all, step_clocks(on, s, static_cast<int>((left + processors - 1) / processors)),
               count(steps) / on.clock.value);
  all.add(limit::latency, s.latency * count(whole + (left > 0 ? 1 : 0)));  // first load of each wave
  return all;
}

}  // namespace antiphase
