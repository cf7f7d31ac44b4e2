// SPDX-License-Identifier: Apache-2.0
// Figures computed from the spans of a timeline.
#include <antiphase/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>

namespace antiphase {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

const timeline_role& role_of(const std::vector<timeline_role>& roles, int agent) {
  for (const timeline_role& r : roles)
    if (agent >= r.first && agent < r.first + r.count) return r;
  return roles.front();
}

// A wait for a unit that computes what the warp has begun, by the name of its ring.
bool is_multiplying(const timeline& t, const span_record& s) {
  return s.kind == span_kind::wait && s.ring > 0 &&
         t.rings[static_cast<std::size_t>(s.ring)] == timeline::tensor_cores;
}

bool is_wait(const span_record& s, bool roles, bool blocking) {
  if (s.kind == span_kind::wait || s.kind == span_kind::acquire) return true;
  if (s.kind == span_kind::load) return blocking;  // a blocking load is mostly waiting
  return !roles && (s.kind == span_kind::commit || s.kind == span_kind::release);
}

// The value below which this share of the values lies; 0 if there are none.
double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

// Whether loads block the warps that load and compute: loads through registers or plain stores, whose data
// have arrived when the span ends. Such loads take `soonest` or longer, and the first commit and wait after
// them less. After asynchronous or staged loads, commit and wait take longer, since no global memory answers
// that soon. With three slots or more, other loads lie between, and on a GPU issuing those may take as long
// as an answer: then false.
bool loads_block(const timeline& t) {
  constexpr std::int64_t soonest = 200;
  if (t.loads_block) return *t.loads_block;
  if (!t.roles.empty() || (t.stages > 2 && t.runs_on == target::cuda)) return false;
  struct start {
    std::int64_t shortest = never, end = 0, wait = never;  // of the loads before the first wait
  };
  std::map<int, start> starts;
  for (const span_record& s : t.spans) {
    start& of = starts[s.agent];
    if (s.ring != 0) continue;
    if (s.kind == span_kind::wait && s.step == 0 && s.event == 0) of.wait = s.end;
    if (s.kind != span_kind::load || s.step >= std::max(1, t.stages - 1)) continue;
    of.shortest = std::min(of.shortest, s.end - s.begin);
    of.end = std::max(of.end, s.end);
  }
  return std::ranges::any_of(starts, [&](const auto& one) {
    const start& of = one.second;
    return of.shortest != never && of.shortest >= soonest && of.wait != never && of.wait - of.end < soonest;
  });
}

// Waits of warps for a step's data. Where warps also wait for each other, the shortest wait, that of the last
// warp, shows whether data were late; in a ring with roles, any wait does.
struct data_waits {
  std::int64_t begin = never;  // of the earliest wait
  std::int64_t shortest = never, longest = 0;
};

// A wait whose data have arrived takes about as long as the shortest of all, and never longer than `at_once`
// cycles or ticks.
void estimate_arrivals(std::vector<step_times>& steps, const std::vector<data_waits>& waits, bool roles) {
  constexpr std::int64_t at_once = 100;
  const auto waited = [&](std::size_t i) {
    return roles ? waits[i].longest : waits[i].shortest == never ? 0 : waits[i].shortest;
  };
  std::int64_t shortest = never;
  for (std::size_t i = 0; i < waits.size(); ++i) shortest = std::min(shortest, waited(i));
  const std::int64_t patience = std::min(at_once, shortest == never ? 0 : 2 * shortest + 20);
  std::vector<double> seen;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    step_times& s = steps[i];
    s.seen_landing = waited(i) > patience;
    if (s.seen_landing) seen.push_back(static_cast<double>(s.landed - s.issued));
  }
  const auto typical = static_cast<std::int64_t>(quantile(seen, 0.5));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    step_times& s = steps[i];
    const std::int64_t latest =
        std::max(s.issued, std::min(s.landed, waits[i].begin == never ? s.landed : waits[i].begin));
    s.arrived = s.seen_landing ? s.landed : seen.empty() ? latest : std::min(latest, s.issued + typical);
  }
}

}  // namespace

std::vector<timeline_role> roles_of(const timeline& t) {
  if (!t.roles.empty()) return t.roles;
  return {{.name = "warps", .first = 0, .count = t.warps, .loads = true, .computes = true}};
}

