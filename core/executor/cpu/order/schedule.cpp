// SPDX-License-Identifier: Apache-2.0
// The schedules of the CPU executor.
#include "core/executor/cpu/order/schedule.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace antiphase::cpu_detail {

std::size_t number_set::rank(std::size_t i) const {
  std::size_t less = 0;
  for (std::size_t w = 0; w < i / 64; ++w) less += static_cast<std::size_t>(std::popcount(words_[w]));
  return less + static_cast<std::size_t>(std::popcount(words_[i / 64] & ((std::uint64_t{1} << i % 64) - 1)));
}

std::size_t number_set::nth(std::size_t n) const {
  std::size_t w = 0;
  for (;; ++w) {
    const auto here = static_cast<std::size_t>(std::popcount(words_[w]));
    if (n < here) break;
    n -= here;
  }
  std::uint64_t left = words_[w];
  for (; n > 0; --n) left &= left - 1;
  return w * 64 + static_cast<std::size_t>(std::countr_zero(left));
}

void number_set::assign_difference(const number_set& of, const number_set& without) {
  count_ = 0;
  for (std::size_t w = 0; w < words_.size(); ++w) {
    words_[w] = of.words_[w] & ~without.words_[w];
    count_ += static_cast<std::size_t>(std::popcount(words_[w]));
  }
}

void number_set::take_all(number_set& others) {
  if (others.empty()) return;
  for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= std::exchange(others.words_[w], 0);
  count_ += std::exchange(others.count_, 0);  // the sets are disjoint
}

scheduler::scheduler(const cpu_options& options, unsigned worker, std::size_t threads, std::size_t resident)
    : random(std::uint64_t{options.seed} << 32 | worker),
      order_(options.order),
      landings_(options.copies),
      tracks_(options.order != schedule::random || options.script != nullptr),
      script_(options.script.get()) {
  if (!tracks_) return;
  const std::size_t all = threads * resident;
  candidates_ = vain_ = polling_ = still_polling_ = rounds_ = asleep_ = awake_ = number_set(all);
  if (script_ != nullptr) {
    place_.resize(all);
    std::iota(place_.begin(), place_.end(), 0);
  }
  if (order_ == schedule::starved) {
    starved_ = fed_ = number_set(all);
    for (std::size_t slot = 0; slot < resident; ++slot) {
      const std::size_t first = random.below((threads + 31) / 32) * std::size_t{32};
      for (std::size_t i = first; i < std::min(first + 32, threads); ++i) starved_.insert(slot * threads + i);
    }
  }
  if (order_ == schedule::priority) {
    priority_.resize(all);
    std::iota(priority_.begin(), priority_.end(), changes);
    for (std::size_t i = all; i > 1; --i) std::swap(priority_[i - 1], priority_[random.below(i)]);
    // If the length of the run is unknown, all powers of two are equally likely: step s is hit with
    // probability 1/(20 s) or more.
    for (unsigned i = 0; i < changes; ++i) {
      const std::uint64_t octave = std::uint64_t{1} << random.below(20);
      change_after_.push_back(options.expected_switches > 0 ? 1 + random.below(options.expected_switches)
                                                            : octave + random.below(octave));
    }
    std::sort(change_after_.begin(), change_after_.end());
  }
}

void scheduler::polled(std::size_t thread) {
  polling_.insert(thread);
  vain_.insert(thread);
  if (rounds_.has(thread)) asleep_.insert(thread);
}

void scheduler::made_ready(std::size_t thread, bool again) {
  if (again) {
    rounds_.insert(thread);
    polled(thread);
  } else if (!polling_.has(thread)) {
    rounds_.erase(thread);
    candidates_.insert(thread);
  }
}

void scheduler::wake_asleep() {
  if (asleep_.empty()) return;
  awake_.assign_difference(vain_, asleep_);
  candidates_.take_all(asleep_);
  vain_ = awake_;
}

void scheduler::stopped(std::size_t thread, stop why, bool progressed, bool changed) {
  if (changed || steps_ % fair_every == fair_every - 1) wake_asleep();
  if (why == stop::gives_way && !progressed) {
    if (last_polled_) still_polling_.insert(thread);
    return;
  }
  if (why == stop::meets && !progressed && rounds_.has(thread)) return;
  const bool in_vain = why == stop::polls && last_polled_ && !progressed;
  if (!in_vain && asleep_.empty()) memory_changed();
  if (!in_vain && !asleep_.empty()) {
    awake_.assign_difference(vain_, asleep_);
    candidates_.take_all(awake_);
    vain_ = asleep_;
  }
  if (why == stop::polls)
    polled(thread);
  else
    rounds_.erase(thread);
}

