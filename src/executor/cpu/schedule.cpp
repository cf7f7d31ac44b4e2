// The schedules of the CPU executor.
#include "schedule.hpp"

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

number_set number_set::without(const number_set& others) const {
  number_set rest = *this;
  rest.count_ = 0;
  for (std::size_t w = 0; w < words_.size(); ++w) {
    rest.words_[w] &= ~others.words_[w];
    rest.count_ += static_cast<std::size_t>(std::popcount(rest.words_[w]));
  }
  return rest;
}

void number_set::take_all(number_set& others) {
  if (others.empty()) return;
  for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= std::exchange(others.words_[w], 0);
  count_ += std::exchange(others.count_, 0);  // nobody is in both
}

scheduler::scheduler(const cpu_options& options, unsigned worker, std::size_t threads, std::size_t resident)
    : random(std::uint64_t{options.seed} << 32 | worker),
      order_(options.order),
      landings_(options.copies),
      tracks_(options.order != schedule::random || options.script != nullptr),
      script_(options.script.get()) {
  if (!tracks_) return;
  const std::size_t all = threads * resident;
  candidates_ = vain_ = polling_ = number_set(all);
  fair_every_ = 1024 + 4 * all;  // everybody who polls has done so once in between
  if (order_ == schedule::starved) {
    starved_ = number_set(all);
    for (std::size_t slot = 0; slot < resident; ++slot) {
      const std::size_t first = random.below((threads + 31) / 32) * std::size_t{32};
      for (std::size_t i = first; i < std::min(first + 32, threads); ++i) starved_.insert(slot * threads + i);
    }
  }
  if (order_ == schedule::priority) {
    priority_.resize(all);
    std::iota(priority_.begin(), priority_.end(), changes);
    for (std::size_t i = all; i > 1; --i) std::swap(priority_[i - 1], priority_[random.below(i)]);
    // Where the length of the run is not known, every power of two is as likely as the next: a step s is hit with probability 1/(20 s) or
    // more.
    for (unsigned i = 0; i < changes; ++i) {
      const std::uint64_t octave = std::uint64_t{1} << random.below(20);
      change_after_.push_back(options.expected_switches > 0 ? 1 + random.below(options.expected_switches) : octave + random.below(octave));
    }
    std::sort(change_after_.begin(), change_after_.end());
  }
}

void scheduler::stopped(std::size_t thread, bool polls, bool progressed) {
  const bool in_vain = polls && last_polled_ && !progressed;
  if (!in_vain) memory_changed();
  if (!polls) return;
  polling_.insert(thread);
  vain_.insert(thread);
}

// Follows the script, or does what is proposed, and writes it down.
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

// On a fair turn forward order starts at another thread.
std::size_t scheduler::shift() const {
  if (!is_fair_turn()) return 0;
  return random_source(steps_).below(candidates_.size());
}

std::size_t scheduler::position(std::size_t thread) const {
  const std::size_t n = candidates_.size();
  if (!candidates_.has(thread)) return n + vain_.rank(thread);
  return (candidates_.rank(thread) + n - shift()) % n;
}

std::size_t scheduler::at(std::size_t position) const {
  const std::size_t n = candidates_.size();
  return position < n ? candidates_.nth((position + shift()) % n) : vain_.nth(position - n);
}

std::size_t scheduler::highest() {
  for (; changed_ < change_after_.size() && change_after_[changed_] <= steps_; ++changed_)
    priority_[last_] = static_cast<std::uint32_t>(changes - 1 - changed_);
  std::size_t best = candidates_.nth(0);
  candidates_.for_each([&](std::size_t i) {
    if (priority_[i] > priority_[best]) best = i;
  });
  return best;
}

std::size_t scheduler::propose() {
  switch (order_) {
    case schedule::reversed: return candidates_.size() - 1;
    case schedule::starved: {
      if (is_fair_turn()) return 0;
      const number_set fed = candidates_.without(starved_);
      const number_set& from = fed.empty() ? candidates_ : fed;
      return position(from.nth(random.below(from.size())));
    }
    case schedule::priority: return is_fair_turn() ? 0 : position(highest());
    default: return 0;
  }
}

std::size_t scheduler::take_at(std::size_t proposed) {
  const std::size_t thread = at(settle(candidates_.size() + vain_.size(), candidates_.size(), proposed));
  last_ = thread;
  last_polled_ = polling_.has(thread);
  candidates_.erase(thread);
  vain_.erase(thread);
  polling_.erase(thread);
  ++steps_;
  return thread;
}

std::size_t scheduler::take() {
  if (candidates_.empty()) memory_changed();
  return take_at(propose());
}

void scheduler::took(std::size_t thread) {
  if (candidates_.empty()) memory_changed();
  take_at(position(thread));
}

// In the order of a script: where somebody may get on, none first; where all poll in vain, a load first, so that 0 always leads on.
std::size_t scheduler::landing_of(std::size_t loads, std::size_t drawn_load) {
  const bool none = drawn_load == loads;
  if (any_candidate()) {
    const std::size_t chosen = settle(loads + 1, landings_ == landing::mixed ? loads + 1 : 1, none ? 0 : drawn_load + 1);
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