std::vector<step_times> by_step(const timeline& t) {
  const std::vector<timeline_role> roles = roles_of(t);
  const bool with_roles = !t.roles.empty();
  const bool blocking = loads_block(t);
  const auto count = static_cast<std::size_t>(t.recorded);
  std::vector<step_times> steps(count, {.issued = never, .landed = never, .compute_begin = never});
  std::vector<data_waits> waits(count);
  for (int i = 0; i < t.recorded; ++i) {
    steps[static_cast<std::size_t>(i)].step = i;
    if (with_roles) steps[static_cast<std::size_t>(i)].events.assign(t.phases.size(), 0);
  }
  for (const span_record& s : t.spans) {
    if (s.step >= t.recorded || s.step < 0) continue;
    const auto at = static_cast<std::size_t>(s.step);
    step_times& step = steps[at];
    if (is_multiplying(t, s)) step.compute_begin = std::min(step.compute_begin, s.begin);
    if (s.ring != 0) continue;
    switch (s.kind) {
      case span_kind::load:
        step.slot = s.slot;
        step.issued = std::min(step.issued, s.begin);
        if (blocking) step.landed = step.landed == never ? s.end : std::max(step.landed, s.end);
        break;
      case span_kind::wait:
        if (s.event != 0) break;
        if (!blocking) step.landed = std::min(step.landed, s.end);
        waits[at].begin = std::min(waits[at].begin, s.begin);
        waits[at].shortest = std::min(waits[at].shortest, s.end - s.begin);
        waits[at].longest = std::max(waits[at].longest, s.end - s.begin);
        break;
      case span_kind::compute:
        if (!role_of(roles, s.agent).computes) break;
        step.compute_begin = std::min(step.compute_begin, s.begin);
        step.compute_end = std::max(step.compute_end, s.end);
        break;
      case span_kind::commit:
      case span_kind::release:
        if (with_roles && s.event > 0) {
          std::int64_t& happened = step.events[static_cast<std::size_t>(s.event)];
          // others may continue before this warp reads the clock again after its arrival
          happened = std::max(happened, s.begin);
        }
        break;
      case span_kind::acquire: break;
    }
  }
  // Steps without a load have no place in time: the recording has no loads, or not these.
  if (std::ranges::any_of(steps, [](const step_times& s) { return s.issued == never || s.landed == never; }))
    return {};
  for (step_times& s : steps) {
    if (!with_roles) continue;
    s.events.front() = s.landed;
    if (s.events.back() > 0) s.compute_end = s.events.back();
  }
  if (blocking)
    for (step_times& s : steps) s.arrived = s.landed, s.seen_landing = true;
  else
    estimate_arrivals(steps, waits, with_roles);
  return steps;
}

