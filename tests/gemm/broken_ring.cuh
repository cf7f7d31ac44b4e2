// SPDX-License-Identifier: Apache-2.0
// A ring with one fault at a time, for mutants of warp-specialised kernels.
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/device/mbarrier.cuh>

namespace antiphase::gemms {
inline namespace AP_TARGET {

enum class slip {
  none,
  no_full_wait,
  no_empty_wait,
  bytes_too_few,
  bytes_too_many,
  full_wait_does_not_flip,
  empty_wait_does_not_flip,
  released_before_use,
  one_stage_too_few,
  promoted_before_wait,
  no_wait_for_products,
  no_fence_init,
};

// `Ring`, a channel of mbarriers, with the faults that lie in acquire, commit, wait or release.
template <slip F, class Ring> struct broken_ring : Ring {
  using slot_cursor = typename Ring::slot_cursor;
  AP_DEV void acquire(slot_cursor at) {
    if constexpr (F == slip::empty_wait_does_not_flip) at.parity = 0;
    if constexpr (F == slip::one_stage_too_few) ++at;  // as if the slot after this one had to be free
    if constexpr (F != slip::no_empty_wait) Ring::acquire(at);
  }
  AP_DEV void commit(slot_cursor at, int event, bytes n) {
    if constexpr (F == slip::bytes_too_few) n.count -= 16;
    if constexpr (F == slip::bytes_too_many) n.count += 16;
    Ring::commit(at, event, n);
  }
  AP_DEV void wait(slot_cursor at, int event) {
    if constexpr (F == slip::full_wait_does_not_flip) at.parity = 0;
    if constexpr (F != slip::no_full_wait) Ring::wait(at, event);
    if constexpr (F == slip::released_before_use) Ring::release(at, by_warp{});
  }
  AP_DEV void release(slot_cursor at, by_warp how) {
    if constexpr (F != slip::released_before_use) Ring::release(at, how);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
