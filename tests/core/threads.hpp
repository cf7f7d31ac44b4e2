// SPDX-License-Identifier: Apache-2.0
// Several threads that run the same pipeline over one channel, as scripts of the model.
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/core/pipeline.hpp>
#include <optional>
#include <vector>

#include "tests/core/chain.hpp"

namespace antiphase::model {

enum class shortcut { none, no_barrier, one_group_short };

// The units of one thread's pipeline: checks the pipeline's guarantees and turns units into uses of slots.
// The first write into a slot has turn 0, its computation turn 1, the next write turn 2 ...
template <int N> class units {
 public:
  void start(int steps) {
    steps_ = steps;
    loaded_.clear();
    computed_ = 0;
  }
  int load(int i, int slot) {  // returns the turn
    if (i != static_cast<int>(loaded_.size()))
      throw misplaced("unit " + std::to_string(i) + " is loaded out of order");
    if (i >= steps_) throw misplaced("unit " + std::to_string(i) + " past the end is loaded");
    loaded_.push_back({slot, overwrite(slot)});
    return loaded_.back().turn;
  }
  // A write that no thread will read.
  int overwrite(int slot) {  // returns the turn
    if (slot < 0 || slot >= N)
      throw misplaced("slot " + std::to_string(slot) + " of " + std::to_string(N) + " is written");
    return 2 * writes_[slot]++;
  }
  int compute(int i, int slot) {  // returns the turn
    if (i != computed_++) throw misplaced("unit " + std::to_string(i) + " is computed out of order");
    const int ahead = std::min(steps_, i + N);
    if (static_cast<int>(loaded_.size()) != ahead)
      throw misplaced("unit " + std::to_string(i) + " is computed after " + std::to_string(loaded_.size()) +
                      " loads; expected " + std::to_string(ahead));
    const unit& wanted = loaded_[static_cast<std::size_t>(i)];
    if (wanted.slot != slot) throw misplaced("unit " + std::to_string(i) + " is computed in another slot");
    return wanted.turn + 1;
  }
  void stop() const {
    if (computed_ != steps_)
      throw misplaced("a run of " + std::to_string(steps_) + " computed " + std::to_string(computed_));
  }

 private:
  struct unit {
    int slot, turn;
  };
  int steps_ = 0, computed_ = 0;
  std::vector<unit> loaded_;  // of this run
  int writes_[N]{};           // into each slot, over all runs
};

// Channels as one thread sees them: the four operations, with load and compute as uses of the slots.

// Parity barriers, events full and empty. Thread 0 loads by asynchronous copies; a separate agent, the
// engine, lands them and arrives. All threads compute and release.
template <int N, int Threads> struct over_parity_barriers {
  static constexpr int stages = N;
  enum event { full, empty };
  struct shared {
    recorded_channel<N, 1, Threads> recorded;
    agent engine;
    explicit shared(world& w) : recorded(w), engine(w.add_agent()) {}
  };
  shared& all;
  agent me;
  units<N>& mine;
  int number;
  std::vector<int> copies{};

  void acquire(cursor<N> at) {
    if (loads()) all.recorded.ring.acquire(at, full, me);
  }
  void commit(cursor<N> at) {
    if (!loads()) return;
    all.engine.follow(me, me.steps());
    for (int copy : copies) all.engine.end(copy);
    copies.clear();
    all.recorded.ring.commit(at, full, all.engine);
  }
  void wait(cursor<N> at) { all.recorded.ring.wait(at, full, me); }
  void release(cursor<N> at) { all.recorded.ring.release(at, me); }
  void load(int i, int slot) {
    const int turn = mine.load(i, slot);
    if (loads()) copies.push_back(me.begin(slot, turn));
  }
  void start() {}
  void computed() {}
  void finish(cursor<N> at) {
    if (loads()) all.recorded.ring.finish(at, me);
  }
  bool loads() const { return number == 0; }
};

// A block barrier: all arrive, then all go on.
struct block_barrier {
  int id;
  int passed = 0;
  void sync(agent me) {
    me.arrive(id);
    me.meet(id, ++passed);
  }
};

// Through registers: load fills private registers, commit stores them into the slot, those of an empty unit
// too, whatever they hold; wait is a block barrier; with a single slot, release is one too.
template <int N, int Threads, shortcut Taken = shortcut::none> struct over_staged_registers {
  static constexpr int stages = N;
  struct shared {
    int barrier;
    explicit shared(world& w) : barrier(w.add_barrier(Threads)) {}
  };
  struct registers {
    int slot, turn, load, computed;
  };
  shared& all;
  agent me;
  units<N>& mine;
  int number;
  block_barrier block{all.barrier};
  int loads = 0, computations = 0;  // of this run
  std::optional<registers> staged{};

  void acquire(cursor<N>) {}
  void commit(cursor<N> at) {
    if (staged && at.index != staged->slot)
      throw misplaced("what was loaded for one slot is committed into another");
    // After the prologue, the registers must be given a whole computation to arrive in.
    if (N > 1 && staged && staged->load >= N - 1 && computations == staged->computed)
      throw misplaced("the registers are stored before the computation");
    me.end(me.begin(at.index, staged ? staged->turn : mine.overwrite(at.index)));
    staged.reset();
  }
  void wait(cursor<N>) {
    if constexpr (Taken != shortcut::no_barrier) block.sync(me);
  }
  void release(cursor<N>) {
    if constexpr (N == 1) block.sync(me);
  }
  void load(int i, int slot) {
    if (staged) throw misplaced("a load overwrites the registers of the one before");
    staged = {slot, mine.load(i, slot), loads++, computations};
  }
  void start() { loads = computations = 0; }
  void computed() { ++computations; }
  void finish(cursor<N>) {}
};

// Copy groups of each thread: commit closes a group, wait lets N - 2 of them stay open and is a block
// barrier. A group lands at any time from its first copy to the wait for it, before or after those of other
// threads; a separate agent per thread lands it.
template <int N, int Threads, shortcut Taken = shortcut::none> struct over_copy_groups {
  static constexpr int stages = N;
  struct shared {
    world& in;
    int barrier;
    explicit shared(world& w) : in(w), barrier(w.add_barrier(Threads)) {}
  };
  shared& all;
  agent me;
  units<N>& mine;
  int number;
  agent engine{all.in.add_agent()};
  block_barrier block{all.barrier};
  std::vector<int> group{};

  void acquire(cursor<N>) {}
  void commit(cursor<N>) {
    for (int copy : group) engine.end(copy);
    group.clear();
    engine.follow(me, me.steps());
  }
  void wait(cursor<N>) {
    constexpr int open = (N > 2 ? N - 2 : 0) + (Taken == shortcut::one_group_short);
    if (engine.steps() > open) me.follow(engine, engine.steps() - open);
    if constexpr (Taken != shortcut::no_barrier) block.sync(me);
  }
  void release(cursor<N>) {
    if constexpr (N == 1) block.sync(me);
  }
  void load(int i, int slot) { group.push_back(me.begin(slot, mine.load(i, slot))); }
  void start() {}
  void computed() {}
  void finish(cursor<N>) {}
};

// All threads run the pipeline several times on one ring; afterwards the first one uses every slot for
// itself.
template <class Channel, int Threads> outcome explore_threads(const std::vector<int>& runs) {
  constexpr int N = Channel::stages;
  world w;
  std::vector<agent> agents;
  for (int t = 0; t < Threads; ++t) agents.push_back(w.add_agent());
  typename Channel::shared all(w);
  for (int t = 0; t < Threads; ++t) {
    agent me = agents[static_cast<std::size_t>(t)];
    units<N> mine;
    Channel channel{.all = all, .me = me, .mine = mine, .number = t};
    pipeline<Channel> lane{channel};
    for (int steps : runs) {
      mine.start(steps);
      channel.start();
      lane.run(
          steps, [&](int i, int slot) { channel.load(i, slot); },
          [&](int i, int slot) {
            me.end(me.begin(slot, mine.compute(i, slot)));
            channel.computed();
          });
      mine.stop();
    }
    channel.finish(lane.position);
    if (t == 0)
      for (int slot = 0; slot < N; ++slot) me.end(me.begin(slot, after_everybody));
  }
  return w.explore();
}

}  // namespace antiphase::model
