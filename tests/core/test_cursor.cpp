// SPDX-License-Identifier: Apache-2.0
// Cursors, an agent's position in the ring: their arithmetic.
#include <gtest/gtest.h>
#include <antiphase/core/channel.hpp>

#include <type_traits>
#include <utility>

using antiphase::cursor;

namespace {

template <int N> void follow_for_five_rounds() {
  cursor<N> at;
  for (int i = 0; i < 5 * N; ++i) {
    EXPECT_EQ(at.index, i % N) << "stages " << N << ", step " << i;
    EXPECT_EQ(at.parity, static_cast<unsigned>(i / N % 2)) << "stages " << N << ", step " << i;
    const cursor<N> before = at;
    if (i % 2 == 0) {
      EXPECT_TRUE(at++ == before);
    } else {
      EXPECT_TRUE(++at == at);
    }
    EXPECT_FALSE(at == before);
    EXPECT_TRUE(at.before() == before) << "stages " << N << ", step " << i;
  }
}

TEST(cursor, goes_round_and_changes_parity) {
  [&]<int... N>(std::integer_sequence<int, N...>) { (follow_for_five_rounds<N + 1>(), ...); }
  (std::make_integer_sequence<int, 9>{});
}

TEST(cursor, counts_at_compile_time) {
  constexpr cursor<3> there = [] {
    cursor<3> at;
    for (int i = 0; i < 4; ++i) ++at;
    return at;
  }();
  static_assert(there.index == 1 && there.parity == 1);
  static_assert(there == cursor<3>{.index = 1, .parity = 1});
  EXPECT_EQ(there.stages, 3);
}

TEST(cursor, is_cheap_to_copy) {
  EXPECT_TRUE(std::is_trivially_copyable_v<cursor<4>>);
  EXPECT_EQ(sizeof(cursor<4>), 2 * sizeof(int));
}

struct counted {
  int parties = 0;
  void init(int count) { parties = count; }
};

TEST(channel, sets_up_every_barrier_with_the_parties_of_its_event) {
  antiphase::channel<counted, 4, antiphase::threads(1), antiphase::warps(8), antiphase::streams(2)> ring{};
  ring.init();
  const int expected[] = {1, 8, 2};
  for (int event = 0; event < ring.events; ++event)
    for (int slot = 0; slot < ring.stages; ++slot)
      EXPECT_EQ(ring.barrier[event][slot].parties, expected[event]);
  EXPECT_EQ(ring.events, 3);
  EXPECT_EQ(ring.last, 2);
  ring.init(1, 5);
  EXPECT_EQ(ring.barrier[0][3].parties, 1);
  EXPECT_EQ(ring.barrier[1][3].parties, 5);
}

}  // namespace
