// SPDX-License-Identifier: Apache-2.0
// The decisions of one worker: which thread runs next, and when copies land. Knows threads by number only.
#pragma once
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace antiphase::cpu_detail {

class random_source {
 public:
  explicit random_source(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 0x2545F4914F6CDD1Dull) {}
  std::uint32_t operator()() {  // xorshift64*, Vigna 2016
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>((state_ * 0x2545F4914F6CDD1Dull) >> 32);
  }
  std::uint32_t below(std::size_t n) {
    return static_cast<std::uint32_t>((std::uint64_t{(*this)()} * n) >> 32);
  }

 private:
  std::uint64_t state_;
};

// A set of numbers below a bound, as a bit mask: ranks and order need no sort.
class number_set {
 public:
  explicit number_set(std::size_t bound = 0) : words_((bound + 63) / 64) {}
  bool has(std::size_t i) const { return (words_[i / 64] >> i % 64 & 1) != 0; }
  void insert(std::size_t i) {
    count_ += !has(i);
    words_[i / 64] |= std::uint64_t{1} << i % 64;
  }
  void erase(std::size_t i) {
    count_ -= has(i);
    words_[i / 64] &= ~(std::uint64_t{1} << i % 64);
  }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  std::size_t rank(std::size_t i) const;                                    // how many are less than i
  std::size_t nth(std::size_t n) const;                                     // the one of rank n
  void assign_difference(const number_set& of, const number_set& without);  // all of the same bound
  void clear() {
    for (std::uint64_t& w : words_) w = 0;
    count_ = 0;
  }
  void take_all(number_set& others);  // leaves them empty
  template <class Do> void for_each(Do f) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t left = words_[w]; left != 0; left &= left - 1)
        f(w * 64 + static_cast<std::size_t>(std::countr_zero(left)));
  }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t count_ = 0;
};

// Why a thread stopped running: it did something, or it polled unsuccessfully, or it yields before it does
// something, or it waits for others to meet it and has done nothing since it last met them.
enum class stop { has_done_something, polls, gives_way, meets };

// A thread's number is its block's slot times the threads per block, plus its index. A polling thread becomes
// a candidate again when another thread has made progress, or when all poll unsuccessfully. One that polls in
// a loop around a barrier takes its whole block along: it waits until memory has changed.
class scheduler {
 public:
  scheduler() = default;
  scheduler(const cpu_options& options, unsigned worker, std::size_t threads, std::size_t resident);

  // Plain random order needs none of the bookkeeping below: the worker draws from its own list, which is
  // fastest.
  bool tracks() const { return tracks_; }
  bool draws() const { return order_ == schedule::random; }
  random_source random{1};

  // Events.
  // `again`: by a meeting in a loop that waits, unsuccessfully.
  void made_ready(std::size_t thread, bool again);
  // The latest one taken. `changed`: memory, since it was taken.
  void stopped(std::size_t thread, stop why, bool progressed, bool changed);
  void memory_changed() {
    candidates_.take_all(vain_);
    asleep_.clear();
  }
  void stuck(bool yes) { stuck_ = yes; }  // those that run only repeat themselves: others have turns, too

  // Threads. In random order, took() reports the thread that the worker drew; otherwise take() chooses. If
  // there are no candidates, both first make those that polled unsuccessfully candidates.
  bool any_candidate() const { return !candidates_.empty(); }
  bool all_in_vain() const { return candidates_.empty() && !vain_.empty(); }
  std::size_t take();
  std::size_t took(std::size_t thread);

  // Landings. Loads in flight may land when they must (only polling threads can run) or if landings are
  // mixed.
  bool may_land() const {
    return landings_ == landing::mixed || candidates_.size() + vain_.size() == polling_.size();
  }
  bool lands_now() { return settle(2, 2, random() & 1) != 0; }
  std::size_t landing_of(std::size_t loads);                          // index that lands; loads: none
  std::size_t landing_of(std::size_t loads, std::size_t drawn_load);  // the same, if the worker drew one

 private:
  static constexpr unsigned changes = 3;  // of priority
  static constexpr std::uint64_t fair_every = 1024;

  std::uint32_t settle(std::size_t all, std::size_t worth, std::size_t proposed);
  bool is_fair_turn() const { return steps_ % fair_every == fair_every - 1 || (stuck_ && steps_ % 2 == 1); }
  std::size_t start() const;
  void polled(std::size_t thread);
  void wake_asleep();
  std::size_t choose();
  std::size_t highest();
  std::size_t scripted(std::size_t thread);
  std::size_t place_in_line(const number_set& line, std::size_t thread) const;
  std::size_t in_line(const number_set& line, std::size_t n);

  schedule order_ = schedule::random;
  landing landings_ = landing::late;
  bool tracks_ = false;
  schedule_script* script_ = nullptr;
  // The order in which a script counts threads: those passed over go to the end. So a single deviation makes
  // one or many threads wait for as long as others can run, and reproducing a bug needs few of them.
  std::vector<std::uint64_t> place_, sorted_;
  std::uint32_t skips_ = 0;
  number_set candidates_, vain_;  // vain_: polled, without progress of others since
  number_set polling_;            // in either set
  number_set still_polling_;      // candidates that have done nothing since they polled
  number_set rounds_;             // poll in a loop around a barrier
  number_set asleep_, awake_;     // those of vain_ that wait until memory has changed; the others
  std::uint64_t steps_ = 0;
  std::size_t last_ = 0;
  bool last_polled_ = false, stuck_ = false;
  number_set starved_, fed_;
  std::vector<std::uint32_t> priority_;      // of each thread, distinct
  std::vector<std::uint64_t> change_after_;  // steps, in order
  std::size_t changed_ = 0;
};

}  // namespace antiphase::cpu_detail