namespace {

struct interval {
  std::int64_t begin, end;
};
// Disjoint intervals, in order of time.
std::vector<interval> joined(std::vector<interval> all) {
  std::ranges::sort(all, {}, &interval::begin);
  std::vector<interval> apart;
  for (const interval& i : all) {
    if (!apart.empty() && i.begin <= apart.back().end)
      apart.back().end = std::max(apart.back().end, i.end);
    else
      apart.push_back(i);
  }
  return apart;
}
// When at least one computing warp computes.
std::vector<interval> computing(const timeline& t) {
  const std::vector<timeline_role> roles = roles_of(t);
  std::vector<interval> all;
  for (const span_record& s : t.spans)
    if ((s.kind == span_kind::compute || is_multiplying(t, s)) && s.step < t.recorded && s.end > s.begin &&
        role_of(roles, s.agent).computes)
      all.push_back({s.begin, s.end});
  return joined(std::move(all));
}
std::int64_t covered(const std::vector<interval>& by, std::int64_t begin, std::int64_t end) {
  std::int64_t total = 0;
  for (auto i = std::ranges::lower_bound(by, begin, {}, &interval::end); i != by.end() && i->begin < end; ++i)
    total += std::min(end, i->end) - std::max(begin, i->begin);
  return total;
}

void count_hidden(overlap& o, const timeline& t, const std::vector<step_times>& steps) {
  const std::vector<interval> by = computing(t);
  std::int64_t in_flight = 0, hidden = 0;
  for (const step_times& s : steps) {
    const std::int64_t by_computation = covered(by, s.issued, s.landed);
    in_flight += s.landed - s.issued;
    hidden += by_computation;
    o.steps_hidden += by_computation > 0;
  }
  if (in_flight > 0) o.hidden = static_cast<double>(hidden) / static_cast<double>(in_flight);
}

constexpr const char* others = "other warps";

// What a waiting span waits for.
std::string cause_of(const timeline& t, const span_record& s) {
  if (s.ring != 0) return t.rings[static_cast<std::size_t>(s.ring)];
  switch (s.kind) {
    case span_kind::acquire: return "a free slot";
    case span_kind::commit: return "the commit of a load";
    case span_kind::release: return others;
    // what was computed is there once its warps have come
    default:
      return t.rings.front() == "results" ? others
             : s.event == 0               ? "data"
                                          : t.phases[static_cast<std::size_t>(s.event)];
  }
}

bool is_for_data(const span_record& s) { return s.kind == span_kind::wait && s.ring == 0 && s.event == 0; }

// Where warps meet after a wait for a step's data, the last one to come waits for these alone, the others
// also for that warp: the share of each warp's wait that is for data, by step and warp.
std::map<std::pair<std::int32_t, std::int32_t>, double> shares_for_data(const timeline& t) {
  std::map<std::pair<std::int32_t, std::int32_t>, double> waited;
  if (!t.roles.empty() || t.rings.front() == "registers") return waited;
  for (const span_record& s : t.spans)
    if (is_for_data(s)) waited[{s.step, s.agent}] += static_cast<double>(s.end - s.begin);
  for (auto of_step = waited.begin(); of_step != waited.end();) {
    const auto next = waited.lower_bound({of_step->first.first + 1, 0});
    double shortest = of_step->second;
    for (auto w = of_step; w != next; ++w) shortest = std::min(shortest, w->second);
    for (; of_step != next; ++of_step) of_step->second = of_step->second > 0 ? shortest / of_step->second : 1;
  }
  return waited;
}

void count_waiting(overlap& o, const timeline& t) {
  const std::vector<timeline_role> roles = roles_of(t);
  const bool with_roles = !t.roles.empty();
  const auto for_data = shares_for_data(t);
  std::map<std::string, double> causes;
  std::map<int, interval> lives;  // of computing warps
  double waited = 0, computed = 0;
  int computers = 0;
  for (const timeline_role& r : roles) computers += r.computes ? r.count : 0;
  for (const span_record& s : t.spans) {
    if (s.step >= t.recorded || !role_of(roles, s.agent).computes) continue;
    const auto [life, fresh] = lives.try_emplace(s.agent, interval{s.begin, s.end});
    if (!fresh) life->second = {std::min(life->second.begin, s.begin), std::max(life->second.end, s.end)};
    const auto took = static_cast<double>(s.end - s.begin);
    if (s.kind == span_kind::compute) computed += took;
    if (!is_wait(s, with_roles, o.loads_block)) continue;
    waited += took;
    const auto shared = is_for_data(s) ? for_data.find({s.step, s.agent}) : for_data.end();
    const double share = shared != for_data.end() ? shared->second : 1;
    causes[cause_of(t, s)] += share * took;
    causes[others] += (1 - share) * took;
  }
  double lived = 0;
  for (const auto& [agent, life] : lives) lived += static_cast<double>(life.end - life.begin);
  for (const auto& [cause, time] : causes)
    if (time > 0) o.causes.push_back({cause, time / lived});
  std::ranges::sort(o.causes, std::greater{}, &waiting_share::share);
  if (lived > 0) o.waiting = waited / lived;
  const double shares = static_cast<double>(t.recorded) * std::max(1, computers);
  o.mean_wait = waited / shares;
  o.mean_compute = computed / shares;
}

// The most loads at once that have begun and not yet reached `end`, a member of step_times.
int most_in_flight(const std::vector<step_times>& steps, std::int64_t step_times::*end) {
  std::vector<std::pair<std::int64_t, int>> changes;
  for (const step_times& s : steps) changes.insert(changes.end(), {{s.issued, 1}, {s.*end, -1}});
  std::ranges::sort(changes);  // at equal times, ends first
  int now = 0, most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, now += change);
  return most;
}

void count_bytes(overlap& o, const timeline& t, const std::vector<step_times>& steps) {
  double in_flight = 0;
  for (const step_times& s : steps) in_flight += static_cast<double>(s.arrived - s.issued);
  o.most_bytes = most_in_flight(steps, &step_times::arrived) * t.step_bytes;
  if (o.duration > 0)
    o.mean_bytes = in_flight * static_cast<double>(t.step_bytes) / static_cast<double>(o.duration);
}

// Time between the landings of consecutive loads that were in flight together, both seen landing and further
// apart than they were issued, so that the second has waited for memory: the 10 % quantile.
double rate_of(const std::vector<step_times>& steps) {
  constexpr double queued = 1.1;
  std::vector<double> apart;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const step_times &one = steps[i - 1], &next = steps[i];
    const auto landed = static_cast<double>(next.landed - one.landed),
               issued = static_cast<double>(next.issued - one.issued);
    if (one.seen_landing && next.seen_landing && next.issued < one.landed && landed > queued * issued)
      apart.push_back(landed);
  }
  return quantile(apart, 0.1);
}

