// SPDX-License-Identifier: Apache-2.0
// More ways to arrive at an mbarrier: bytes without an arrival, several parties at once, from another block,
// when copies have landed; and its end.
#pragma once
#include <antiphase/device/call_site.cuh>
#include <antiphase/device/mbarrier.cuh>
#if !AP_ON_GPU
#include <antiphase/executor/cpu/machine_verbs.hpp>
#endif

namespace antiphase {
inline namespace AP_TARGET {

//   invalidate         the mbarrier is one no longer: its memory may serve otherwise, or be initialised again
//   expect             the current phase waits for this many more bytes; no arrival. Orders nothing (sm_90)
//   arrive_many        `count` arrivals, 1 or more, by this thread (sm_90)
//   arrive_remote      arrives at the mbarrier that the block of that rank has at the address of `mine`.
//                      After wait_remote() this thread's earlier accesses can be seen there. That block must
//                      have begun and not yet ended (sm_90)
//   release_remote     the same for a thread that has only read: its writes need not be seen there. Without
//                      the fence of the whole GPU that arrive_remote is made with: the empty event of a ring
//                      that another block fills
//   wait_remote        wait() for a phase at which other blocks of the cluster arrive
//   copy_async_arrive  this thread arrives, as one of the parties, when all its copy_async copies, committed
//                      or not, have landed. Waiters see those copies, but nothing else that this thread did
//                      (sm_80)
//   copy_async_track   the current phase also waits for those copies; no arrival (sm_80)
#if AP_ON_GPU
AP_DEV void invalidate(mbarrier& at) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(&at)) : "memory");
}
AP_DEV void expect(mbarrier& at, bytes n) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&at)),
               "r"(n.count)
               : "memory");
}
AP_DEV void arrive_many(mbarrier& at, int count) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&at)), "r"(count)
               : "memory");
}
AP_DEV void arrive_remote(mbarrier& mine, int rank) {
  asm volatile(
      "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];}" ::"r"(shared_address(&mine)),
      "r"(rank)
      : "memory");
}
AP_DEV void release_remote(mbarrier& mine, int rank) {
  asm volatile(
      "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
      "mbarrier.arrive.shared::cluster.b64 _, [there];}" ::"r"(shared_address(&mine)),
      "r"(rank)
      : "memory");
}
AP_DEV void wait_remote(const mbarrier& at, unsigned parity) {
  std::uint32_t ended;
  do {
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, "
        "1, 0, p;}"
        : "=r"(ended)
        : "r"(shared_address(&at)), "r"(parity)
        : "memory");
  } while (ended == 0);
}
AP_DEV void copy_async_arrive(mbarrier& at) { at.arrive(with_copies{}); }
AP_DEV void copy_async_track(mbarrier& at) {
  asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(shared_address(&at)) : "memory");
}
#else
AP_DEV void invalidate(mbarrier& at, call_site where = call_site::current()) {
  machine::mbarrier_inval(&at.word, where);
}
AP_DEV void expect(mbarrier& at, bytes n, call_site where = call_site::current()) {
  machine::mbarrier_expect(&at.word, n.count, where);
}
AP_DEV void arrive_many(mbarrier& at, int count, call_site where = call_site::current()) {
  machine::mbarrier_arrive_many(&at.word, count, where);
}
AP_DEV void arrive_remote(mbarrier& mine, int rank, call_site where = call_site::current()) {
  machine::mbarrier_arrive_remote(&mine.word, rank, where);
}
AP_DEV void release_remote(mbarrier& mine, int rank, call_site where = call_site::current()) {
  machine::mbarrier_arrive_remote(&mine.word, rank, where, {.reach = scope::block});
}
AP_DEV void wait_remote(const mbarrier& at, unsigned parity, call_site where = call_site::current()) {
  machine::mbarrier_wait(const_cast<std::uint64_t*>(&at.word), parity, where, {.reach = scope::cluster});
}
AP_DEV void copy_async_arrive(mbarrier& at, call_site where = call_site::current()) {
  at.arrive(with_copies{}, where);
}
AP_DEV void copy_async_track(mbarrier& at, call_site where = call_site::current()) {
  machine::mbarrier_copies_arrive(&at.word, machine::copies_arrive::beside, where);
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
