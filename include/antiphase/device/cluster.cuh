// SPDX-License-Identifier: Apache-2.0
// Clusters: blocks that run concurrently and access each other's shared memory (sm_90).
#pragma once
#include <antiphase/device/shared.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// A cluster is kernel::cluster blocks, neighbours along x; cluster_rank() is this block's number, 0 ...
// cluster_extent() - 1.
//   cluster_arrive, cluster_wait   every running thread of every block of the cluster arrives once, then
//                                  waits once; accesses before an arrival are visible after the wait. Threads
//                                  may call at different places in the code; ended threads count as arrived
//   cluster_arrive_silent          arrives without publishing this thread's accesses: it does not wait for
//                                  its own writes
//   cluster_barrier                cluster_arrive and cluster_wait
//   map_shared(p, rank)            the address of p in the block of that rank, for ordinary reads and writes.
//                                  That block must have begun and not yet ended, which a cluster barrier
//                                  before the first access and one after the last ensure
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
