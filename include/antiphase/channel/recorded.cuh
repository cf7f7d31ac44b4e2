// SPDX-License-Identifier: Apache-2.0
// A ring that records spans: what each warp waited for, and when it committed and released slots.
#pragma once
#include <antiphase/channel/record.hpp>
#include <antiphase/core/channel.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/clock.cuh>
#include <antiphase/device/shared.cuh>
#include <antiphase/device/storage.cuh>
#include <antiphase/device/warp.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// The log of a block of `Warps` warps, in its shared memory. Lane 0 of a warp logs the spans, so it must be
// among the lanes that call the ring. Steps follow from the order of the spans: read_spans() of trace.hpp
// numbers them.
template <int Warps> struct block_spans {
  span_log log;
  std::int32_t logged[Warps];

  // Call from one thread, before a block barrier. Each ring of a kernel has its own part of the log: Warps x
  // capacity spans.
  AP_DEV void begin(const span_log& to, int ring = 0) {
    log = to;
    log.spans += std::int64_t{ring} * Warps * to.capacity;
    log.counts += ring * Warps;
    for (int& count : logged) count = 0;
  }
  // `ring`: of timeline::rings.
  AP_DEV void add(span_kind kind, int event, int slot, std::int64_t from, int ring = 0) {
    const std::int64_t until = clock_now();
    if (lane_index() != 0 || block_index().x != log.block) return;
    const int warp = thread_index() / warp_size, at = logged[warp]++;
    if (at < log.capacity)
      log.spans[std::int64_t{warp} * log.capacity + at] = {.begin = from,
                                                           .end = until,
                                                           .kind = kind,
                                                           .ring = static_cast<std::int8_t>(ring),
                                                           .event = static_cast<std::int8_t>(event),
                                                           .step = 0,
                                                           .slot = slot,
                                                           .agent = warp};
  }
  // Call from every warp, after its last span.
  AP_DEV void finish() const {
    const int warp = thread_index() / warp_size;
    if (lane_index() == 0 && block_index().x == log.block) log.counts[warp] = logged[warp];
  }
};

// A channel that logs: for a ring in shared memory between warps with roles.
//
//   using ring = recorded<channel<mbarrier, 3, threads(1), warps(4)>, 5>;  // 5 warps in all
//   using twin = recording<my_kernel<ring>>;  // my_kernel's storage has a member `ring` of that type
//
// The host reads the log by read_spans() (trace.hpp); examples/timeline.cpp is a whole program. `Work`:
// instructions of a thread before it commits any event but the first, for the clock of the CPU executor,
// which does not count ordinary code.
template <class Channel, int Warps, int Work = 0> struct recorded : Channel {
  using typename Channel::slot_cursor;
  block_spans<Warps> spans;

  AP_DEV void acquire(slot_cursor at, int event = Channel::first, auto... who) {
    const std::int64_t from = clock_now();
    Channel::acquire(at, event, who...);
    if (event > Channel::first)
      spans.add(span_kind::wait, event - 1, at.index, from);
    else
      spans.add(span_kind::acquire, 0, at.index, from);
  }
  AP_DEV void wait(slot_cursor at, int event = Channel::first, auto... who) {
    const std::int64_t from = clock_now();
    Channel::wait(at, event, who...);
    spans.add(span_kind::wait, event, at.index, from);
  }
  AP_DEV void commit(slot_cursor at, int event = Channel::first, auto... how) {
    if (Work > 0 && event > Channel::first) clock_instructions(Work);
    const std::int64_t from = clock_now();
    Channel::commit(at, event, how...);
    spans.add(event == Channel::last ? span_kind::release : span_kind::commit, event, at.index, from);
  }
  AP_DEV void release(slot_cursor at, auto... how) { commit(at, Channel::last, how...); }
};

// The same for a ring of pipeline, of which every thread has its own object: the log lies after the kernel's
// storage in shared memory.
template <class Ring, class Storage, int Warps, int Work = 0> struct recorded_copies {
  static constexpr int stages = Ring::stages;
  Ring ring;
  int waits = 0;

  AP_DEV static block_spans<Warps>& spans() { return *shared_tail<block_spans<Warps>, Storage>(); }
  AP_DEV void acquire(cursor<stages> at) {
    const std::int64_t from = clock_now();
    ring.acquire(at);
    spans().add(span_kind::acquire, 0, at.index, from);
  }
  AP_DEV void commit(cursor<stages> at) {
    const std::int64_t from = clock_now();
    ring.commit(at);
    spans().add(span_kind::commit, 0, at.index, from);
  }
  AP_DEV void wait(cursor<stages> at) {
    if (Work > 0 && waits++ > 0) clock_instructions(Work);  // of the step before
    const std::int64_t from = clock_now();
    ring.wait(at);
    spans().add(span_kind::wait, 0, at.index, from);
  }
  AP_DEV void release(cursor<stages> at) { ring.release(at); }
};

// The recording twin of a kernel K: its params are K's and a log.
template <class Params> struct recorded_params {
  Params params;
  span_log log;
};

// For a kernel whose storage has a member `ring` of type recorded<...>, and which passes a block barrier
// before it uses the ring.
template <class K> struct recording : K {
  using params = recorded_params<typename K::params>;

  AP_DEV void operator()(const params& p) const {
    auto& spans = antiphase::shared<typename K::storage, K::shared>().ring.spans;
    if (thread_index() == 0) spans.begin(p.log);
    K::operator()(p.params);
    spans.finish();
  }
};

// For a kernel whose ring is a recorded_copies<..., Warps>.
template <class K, int Warps> struct recording_copies : K {
  using params = recorded_params<typename K::params>;
  struct storage {
    typename K::storage work;
    block_spans<Warps> spans;
  };

  AP_DEV void operator()(const params& p) const {
    auto& spans = *shared_tail<block_spans<Warps>, typename K::storage>();
    if (thread_index() == 0) spans.begin(p.log);
    block_barrier();
    K::operator()(p.params);
    spans.finish();
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase
