// SPDX-License-Identifier: Apache-2.0
// Threads that wait in their own loop for a word that another thread sets, or that no thread sets.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <cstdint>

namespace antiphase::test {

enum class loop_of {
  loads,
  volatile_loads,
  updates,
  exchanges,
  compare_exchanges,
  loads_of_many,
  plain_loads,
  plain_bytes,
  votes
};
constexpr loop_of all_loops[] = {loop_of::loads,       loop_of::volatile_loads,    loop_of::updates,
                                 loop_of::exchanges,   loop_of::compare_exchanges, loop_of::loads_of_many,
                                 loop_of::plain_loads, loop_of::plain_bytes,       loop_of::votes};
// Loops of plain loads end too, but race with the thread that sets the word.
constexpr bool is_plain(loop_of l) { return l == loop_of::plain_loads || l == loop_of::plain_bytes; }
enum class setting { done, forgotten };

constexpr int waiting_words = 40;
struct waiting_params {
  std::uint32_t* words;  // waiting_words ones, then a count of threads that saw the last become 0
};

}  // namespace antiphase::test
