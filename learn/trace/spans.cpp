// SPDX-License-Identifier: Apache-2.0
#include "learn/trace/spans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace antiphase {

void collect(timeline& t, std::span<const span_record> log, std::span<const std::int32_t> counts,
             int capacity) {
  for (int warp = 0; warp < t.warps; ++warp) {
    const auto logged = static_cast<std::size_t>(counts[static_cast<std::size_t>(warp)]);
    const auto kept = std::min(logged, static_cast<std::size_t>(capacity));
    const auto spans = log.subspan(static_cast<std::size_t>(warp) * static_cast<std::size_t>(capacity), kept);
    t.spans.insert(t.spans.end(), spans.begin(), spans.end());
    t.dropped += logged - kept;
  }
  const auto first = std::ranges::min_element(t.spans, {}, &span_record::begin);
  const std::int64_t origin = first == t.spans.end() ? 0 : first->begin;
  for (span_record& s : t.spans) {
    s.begin -= origin;
    s.end -= origin;
  }
}

namespace {

const timeline_role* role_of(const std::vector<timeline_role>& roles, int agent) {
  for (const timeline_role& r : roles)
    if (agent >= r.first && agent < r.first + r.count) return &r;
  return nullptr;
}

bool is_moment(const span_record& s) { return s.kind == span_kind::commit || s.kind == span_kind::release; }

// Reads one warp's device functions in order of time, and adds spans for its activity between them.
class reader {
 public:
  reader(const timeline_role& role, int stages, std::vector<span_record>& out)
      : role_(&role), stages_(stages), out_(&out) {}

  void read(span_record s) {
    verb& last = seen_[{s.kind, s.ring, s.event}];
    // With several stages, the next step has another slot. The same slot again is the same event, which some
    // warps wait for twice.
    if (stages_ == 1 || s.slot != last.slot) last = {last.step + 1, s.slot};
    s.step = last.step;
    if (doing_) did_until(s);
    if (s.kind == span_kind::load) last_ = out_->size();
    out_->push_back(s);
    doing_ = begins_after(s);
  }

 private:
  struct verb {
    int step = -1, slot = -1;
  };
  struct activity {
    span_kind kind;
    int step, slot;
    std::int64_t begin;
  };
  void did_until(const span_record& next) {
    const std::int64_t end = next.begin;
    // the model's clock may stand still while a load is issued, which has a place in time nevertheless
    const bool is_load = doing_->kind == span_kind::load && next.kind == span_kind::commit;
    if (end < doing_->begin || (end == doing_->begin && !is_load)) return;
    if (last_ < out_->size()) {  // continues an activity interrupted only by commits and releases: one span
      span_record& before = (*out_)[last_];
      const bool moments =
          std::all_of(out_->begin() + static_cast<std::ptrdiff_t>(last_) + 1, out_->end(), is_moment);
      if (before.kind == doing_->kind && before.step == doing_->step && moments) {
        before.end = end;
        return;
      }
    }
    last_ = out_->size();
    out_->push_back({.begin = doing_->begin,
                     .end = end,
                     .kind = doing_->kind,
                     .step = doing_->step,
                     .slot = doing_->slot,
                     .agent = agent_of()});
  }
  int agent_of() const { return out_->back().agent; }

  activity load_of(const span_record& s) { return loading_ = {span_kind::load, s.step, s.slot, s.end}; }
  std::optional<activity> begins_after(const span_record& s) {
    const activity load{span_kind::load, loading_.step, loading_.slot, s.end};
    switch (s.kind) {
      case span_kind::acquire: return load_of(s);
      case span_kind::wait:
        // a loader that limits its loads in flight
        if (role_->loads && !role_->computes) return load;
        working_ = {span_kind::compute, s.step, s.slot, s.end};
        waited_ = true;
        return working_;
      case span_kind::commit:
      case span_kind::release: {
        if (!waited_) return std::nullopt;
        activity on = working_;
        on.begin = s.end;
        return on;
      }
      case span_kind::load: return load_of(s);  // logged itself if no slot is acquired: until the wait
      case span_kind::compute: break;
    }
    return std::nullopt;
  }