// Follows the script or else the proposed choice, and records the decision.
std::uint32_t scheduler::settle(std::size_t all, std::size_t worth, std::size_t proposed) {
  auto chosen = static_cast<std::uint32_t>(proposed);
  if (all < 2 || script_ == nullptr) return chosen;
  if (order_ == schedule::script) {
    const std::size_t now = script_->taken.size();
    chosen = now < script_->choices.size() ? script_->choices[now] % static_cast<std::uint32_t>(all) : 0;
  }
  script_->taken.push_back({static_cast<std::uint32_t>(worth), chosen});
  return chosen;
}

std::size_t scheduler::place_in_line(const number_set& line, std::size_t thread) const {
  if (skips_ == 0) return line.rank(thread);
  std::size_t before = 0;
  line.for_each([&](std::size_t i) { before += place_[i] < place_[thread]; });
  return before;
}

std::size_t scheduler::in_line(const number_set& line, std::size_t n) {
  if (skips_ == 0) return line.nth(n);
  sorted_.clear();
  line.for_each([&](std::size_t i) { sorted_.push_back(place_[i]); });
  const auto nth = sorted_.begin() + static_cast<std::ptrdiff_t>(n);
  std::nth_element(sorted_.begin(), nth, sorted_.end());
  return *nth & 0xFFFFFFFF;
}

// The rank that the candidates are counted from: on a fair turn, a random one.
std::size_t scheduler::start() const {
  return is_fair_turn() ? random_source(steps_).below(candidates_.size()) : 0;
}

std::size_t scheduler::highest() {
  for (; changed_ < change_after_.size() && change_after_[changed_] <= steps_; ++changed_)
    priority_[last_] = static_cast<std::uint32_t>(changes - 1 - changed_);
  // The number stands below its priority in one word, so that the search has no branches.
  std::uint64_t best = 0;
  candidates_.for_each([&](std::size_t i) { best = std::max(best, std::uint64_t{priority_[i]} << 32 | i); });
  return static_cast<std::uint32_t>(best);
}

std::size_t scheduler::choose() {
  const std::size_t n = candidates_.size();
  if (order_ == schedule::reversed) return candidates_.nth((start() + n - 1) % n);
  if (is_fair_turn()) return candidates_.nth(start());
  if (order_ == schedule::starved) {
    fed_.assign_difference(candidates_, starved_);
    const number_set& from = fed_.empty() ? candidates_ : fed_;
    return from.nth(random.below(from.size()));
  }
  return order_ == schedule::priority ? highest() : candidates_.nth(0);
}

// The thread that the script chooses or, in another order, `thread`, recorded in the script.
std::size_t scheduler::scripted(std::size_t thread) {
  const std::size_t n = candidates_.size(), from = start();
  std::size_t proposed = 0;
  if (order_ != schedule::script)
    proposed = candidates_.has(thread) ? (place_in_line(candidates_, thread) + n - from) % n
                                       : n + place_in_line(vain_, thread);
  const std::size_t position = settle(n + vain_.size(), n, proposed);
  if (position >= n) return in_line(vain_, position - n);
  thread = in_line(candidates_, (position + from) % n);
  if (position > 0 && !is_fair_turn()) {
    const std::uint64_t last = std::uint64_t{++skips_} << 32;
    const std::uint64_t before = place_[thread];
    candidates_.for_each([&](std::size_t i) {
      if (place_[i] < before) place_[i] = last | i;
    });
  }
  return thread;
}

std::size_t scheduler::take() {
  if (candidates_.empty()) memory_changed();
  return took(order_ == schedule::script ? 0 : choose());
}

std::size_t scheduler::took(std::size_t thread) {
  if (candidates_.empty()) memory_changed();
  if (script_ != nullptr) thread = scripted(thread);
  last_ = thread;
  last_polled_ = polling_.has(thread) || still_polling_.has(thread);
  still_polling_.erase(thread);
  candidates_.erase(thread);
  vain_.erase(thread);
  asleep_.erase(thread);
  polling_.erase(thread);
  ++steps_;
  return thread;
}

// In a script's numbering, choice 0 always makes progress: no landing if a thread can progress, a load if all
// poll unsuccessfully.
std::size_t scheduler::landing_of(std::size_t loads, std::size_t drawn_load) {
  const bool none = drawn_load == loads;
  if (any_candidate()) {
    const std::size_t chosen =
        settle(loads + 1, landings_ == landing::mixed ? loads + 1 : 1, none ? 0 : drawn_load + 1);
    return chosen == 0 ? loads : chosen - 1;
  }
  return settle(loads + !vain_.empty(), loads, drawn_load);
}

std::size_t scheduler::landing_of(std::size_t loads) {
  std::size_t drawn = loads;
  if (!any_candidate() || (landings_ == landing::mixed && random() % 4 == 0)) drawn = random.below(loads);
  return landing_of(loads, drawn);
}

}  // namespace antiphase::cpu_detail
