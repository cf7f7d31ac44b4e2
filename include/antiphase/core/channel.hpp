// SPDX-License-Identifier: Apache-2.0
// A ring of N slots that pass from owner to owner, for any level of memory.
#pragma once
#include <antiphase/core/cursor.hpp>

namespace antiphase {

// The number of parties that commit an event, by kind, for the declaration of a channel. A warp is one party:
// one lane arrives, after a warp_sync (mbarrier's by_warp).
AP_FN constexpr int threads(int count) { return count; }
AP_FN constexpr int warps(int count) { return AP_EVERY_LANE_ARRIVES ? 32 * count : count; }
AP_FN constexpr int streams(int count) { return count; }

// A barrier for a channel: counts arrivals, and waits for the end of the phase of a given parity. Before the
// first phase, the phase of parity 1 counts as ended, which lets the first N acquires pass.
template <class B>
concept phase_barrier = requires(B barrier, int parties) {
  barrier.init(parties);
};

// In every round a slot passes its events in order: event e has happened once Parties[e] commits have
// arrived, and the last event releases the slot for the next round. Producer and consumer are the two-event
// case {full, empty}:
//
//   channel<mbarrier, 3, threads(1), warps(4)> ring;  // in shared memory: one producer thread, four warps
//   if (thread_index() == 0) ring.init(), fence_mbarrier_init();
//   block_barrier();
//
//   cursor<3> at;                                     // the producer
//   for (int i = 0; i < steps; ++i, ++at) {
//     ring.acquire(at);
//     bulk_load(slot[at.index], from + i * size, size, ring.barrier[0][at.index]);
//     ring.commit(at, 0, bytes{size});
//   }
//   ring.finish(at);
//
//   cursor<3> at;                                     // each consumer warp
//   for (int i = 0; i < steps; ++i, ++at) {
//     ring.wait(at);
//     use(slot[at.index]);
//     ring.release(at, by_warp{});
//   }
//
// Barrier: init(parties), arrive(how...), wait(parity, who...). As a parameter, so that the same channel
// serves mbarriers, stream events, the CPU executor's barriers, a recorder and the tests' model. `how` says
// how a party arrives (bytes in flight, a whole warp, a stream); `who` says who waits, for barriers that need
// it.
//
// Three rules hold for every ring:
//   start         the first N acquires of the first event pass at once;
//   continuation  cursors go on from tile to tile, the ring never restarts;
//   tail          finish() waits until every slot has been released.
template <phase_barrier Barrier, int N, int... Parties> struct channel {
  static_assert(N > 0, "a ring needs at least one slot");
  static_assert(sizeof...(Parties) > 0, "a slot needs at least one event");
  static_assert(((Parties > 0) && ...), "an event that no thread commits never happens");

  using slot_cursor = cursor<N>;
  static constexpr int stages = N;
  static constexpr int events = sizeof...(Parties);
  static constexpr int first = 0;
  static constexpr int last = events - 1;

  Barrier barrier[events][N];

  // Call from one thread, before any other use.
  AP_RELAY void init() {
    int event = 0;
    (init(event++, Parties), ...);
  }
  AP_RELAY void init(int event, int parties) {
    for (Barrier& b : barrier[event]) {
      b.init(parties);
      if constexpr (requires { b.stands_for(0, event, events); })  // for messages
        b.stands_for(static_cast<int>(&b - barrier[event]), event, events);
    }
  }

  // Waits until the caller owns the slot: until the event before `event` has happened (before the first
  // event, the last one of the previous round).
  AP_RELAY void acquire(slot_cursor at, int event = first, auto... who) {
    barrier[event > first ? event - 1 : last][at.index].wait(event > first ? at.parity : at.parity ^ 1,
                                                             who...);
  }
  // Whether acquire() of the first event would pass at once. Needs a barrier with ended(parity).
  AP_RELAY bool is_free(slot_cursor at) const { return barrier[last][at.index].ended(at.parity ^ 1); }
  // Arrives for one party of an event.
  AP_RELAY void commit(slot_cursor at, int event = first, auto... how) {
    barrier[event][at.index].arrive(how...);
  }
  // Waits until the event has happened in this round: its parties' writes are visible then.
  AP_RELAY void wait(slot_cursor at, int event = first, auto... who) {
    barrier[event][at.index].wait(at.parity, who...);
  }
  // Commits the last event.
  AP_RELAY void release(slot_cursor at, auto... how) { commit(at, last, how...); }
  // Waits until every slot has been released: then no other agent uses the channel any more. `at` is the next
  // position of the first event.
  AP_RELAY void finish(slot_cursor at, auto... who) {
    for (int i = 0; i < N; ++i, ++at) acquire(at, first, who...);
  }
};

}  // namespace antiphase