// The longest phase of a slot on average, other than the load, if loading warps wait for free slots for half
// of their time or more and the phase is not that of a computing role; otherwise 0.
std::size_t holds_slots(const timeline& t, const std::vector<step_times>& steps) {
  const std::vector<timeline_role> roles = roles_of(t);
  double acquiring = 0, last = 0;  // time begins with 0
  for (const span_record& s : t.spans) {
    if (s.ring != 0 || s.step >= t.recorded || !role_of(roles, s.agent).loads) continue;
    last = std::max(last, static_cast<double>(s.end));
    if (s.kind == span_kind::acquire) acquiring += static_cast<double>(s.end - s.begin);
  }
  if (t.phases.size() < 3 || acquiring < 0.5 * last) return 0;
  std::vector<double> took(t.phases.size(), 0);
  for (const step_times& s : steps)
    for (std::size_t e = 1; e < s.events.size(); ++e)
      took[e] += static_cast<double>(std::max<std::int64_t>(0, s.events[e] - s.events[e - 1]));
  const auto longest = static_cast<std::size_t>(std::ranges::max_element(took) - took.begin());
  const bool computed = std::ranges::any_of(
      roles, [&](const timeline_role& r) { return r.computes && r.name == t.phases[longest]; });
  return computed ? 0 : longest;
}

// How long each step's slot is computed from, without what its warps wait in between for later data, which
// come sooner with one more stage.
std::vector<double> use_times(const timeline& t, const std::vector<step_times>& steps) {
  const std::vector<timeline_role> roles = roles_of(t);
  std::vector<interval> waits;
  for (const span_record& s : t.spans)
    if (s.kind == span_kind::wait && s.ring == 0 && s.event == 0 && role_of(roles, s.agent).computes)
      waits.push_back({s.begin, s.end});
  const std::vector<interval> apart = joined(std::move(waits));
  std::vector<double> uses;
  for (const step_times& s : steps)
    uses.push_back(static_cast<double>(s.compute_end - s.compute_begin -
                                       covered(apart, s.compute_begin, s.compute_end)));
  return uses;
}

void say_what_limits(overlap& o, const timeline& t, const std::vector<step_times>& steps) {
  const bool with_roles = !t.roles.empty();
  double for_data = 0;
  for (const waiting_share& w : o.causes)
    if (w.cause == "data" || w.cause == "the commit of a load") for_data += w.share;
  constexpr double matters = 0.1;  // of the computing warps' time
  const bool buffered = t.rings.front() != "registers";
  if (!with_roles && t.stages == 1 && buffered)
    o.limited_by = "turns";
  else if (const std::size_t phase = holds_slots(t, steps); for_data >= matters && phase > 0)
    o.limited_by = t.phases[phase];
  else if (for_data >= matters)
    o.limited_by = "loads";
  else if (!o.causes.empty() && o.causes.front().share >= matters && o.causes.front().cause != "data")
    o.limited_by = o.causes.front().cause;
  else
    o.limited_by = "computation";

  std::vector<double> loads;
  for (const step_times& s : steps)
    if (s.seen_landing) loads.push_back(static_cast<double>(s.landed - s.issued));
  const std::vector<double> uses = use_times(t, steps);
  o.load_time = quantile(loads, 0.25);
  o.step_time = static_cast<double>(o.duration) / o.steps;
  o.busy_time = o.step_time * (1 - for_data);
  // Loads and computations of one buffer without roles never overlap: a second one may hide a whole load.
  const double kept =
      !with_roles && t.stages == 1 ? std::min(o.busy_time, o.step_time - o.load_time) : o.busy_time;
  const double rate = rate_of(steps);
  o.knows_rate = rate > 0;
  const bool of_results = t.rings.front() == "results";  // no load is waited for
  // Loads that start before the wait take all slots. They count as those of a ring with one more, whose loads
  // take all but one. With one buffer both are alike.
  const int slots =
      with_roles ? t.stages : std::max(t.stages, most_in_flight(steps, &step_times::landed) + 1);
  o.next_time = t.steps == 1 || o.loads_block || !buffered || of_results
                    ? o.step_time
                    : std::min(o.step_time, one_more_stage(slots, with_roles, o.load_time,
                                                           quantile(uses, 0.25), kept, rate));
}

}  // namespace

double one_more_stage(int stages, bool roles, double load, double use, double busy, double rate) {
  const double through = roles ? (load + use) / (stages + 1) : load / stages;
  return std::max({busy, through, rate});
}

overlap measure(const timeline& t) {
  const std::vector<step_times> steps = by_step(t);
  overlap result{.steps = static_cast<int>(steps.size())};
  if (steps.empty() || t.warps == 0) return result;
  std::int64_t end = 0;
  for (const step_times& s : steps) end = std::max(end, s.compute_end);
  result.duration = end - steps.front().issued;
  if (result.duration > 0)
    result.work_rate = static_cast<double>(t.step_work) * result.steps / static_cast<double>(result.duration);
  result.loads_block = loads_block(t);
  count_hidden(result, t, steps);
  count_waiting(result, t);
  count_bytes(result, t, steps);
  say_what_limits(result, t, steps);
  return result;
}

}  // namespace antiphase
