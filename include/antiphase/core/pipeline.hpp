// SPDX-License-Identifier: Apache-2.0
// A software pipeline: prologue, steady state and drain, for every kernel and every level of memory.
#pragma once
#include <antiphase/core/cursor.hpp>

namespace antiphase {

// A ring as used by one agent that is producer and consumer.
template <class C>
concept pipelined = requires(C c, cursor<C::stages> at) {
  c.acquire(at);
  c.commit(at);
  c.wait(at);
  c.release(at);
};

// Every thread loads and computes, and loads run N - 1 steps ahead of the computation:
//
//   async_copies<3> ring;
//   pipeline line{ring};
//   line.run(
//       steps, [&](int i, int slot) { load_tile(s.tile[slot], i); },  // starts the transfer of unit i
//       [&](int i, int slot) { multiply(s.tile[slot]); });            // uses it
//
// The order of a step is wait(i), acquire and load(i + lead), compute(i), commit(i + lead), release(i). The
// commit comes after the computation, since a ring that stages loads in registers stores them there, when
// they have had the whole computation to arrive; to cp.async and bulk copies it makes no difference. Units
// past the end are empty, so that a ring which counts groups has one in every step. With one stage this is
// the textbook loop: acquire, load, commit, wait, compute, release.
//
// `position` goes on from run to run: a persistent kernel may call run() once per tile on the same ring.
template <pipelined C> struct pipeline {
  static constexpr int lead = C::stages - 1;

  C& channel;
  cursor<C::stages> position{};

  AP_RELAY void run(int steps, auto load, auto compute) {
    cursor<C::stages> head = position;
    for (int i = 0; i < lead; ++i) {  // prologue
      channel.acquire(head);
      if (i < steps) load(i, head.index);
      channel.commit(head++);
    }
    for (int i = 0; i < steps; ++i, ++position) {  // steady state
      if constexpr (lead == 0) {
        channel.acquire(head);
        load(i, head.index);
        channel.commit(head++);
        channel.wait(position);
        compute(i, position.index);
      } else {
        channel.wait(position);
        channel.acquire(head);
        if (i + lead < steps) load(i + lead, head.index);
        compute(i, position.index);
        channel.commit(head++);
      }
      channel.release(position);
    }
    for (int i = 0; i < lead; ++i, ++position) {  // drain: the empty units past the end
      channel.wait(position);
      channel.release(position);
    }
  }
};
template <class C> pipeline(C&) -> pipeline<C>;

}  // namespace antiphase
