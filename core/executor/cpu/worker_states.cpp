// SPDX-License-Identifier: Apache-2.0
// Threads that wait in loops of their own: repeated loads, and states of the stack that come back.
#include <unwind.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "worker.hpp"

namespace antiphase::cpu_detail {
namespace {

constexpr std::size_t most_states = 100'000;   // that are kept
constexpr std::uint64_t rounds_of_known = 16;  // of all threads, without a new state, until they repeat

// The state of a thread that has called the machine from self.code: the kernel's frames on its stack, and the
// registers that calls keep. 0: not known.
std::uint64_t state_of(const thread_state& self) {
  if (!knows_states) return 0;
  struct search {
    const thread_state& self;
    std::uint64_t state;
  } of{self, 0};
  const auto at_frame = [](_Unwind_Context* frame, void* found) {
    // No structured bindings: clang 14's lambdas do not capture them.
    const thread_state& thread = static_cast<search*>(found)->self;
    std::uint64_t& state = static_cast<search*>(found)->state;
    if (_Unwind_GetIP(frame) != reinterpret_cast<std::uintptr_t>(thread.code)) return _URC_NO_REASON;
    state = thread.number + 1;
    const auto add = [&](std::uint64_t word) {
      state = (state ^ word) * 0x9E3779B97F4A7C15u;
      state ^= state >> 29;
    };
    const auto counts_rounds = [&](const unsigned char* p) {
      for (const machine::loop_rounds* loop = thread.loop; loop != nullptr; loop = loop->around)
        if (const auto* const n = reinterpret_cast<const unsigned char*>(&loop->number); n >= p && n < p + 8)
          return true;
      return false;
    };
    for (const int kept : {3, 6, 12, 13, 14, 15}) add(_Unwind_GetGR(frame, kept));  // rbx, rbp, r12 to r15
    const auto* const top = static_cast<const unsigned char*>(thread.self.bottom) + thread.self.size;
    const auto* at = reinterpret_cast<const unsigned char*>(_Unwind_GetCFA(frame));  // NOLINT: an address
    for (std::uint64_t word = 0; at < top; at += sizeof word) {
      std::memcpy(&word, at, sizeof word);
      if (!counts_rounds(at)) add(word);
    }
    return _URC_END_OF_STACK;
  };
  _Unwind_Backtrace(at_frame, &of);
  return of.state;
}

}  // namespace

bool load_history::waits(const void* code, const void* at, std::uint64_t value) {
  auto same = std::find_if(seen_.begin(), seen_.end(),
                           [&](const load& l) { return l.code == code && l.address == at; });
  if (same != seen_.end()) {
    std::iter_swap(same, std::prev(seen_.end()));  // the latest load is the last one
    same = std::prev(seen_.end());
  }
  if (same == seen_.end()) {
    if (seen_.size() == most) seen_.clear();
    seen_.push_back({code, at, value});
    in_vain_ = 0;
    again_ = false;
  } else if (std::exchange(same->value, value) != value) {
    in_vain_ = 0;
    again_ = false;
  } else if (++in_vain_ >= (again_ ? std::min<std::size_t>(patience, seen_.size()) : patience)) {
    in_vain_ = 0;
    return waited_ = again_ = true;
  }
  return false;
}
bool load_history::goes_on() { return in_vain_ == 0 && !again_ && std::exchange(waited_, false); }

// If all threads that can run come back to states they have been in, and nothing changes that they look at,
// they will do so for ever.
void worker::look_at_state(thread_state& self) {
  if (unchanged_turns_ < looked_at_turn_) {
    states_.clear();
    turns_of_known_ = 0;
    some_repeat_ = false;
    ++news_;
  }
  looked_at_turn_ = unchanged_turns_;
  if (states_.size() == most_states) return;
  const std::uint64_t state = state_of(self);
  if (state == 0 || states_.insert(state).second) {
    turns_of_known_ = 0;
    ++news_;
    return;
  }
  self.news = news_;
  if (++turns_of_known_ < rounds_of_known * static_cast<std::uint64_t>(threads_) * blocks_.size()) return;
  for (const auto& block : blocks_)
    for (const auto& t : block->thread)
      if ((t->now == condition::ready || t->now == condition::polling) && t->news != news_) {
        some_repeat_ = true;
        return;
      }
  if (loads() > 0) return land_load(0);
  all_repeat_ = true;
}

void worker::loaded(thread_state& self, const void* at, std::uint64_t value, place where) {
  if (in_time()) return;  // all go on: a loop that waits does so through poll()
  if (self.loads.waits(self.code, at, value))
    suspend(self, condition::polling, where);
  else if (self.loads.goes_on())
    met();
}

}  // namespace antiphase::cpu_detail
