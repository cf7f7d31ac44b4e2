// SPDX-License-Identifier: Apache-2.0
// The barrier object in shared memory that counts arrivals (mbarrier, sm_80) and bytes (sm_90).
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/device/architecture.cuh>
#include <antiphase/device/shared.cuh>
#include <antiphase/device/warp.cuh>
#include <cstdint>
#if !AP_ON_GPU
#include <antiphase/executor/cpu/machine_verbs.hpp>
#endif

namespace antiphase {
inline namespace AP_TARGET {

// How to arrive. bytes: the phase also waits for this many bytes of bulk copies, already issued or about to
// be.
struct bytes {
  int count;
};
struct by_warp {};  // the party is a whole warp: all lanes call, one arrives for them
// As by_warp, for a slot that the warp has read by ordinary loads and that bulk copies fill again
struct read_by_warp {};
// the thread arrives when all its copy_async copies have landed (copy_async_arrive)
struct with_copies {};

// A phase ends when all parties have arrived and all expected bytes have landed. wait(parity) returns when
// the phase of that parity has ended; before the first phase, parity 1 counts as ended. Usable as the barrier
// of channel<>. The transaction count allows 2^20 - 1 bytes per phase.
struct mbarrier {
  std::uint64_t word;

#if AP_ON_GPU
  // try_wait, which suspends the warp for a while, begins with sm_90 as bulk copies do
  static constexpr bool waits_itself = has_bulk_copies;
  AP_DEV void init(int parties) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(this)), "r"(parties)
                 : "memory");
  }
  AP_DEV void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(this)) : "memory");
  }
  AP_DEV void arrive(bytes n) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(this)),
                 "r"(n.count)
                 : "memory");
  }
  AP_DEV void arrive(with_copies) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(this)) : "memory");
  }
  AP_DEV bool ended(unsigned parity) const {
    std::uint32_t yes;
    if constexpr (waits_itself)
      asm volatile(
          "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
          : "=r"(yes)
          : "r"(shared_address(this)), "r"(parity)
          : "memory");
    else
      asm volatile(
          "{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
          : "=r"(yes)
          : "r"(shared_address(this)), "r"(parity)
          : "memory");
    return yes != 0;
  }
  AP_DEV void wait(unsigned parity) const {
    while (!ended(parity)) {
      // without it, polling warps take issue slots from working ones
      if constexpr (!waits_itself) __nanosleep(32);
    }
  }
#else
  AP_DEV void init(int parties, machine::place where = machine::place::current()) {
    machine::mbarrier_init(&word, parties, where);
  }
  AP_DEV void stands_for(int slot, int event, int events) {
    machine::mbarrier_stands_for(&word, {slot, event, events});
  }
  AP_DEV void arrive(machine::place where = machine::place::current()) {
    machine::mbarrier_arrive(&word, 0, where);
  }
  AP_DEV void arrive(bytes n, machine::place where = machine::place::current()) {
    machine::mbarrier_arrive(&word, n.count, where);
  }
  AP_DEV void arrive(with_copies, machine::place where = machine::place::current()) {
    machine::mbarrier_copies_arrive(&word, machine::copies_arrive::as_party, where);
  }
  AP_DEV bool ended(unsigned parity) const { return machine::mbarrier_ended(&word, parity); }
  AP_DEV void wait(unsigned parity, machine::place where = machine::place::current()) const {
    machine::mbarrier_wait(const_cast<std::uint64_t*>(&word), parity, where);
  }
#endif
  // The sync orders the other lanes' accesses before the leader's arrival, which publishes them.
  AP_DEV void arrive(by_warp) {
    warp_sync();
    if (AP_EVERY_LANE_ARRIVES || lane_index() == 0) arrive();
  }
  AP_DEV void arrive(read_by_warp);
};

// fence_mbarrier_init: makes initialised mbarriers visible to TMA. fence_async: orders this thread's ordinary
// accesses to shared memory before TMA's accesses after the next barrier.
#if AP_ON_GPU
AP_DEV void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
AP_DEV void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#else
AP_DEV void fence_mbarrier_init() { machine::mbarrier_fence(); }
AP_DEV void fence_async() { machine::proxy_fence(machine::proxy::shared); }
#endif

// An arrival alone does not wait for loads in flight: a bulk copy that it allows could overwrite what they
// have yet to read. Seen on an H200, where attention's kernels loaded scales right before a release.
AP_DEV void mbarrier::arrive(read_by_warp) {
  fence_async();
  arrive(by_warp{});
}

}  // namespace AP_TARGET
}  // namespace antiphase
