// SPDX-License-Identifier: Apache-2.0
// Blocks that run at the same time, near each other, and reach each other's shared memory (clusters, sm_90).
#pragma once
#include <antiphase/device/shared.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// A cluster is kernel::cluster blocks that are neighbours along x; cluster_rank says which of them this is, 0
// ... cluster_extent() - 1.
//   cluster_arrive, cluster_wait   every running thread of every block of the cluster arrives once, then
//                                  waits once: what any of them did
//                                  before it arrived can be seen after the wait. Threads may do so at
//                                  different places; one that has
//                                  ended counts as arrived.
//   cluster_arrive_silent          arrives, but what this thread did need not be seen: it does not wait for
//                                  its own writes
//   cluster_barrier                both
//   map_shared(p, rank)            where the block of that rank has what this one has at p, for ordinary
//                                  reads and writes. It must have
//                                  begun and not yet ended, which a cluster barrier before the first and one
//                                  behind the last access ensure.
#if AP_ON_GPU
AP_DEV int cluster_rank() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
AP_DEV int cluster_extent() {
  int extent;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(extent));
  return extent;
}
AP_DEV void cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
AP_DEV void cluster_arrive_silent() { asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory"); }
AP_DEV void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
AP_DEV void cluster_barrier() {
  cluster_arrive();
  cluster_wait();
}
template <class T> AP_DEV T* map_shared(T* mine, int rank) {
  T* theirs;
  asm("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(mine), "r"(rank));
  return theirs;
}
#else
AP_DEV int cluster_rank() { return machine::current->block->cluster_rank; }
AP_DEV int cluster_extent() { return machine::current->block->cluster_extent; }
AP_DEV void cluster_arrive(machine::place where = machine::place::current()) {
  machine::cluster_arrive(where);
}
AP_DEV void cluster_arrive_silent(machine::place where = machine::place::current()) {
  machine::cluster_arrive_relaxed(where);
}
AP_DEV void cluster_wait(machine::place where = machine::place::current()) { machine::cluster_wait(where); }
AP_DEV void cluster_barrier(machine::place where = machine::place::current()) {
  machine::cluster_arrive(where);
  machine::cluster_wait(where);
}
template <class T> AP_DEV T* map_shared(T* mine, int rank, machine::place where = machine::place::current()) {
  const std::ptrdiff_t away = machine::to_shared_of(mine, rank, where);
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(mine) + static_cast<std::uintptr_t>(away));
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
