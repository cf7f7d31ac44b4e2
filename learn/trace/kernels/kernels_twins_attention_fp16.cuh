// SPDX-License-Identifier: Apache-2.0
// Recording twins of attention on Tensor Cores (sm_90a): one computing warpgroup, and two.
#include <antiphase/channel/recorded.cuh>
#include <antiphase/device/clock_work.cuh>
#include <vector>
#include "library/attention/fp16/forward.cuh"

#include "learn/trace/twins/twin.hpp"
#include "library/attention/fp16/fp16_kernels.hpp"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// A warp uses a slot while the Tensor Cores multiply from it. It waits for them, which is logged as a wait in
// a second ring; what lies between those waits is the softmax.
template <forward_policy P> struct recorded_forward_ring
    : recorded<typename forward_waits<P>::ring, 4 * (1 + P.groups)> {
  using base = recorded<typename forward_waits<P>::ring, 4 * (1 + P.groups)>;
  using typename base::slot_cursor;
  static constexpr int tensor_cores = 1;  // the ring
  // For the clock of the CPU executor: a thread's share of the three products of a slot.
  static constexpr int multiply_adds = 3 * rows_of_group * P.keys * 64 / warpgroup_size;

  std::int64_t since[4 * (1 + P.groups)];  // of a warp: when it began to multiply

  AP_DEV void wait(slot_cursor at, int event = base::first, auto... who) {
    base::wait(at, event, who...);
    begin_multiplying();
  }
  AP_DEV void commit(slot_cursor at, int event = base::first, auto... how) {
    if (event > base::first) {
      clock_tensor_cores(multiply_adds);
      warp_sync();
      this->spans.add(span_kind::wait, 0, at.index, since[warp()], tensor_cores);
    }
    base::commit(at, event, how...);
    if (event > base::first) begin_multiplying();  // from the next slot of the same operand
  }
  AP_DEV void release(slot_cursor at, auto... how) { commit(at, base::last, how...); }

 private:
  AP_DEV void begin_multiplying() {
    const std::int64_t now = clock_now();
    if (lane_index() == 0) since[warp()] = now;
  }
  // warp_index() is for all lanes, and one thread loads.
  AP_DEV static int warp() { return thread_index() / warp_size; }
};
template <forward_policy P> struct recorded_forward_waits : forward_waits<P> {
  using ring = recorded_forward_ring<P>;
  // Instructions of a thread from the scores of a tile to its weights, in two parts, and for its sums: 11 of
  // each of its scores and 3 of each output in each 64 keys. Exponentials take their unit 8 clocks each,
  // meanwhile.
  static constexpr int chunks = P.depth / 64;
  static constexpr int softmax = (11 * P.keys / 2 + 3 * P.keys / 64 * P.depth / 2) / chunks;
  AP_DEV static void values(ring& r, cursor<P.slots> at) {
    clock_instructions(softmax);
    warp_sync();
    r.wait(at, full);
  }
};

template <forward_policy P> struct forward_twin {
  static twin make(const char* of, const char* name) {
    using kernel_type = forward_kernel<P, recorded_forward_waits<P>>;
    twin t{.kernel_name = of,
           .code = kernel_of<recording<kernel_type>>(name),
           .stages = P.slots,
           .step_bytes = sizeof(typename kernel_type::slot),
           .step_is = "tile of K or V",
           .rings = {"tiles", "Tensor Cores"},
           .step_work = std::int64_t{P.queries()} * P.keys * 64};
    t.roles.push_back({.name = "load", .first = 0, .loads = true});
    const char* const groups[] = {"warpgroup 1", "warpgroup 2"};
    for (int g = 0; g < P.groups; ++g)
      t.roles.push_back({.name = groups[g], .first = 4 * (g + 1), .count = 4, .computes = true});
    return t;
  }
};
std::vector<twin> twins_on_tensor_cores() { return twins_from_table<fp16::forward, forward_twin>(); }

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