  const timeline_role* role_;
  int stages_;
  std::vector<span_record>* out_;
  std::map<std::tuple<span_kind, int, int>, verb> seen_;  // the latest of each
  std::optional<activity> doing_;
  activity loading_{}, working_{};
  bool waited_ = false;
  std::size_t last_ = std::numeric_limits<std::size_t>::max();
};

// The number of steps with all spans of every warp that releases slots or, without releases, of every warp
// that computes.
int complete_steps(const timeline& t, const std::vector<timeline_role>& roles) {
  const bool released =
      std::ranges::any_of(t.spans, [](const span_record& s) { return s.kind == span_kind::release; });
  std::map<int, int> steps;
  for (const span_record& s : t.spans) {
    const timeline_role* const role = role_of(roles, s.agent);
    if (role == nullptr || s.ring != 0) continue;
    if (released ? s.kind == span_kind::release : s.kind == span_kind::compute && role->computes)
      steps[s.agent] = std::max(steps[s.agent], s.step + 1);
    else if (!released && role->computes)
      steps.try_emplace(s.agent, 0);
  }
  int least = std::numeric_limits<int>::max();
  for (const auto& [agent, count] : steps) least = std::min(least, count);
  return steps.empty() ? 0 : least;
}

// Estimates the steps of an agent that logged `logged` spans, the first of which were kept, from the mean
// distance of its marks, one per step. If all steps have the same number of spans, the mean can be fractional
// only because marks come in groups, and the first and last kept marks may have different positions in
// theirs: then it is rounded.
int all_steps(std::span<const span_record> kept, int logged,
              const std::function<bool(const span_record&)>& is_mark) {
  int marks = 0, first = 0, last = 0;
  for (int i = 0; i < static_cast<int>(kept.size()); ++i)
    if (is_mark(kept[static_cast<std::size_t>(i)])) {
      if (marks++ == 0) first = i;
      last = i;
    }
  if (marks < 2) return marks;
  const double mean = static_cast<double>(last - first) / (marks - 1), whole = std::round(mean);
  return static_cast<int>(
      std::lround(logged / (std::abs(mean - whole) * (marks - 1) < 4 * mean ? whole : mean)));
}

// The same for the agent with the most steps.
int all_steps(const timeline& t, std::span<const std::int32_t> counts,
              const std::function<bool(const span_record&)>& is_mark) {
  int most = 0;
  for (auto begin = t.spans.begin(); begin != t.spans.end();) {
    const int agent = begin->agent;
    const auto end =
        std::find_if(begin, t.spans.end(), [&](const span_record& s) { return s.agent != agent; });
    most = std::max(most, all_steps({begin, end}, counts[static_cast<std::size_t>(agent)], is_mark));
    begin = end;
  }
  return most;
}

}  // namespace

void keep_steps(timeline& t, int most) {
  if (t.recorded <= most) return;
  t.recorded = most;
  std::int64_t end = 0;
  for (const span_record& s : t.spans)
    if (s.ring == 0 && s.step < most) end = std::max(end, s.end);
  t.dropped += std::erase_if(t.spans, [&](const span_record& s) { return s.begin >= end; });
}

int computed_steps(const timeline& t) {
  std::vector<int> computed(static_cast<std::size_t>(t.warps), 0);
  for (const span_record& s : t.spans)
    if (s.kind == span_kind::compute) ++computed[static_cast<std::size_t>(s.agent)];
  return *std::ranges::min_element(computed);
}

void number_complete_spans(timeline& t, std::span<const std::int32_t> counts) {
  if (t.steps == 0 && t.dropped > 0)
    t.steps = all_steps(t, counts, [](const span_record& s) { return s.kind == span_kind::compute; });
  std::map<std::pair<int, span_kind>, int> next;
  for (span_record& s : t.spans) s.step = next[{s.agent, s.kind}]++;
  t.recorded = computed_steps(t);
  if (t.steps == 0) t.steps = t.recorded;
}

void complete_from_verbs(timeline& t, std::span<const std::int32_t> counts) {
  const std::vector<timeline_role> roles = roles_of(t);
  // Warps that use the slot last wait for the second to last event once per step, and not once more at the
  // end.
  const int before_last = static_cast<int>(t.phases.size()) - 2;
  const auto waited = [&](const span_record& s) {
    const timeline_role* const role = role_of(roles, s.agent);
    return s.kind == span_kind::wait && s.ring == 0 && s.event == before_last && role != nullptr &&
           role->computes;
  };
  const bool released =
      std::ranges::any_of(t.spans, [](const span_record& s) { return s.kind == span_kind::release; });
  const int steps_of_all = t.dropped == 0 ? 0 : all_steps(t, counts, [&](const span_record& s) {
    return released ? s.kind == span_kind::release && s.ring == 0 : waited(s);
  });
  std::vector<span_record> all;
  const std::size_t logged = t.spans.size();
  for (std::size_t i = 0; i < logged;) {
    const int agent = t.spans[i].agent;
    const timeline_role* const role = role_of(roles, agent);
    std::vector<span_record> mine;
    const timeline_role other{};
    reader by(role == nullptr ? other : *role, t.stages, mine);
    for (; i < logged && t.spans[i].agent == agent; ++i) by.read(t.spans[i]);
    if (role == nullptr) continue;  // a warp that the description does not name
    std::ranges::stable_sort(mine, {}, &span_record::begin);
    all.insert(all.end(), mine.begin(), mine.end());
  }
  t.spans = std::move(all);
  t.recorded = complete_steps(t, roles);
  t.steps = std::max(t.recorded, steps_of_all);
  for (const span_record& s : t.spans)
    if (waited(s)) t.steps = std::max(t.steps, s.step + 1);
}

timeline read_spans(timeline t, std::span<const span_record> log, std::span<const std::int32_t> counts) {
  if (t.warps < 1 || counts.size() < static_cast<std::size_t>(t.warps) || log.size() % counts.size() != 0)
    throw bad_request(
        fmt::format("the log has {} spans for {} counts and {} warps: expected a count for each warp, and as "
                    "much room for each",
                    log.size(), counts.size(), t.warps));
  if (t.stages < 1 || t.phases.size() < 2)
    throw bad_request(fmt::format("a timeline of {} stages and {} phases: expected 1 or more, and 2 or more",
                                  t.stages, t.phases.size()));
  collect(t, log, counts, static_cast<int>(log.size() / counts.size()));
  complete_from_verbs(t, counts);
  return t;
}

}  // namespace antiphase
