// SPDX-License-Identifier: Apache-2.0
// N slots that pass from owner to owner: the ring of every level of memory.
#pragma once
#include <antiphase/core/cursor.hpp>

namespace antiphase {

// How many parties commit an event, by kind, so that the declaration of a channel says who arrives. A warp is
// one party: its lanes arrive together, through an arrival that synchronises the warp first.
AP_FN constexpr int threads(int count) { return count; }
AP_FN constexpr int warps(int count) { return AP_EVERY_LANE_ARRIVES ? 32 * count : count; }
AP_FN constexpr int streams(int count) { return count; }

// What a channel needs of a barrier: a count of arrivals, and a wait for the end of the phase of a given
// parity. Before the first phase the one of parity 1 counts as ended; that lets the first N acquires pass.
template <class B>
concept phase_barrier = requires(B barrier, int parties) {
  barrier.init(parties);
};

// In every round a slot passes its events in order: event e has happened once Parties[e] commits have
// arrived, and the last event gives the slot back for the next round. Loader and computer are the two-event
// case {full, empty}.
//
// Barrier: init(parties), arrive(how...), wait(parity, who...). It is a parameter, so that the same channel
// serves mbarriers, stream events, the CPU executor's barriers, a recorder and the tests' model. `how` says
// how a party arrives (bytes still in flight, a whole warp, a stream); `who` says who waits, where the
// barrier has to know.
//
// The three rules that every ring obeys, and that are written only here and in pipeline.hpp:
//   start         the first N acquires of the first event pass at once;
//   continuation  cursors go on from tile to tile, the ring never restarts;
//   tail          finish() waits until every slot has been given back.
template <phase_barrier Barrier, int N, int... Parties> struct channel {
  static_assert(N > 0, "a ring needs at least one slot");
  static_assert(sizeof...(Parties) > 0, "a slot needs at least one event");
  static_assert(((Parties > 0) && ...), "an event nobody commits never happens");

  using slot_cursor = cursor<N>;
  static constexpr int stages = N;
  static constexpr int events = sizeof...(Parties);
  static constexpr int first = 0;
  static constexpr int last = events - 1;

  Barrier barrier[events][N];

  // One thread, before anybody else looks.
  AP_RELAY void init() {
    int event = 0;
    (init(event++, Parties), ...);
  }
  AP_RELAY void init(int event, int parties) {
    for (Barrier& b : barrier[event]) b.init(parties);
  }

  // Own the slot from here: the event before `event` has happened (for the first one, the last of the round
  // before).
  AP_RELAY void acquire(slot_cursor at, int event = first, auto... who) {
    barrier[event > first ? event - 1 : last][at.index].wait(event > first ? at.parity : at.parity ^ 1,
                                                             who...);
  }
  // Whether acquire() of the first event would pass at once; of barriers that can be asked: ended(parity).
  AP_RELAY bool is_free(slot_cursor at) const { return barrier[last][at.index].ended(at.parity ^ 1); }
  // One party's share of an event is done.
  AP_RELAY void commit(slot_cursor at, int event = first, auto... how) {
    barrier[event][at.index].arrive(how...);
  }
  // The event has happened in this round: what its parties wrote can be seen.
  AP_RELAY void wait(slot_cursor at, int event = first, auto... who) {
    barrier[event][at.index].wait(at.parity, who...);
  }
  // Commit the last event.
  AP_RELAY void release(slot_cursor at, auto... how) { commit(at, last, how...); }
  // Every slot has been given back: nobody will touch this channel any more. `at` is where the first event
  // would go on.
  AP_RELAY void finish(slot_cursor at, auto... who) {
    for (int i = 0; i < N; ++i, ++at) acquire(at, first, who...);
  }
};

}  // namespace antiphase
