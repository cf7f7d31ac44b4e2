// SPDX-License-Identifier: Apache-2.0
// Recorders for a pipeline: one logs when each warp loads, waits and computes; the other compiles to nothing.
#pragma once
#include <antiphase/channel/record.hpp>
#include <antiphase/core/pipeline.hpp>
#include <antiphase/device/clock.cuh>
#include <antiphase/device/warp.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// A kernel takes ring, load and computation of its pipeline from its recorder:
//
//   auto ring = recorder.ring(my_ring, steps);
//   pipeline line{ring};
//   line.run(steps, recorder.load(load), recorder.compute(compute));
//
// no_recorder returns its arguments, so no code is left of it: by reference, because copies of the same
// lambdas made nvcc 13.0 allocate registers differently. recorder wraps them in spans.
struct no_recorder {
  template <class Ring> AP_DEV Ring&& ring(Ring&& ring, int) const { return static_cast<Ring&&>(ring); }
  template <class Load> AP_DEV const Load& load(const Load& load) const { return load; }
  template <class Compute> AP_DEV const Compute& compute(const Compute& compute) const { return compute; }
};

template <class Ring, class Recorder> struct recorded_ring;

// The ordinary code of a thread in a step, for the clock of the CPU executor (device/clock.cuh).
struct step_work {
  int multiply_adds = 0;   // of the computation
  int register_bytes = 0;  // loaded to registers, where they stay until the commit
};

// Wraps a pipeline's ring, load and computation in spans. `Recorder` derives from it and has add(kind, step,
// slot, begin).
template <class Recorder, step_work Work> class records_pipeline {
 public:
  template <class Ring> AP_DEV recorded_ring<Ring, Recorder> ring(Ring ring, int steps) {
    return {ring, self(), steps};
  }
  template <class Load> AP_DEV auto load(Load load) {
    return timed(span_kind::load, [load](int step, int slot) {
      load(step, slot);
      if constexpr (Work.register_bytes > 0) clock_register_loads(Work.register_bytes);
    });
  }
  template <class Compute> AP_DEV auto compute(Compute compute) {
    return timed(span_kind::compute, [compute](int step, int slot) {
      compute(step, slot);
      if constexpr (Work.multiply_adds > 0) clock_instructions(Work.multiply_adds);
    });
  }

 private:
  AP_DEV Recorder& self() { return static_cast<Recorder&>(*this); }
  template <class Action> AP_DEV auto timed(span_kind kind, Action action) {
    return [this, kind, action](int step, int slot) {
      const std::int64_t begin = clock_now();
      action(step, slot);
      self().add(kind, step, slot, begin);
    };
  }
};

// True for the block that is recorded: of a grid of several rows, one in the first row.
AP_DEV bool is_recorded(const span_log& log) {
  const extent3 block = block_index();
  return block.x == log.block && block.y == 0 && block.z == 0;
}

// Every warp of the recorded block is an agent, and its lane 0 writes. All other threads have the recorder
// too, but write nothing.
template <step_work Work = step_work{}> class recorder : public records_pipeline<recorder<Work>, Work> {
 public:
  AP_DEV explicit recorder(const span_log& log)
      : agent_(warp_index()),
        capacity_(log.capacity),
        writes_(is_recorded(log) && lane_index() == 0),
        spans_(log.spans + static_cast<std::int64_t>(agent_) * log.capacity) {}

  AP_DEV void add(span_kind kind, int step, int slot, std::int64_t begin, int event = 0) {
    const std::int64_t end = clock_now();
    if (!writes_) return;
    if (count_ < capacity_)
      spans_[count_] = {.begin = begin,
                        .end = end,
                        .kind = kind,
                        .event = static_cast<std::int8_t>(event),
                        .step = step,
                        .slot = slot,
                        .agent = agent_};
    ++count_;
  }
  // Call last: writes the number of spans.
  AP_DEV void finish(const span_log& log) const {
    if (writes_) log.counts[agent_] = count_;
  }

 private:
  int agent_, count_ = 0, capacity_;
  bool writes_;
  span_record* spans_;
};

// The ring's four operations, with spans. They get slots, not steps; since units are committed and waited for
// in order, counting gives the step. No spans: of the empty units past the end, of acquire, which never waits
// in the rings of this folder, and of release with more than one slot.
template <class Ring, class Recorder> struct recorded_ring {
  static constexpr int stages = Ring::stages;

  Ring ring;
  Recorder& log;
  int steps;
  int committed = 0, waited = 0, released = 0;

  AP_DEV void acquire(cursor<stages> at) { ring.acquire(at); }
  AP_DEV void commit(cursor<stages> at) {
    const std::int64_t begin = clock_now();
    clock_registers_needed();
    ring.commit(at);
    if (committed < steps) log.add(span_kind::commit, committed++, at.index, begin);
  }
  AP_DEV void wait(cursor<stages> at) {
    const std::int64_t begin = clock_now();
    ring.wait(at);
    if (waited < steps) log.add(span_kind::wait, waited++, at.index, begin);
  }
  AP_DEV void release(cursor<stages> at) {
    if constexpr (stages == 1) {
      const std::int64_t begin = clock_now();
      ring.release(at);
      if (released < steps) log.add(span_kind::release, released++, at.index, begin);
    } else {
      ring.release(at);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase
