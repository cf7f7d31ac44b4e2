// SPDX-License-Identifier: Apache-2.0
// Atomic read-modify-write operations.
#include <type_traits>

#include "core/executor/cpu/worker.hpp"

namespace antiphase::machine {

using namespace cpu_detail;

namespace {

template <class Word> Word value_after(const atomic_step& step, Word now, Word value) {
  using signed_word = std::make_signed_t<Word>;
  const auto smaller = [&](Word a, Word b) {
    return step.is_signed ? static_cast<signed_word>(a) < static_cast<signed_word>(b) : a < b;
  };
  switch (step.update) {
    case atomic_update::exchange:
    case atomic_update::compare_exchange: return value;
    case atomic_update::bit_and: return now & value;
    case atomic_update::bit_or: return now | value;
    case atomic_update::bit_xor: return now ^ value;
    case atomic_update::min: return smaller(value, now) ? value : now;
    case atomic_update::max: return smaller(now, value) ? value : now;
    case atomic_update::increment: return now >= value ? 0 : now + 1;
    case atomic_update::decrement: return now == 0 || now > value ? value : now - 1;
  }
  return now;
}

template <class Word>
Word perform(thread_state& self, Word* at, const atomic_step& step, Word value, Word expected, place where) {
  const auto writes = [&](Word now) {
    return step.update != atomic_update::compare_exchange || now == expected;
  };
  if (observer* watch = self.owner->watch()) {
    self.owner->give_way(self);
    watch->atomic_begins(self, at, step, expected, where);
  }
  Word now = __atomic_load_n(at, __ATOMIC_SEQ_CST), after = now;
  do after = writes(now) ? value_after(step, now, value) : now;
  // reloads `now` on failure
  while (!__atomic_compare_exchange_n(at, &now, after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  if (after == now) {
    self.owner->loaded(self, at, now, where);  // may belong to a loop that waits
  } else {
    self.loads.something_else();
    self.owner->note_write();
  }
  return now;
}

}  // namespace

std::uint64_t update(void* at, const atomic_step& step, std::uint64_t value, std::uint64_t expected,
                     place where) {
  thread_state& self = here();
  self.code = __builtin_return_address(0);
  if (step.bytes == 8) return perform(self, static_cast<std::uint64_t*>(at), step, value, expected, where);
  return perform(self, static_cast<std::uint32_t*>(at), step, static_cast<std::uint32_t>(value),
                 static_cast<std::uint32_t>(expected), where);
}

}  // namespace antiphase::machine
