// SPDX-License-Identifier: Apache-2.0
// A channel with separate agents for each event, as scripts of the model.
#pragma once
#include <antiphase/core/channel.hpp>
#include <deque>
#include <vector>

#include "tests/core/model.hpp"

namespace antiphase::model {

// Records an agent's arrivals and waits. The channel passes the agent as its `how` and `who`.
struct recorded_barrier {
  int parties = 0;
  int id = -1;

  void init(int count) { parties = count; }
  void arrive(agent who) const { who.arrive(known()); }
  void wait(unsigned parity, agent who) const { who.wait(known(), parity); }
  int known() const {
    if (id < 0) throw misplaced("a barrier outside the channel is used");
    return id;
  }
};

// A channel of recorded barriers in a world. The barriers after its own belong to no agent: a use of one
// means that the channel has left its ring.
template <int N, int... Parties> struct recorded_channel {
  using type = channel<recorded_barrier, N, Parties...>;
  type ring{};
  recorded_barrier outside[8]{};

  explicit recorded_channel(world& w) {
    ring.init();
    for (auto& event : ring.barrier)
      for (recorded_barrier& b : event) b.id = w.add_barrier(b.parties);
  }
};

enum class flaw { none, no_acquire };
enum class tail { at_the_end, after_each_run };

struct chain_plan {
  std::vector<int> runs;           // steps of each run on the ring; cursors go on from run to run
  int late = 0;                    // how many slots later than the owners of the last event release
  tail finish = tail::at_the_end;  // when the owner of the first event waits for all slots
  flaw broken = flaw::none;
};

// One agent for each party of each event; the owners of event e use a slot between acquire(e) and commit(e).
// After finish() the first agent uses all slots for itself.
template <int N, int... Parties> outcome explore_chain(const chain_plan& plan) {
  world w;
  recorded_channel<N, Parties...> recorded(w);
  auto& ring = recorded.ring;
  constexpr int parties[] = {Parties...};
  constexpr int last = static_cast<int>(sizeof...(Parties)) - 1;

  const auto play = [&](agent me, int event, int party) {
    cursor<N> at, held;
    std::deque<int> uses;
    const auto let_go = [&] {
      me.end(uses.front());
      uses.pop_front();
      if (event == last)
        ring.release(held++, me);
      else
        ring.commit(held++, event, me);
    };
    const std::size_t late = event == last ? static_cast<std::size_t>(plan.late) : 0;
    int unit = 0;
    for (int steps : plan.runs) {
      for (int i = 0; i < steps; ++i, ++unit, ++at) {
        if (plan.broken != flaw::no_acquire || event > 0) ring.acquire(at, event, me);
        uses.push_back(me.begin(at.index, unit / N * (last + 1) + event));
        if (uses.size() > late) let_go();
      }
      while (!uses.empty()) let_go();
      if (event == 0 && plan.finish == tail::after_each_run) ring.finish(at, me);
    }
    if (event == 0 && party == 0) {
      ring.finish(at, me);
      for (int slot = 0; slot < N; ++slot) me.end(me.begin(slot, after_everybody));
    }
  };
  for (int event = 0; event <= last; ++event)
    for (int party = 0; party < parties[event]; ++party) play(w.add_agent(), event, party);
  return w.explore();
}

// The scan's chain. Each slot holds a tile, its sum and the prefix before it. The scanner reads a tile once
// it is loaded, at the same time as the reducer, and overwrites it when the prefix is known. The publisher
// needs only the sum and releases the slot as a second party of the last event.
template <int N> outcome explore_scan_chain(int steps) {
  enum event { loaded, reduced, prefixed, scanned, stored };
  world w;
  recorded_channel<N, 1, 1, 1, 1, 2> recorded(w);
  auto& ring = recorded.ring;
  const auto each_tile = [&](auto role) {
    agent me = w.add_agent();
    cursor<N> at;
    for (int i = 0; i < steps; ++i, ++at)
      role(me, at, [&, turn = i / N * 5](int slot, int event) { return me.begin(slot, turn + event); });
    return at;
  };
  const auto sum = [](cursor<N> at) { return N + at.index; };
  const auto prefix = [](cursor<N> at) { return 2 * N + at.index; };

  const auto loader_stopped = each_tile([&](agent me, cursor<N> at, auto begin) {
    ring.acquire(at, loaded, me);
    me.end(begin(at.index, loaded));
    ring.commit(at, loaded, me);
  });
  agent loader{&w, 0};
  ring.finish(loader_stopped, loader);
  for (int slot = 0; slot < 3 * N; ++slot) loader.end(loader.begin(slot, after_everybody));
  each_tile([&](agent me, cursor<N> at, auto begin) {  // the reducer
    ring.acquire(at, reduced, me);
    const int tile = begin(at.index, reduced), result = begin(sum(at), reduced);
    me.end(tile), me.end(result);
    ring.commit(at, reduced, me);
  });
  each_tile([&](agent me, cursor<N> at, auto begin) {  // the look-back agent
    ring.acquire(at, prefixed, me);
    const int reading = begin(sum(at), prefixed), result = begin(prefix(at), prefixed);
    me.end(reading), me.end(result);
    ring.commit(at, prefixed, me);
  });
  each_tile([&](agent me, cursor<N> at, auto begin) {  // the scanner
    ring.wait(at, loaded, me);
    const int reading = begin(at.index, reduced);  // shared with the reducer
    ring.wait(at, reduced, me);
    me.end(reading);
    ring.acquire(at, scanned, me);
    const int writing = begin(at.index, scanned);
    me.end(begin(prefix(at), scanned));
    me.end(writing);
    ring.commit(at, scanned, me);
  });
  each_tile([&](agent me, cursor<N> at, auto begin) {  // the storer
    ring.acquire(at, stored, me);
    me.end(begin(at.index, stored));
    ring.release(at, me);
  });
  each_tile([&](agent me, cursor<N> at, auto begin) {  // the publisher
    ring.wait(at, reduced, me);
    me.end(begin(sum(at), prefixed));  // shared with the look-back agent
    ring.release(at, me);
  });
  return w.explore();
}

}  // namespace antiphase::model
