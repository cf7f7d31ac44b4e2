// SPDX-License-Identifier: Apache-2.0
// Functions of the machine that few kernels need; the headers of those verbs include this.
#pragma once
#include <antiphase/core/atomic_update.hpp>
#include <antiphase/executor/cpu/machine.hpp>
#include <cstdint>

namespace antiphase::machine {

// An atomic operation on an integer of 4 or 8 bytes; returns what was there before. `expected`: of compare_exchange.
struct atomic_step {
  atomic_update what;
  ordering how;
  scope reach;
  int bytes;
  bool is_signed;  // min and max
};
std::uint64_t update(void* at, const atomic_step& step, std::uint64_t value, std::uint64_t expected, place where);

// A block barrier that counts: how many threads took part, and how many of them said yes.
struct vote_count {
  int yes, all;
};
vote_count block_vote(bool yes, place where);

}  // namespace antiphase::machine
