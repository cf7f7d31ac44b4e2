// SPDX-License-Identifier: Apache-2.0
// Block barriers with a vote.
#pragma once
#include <antiphase/device/call_site.cuh>
#if !AP_ON_GPU
#include <antiphase/executor/cpu/machine_verbs.hpp>
#endif

namespace antiphase {
inline namespace AP_TARGET {

// Each is a block_barrier, with its memory ordering, that returns to every thread which has not ended
//   block_barrier_count   for how many threads the condition holds
//   block_barrier_and     whether it holds for all
//   block_barrier_or      whether it holds for any
#if AP_ON_GPU
AP_DEV int block_barrier_count(bool condition) { return __syncthreads_count(condition); }
AP_DEV bool block_barrier_and(bool condition) { return __syncthreads_and(condition) != 0; }
AP_DEV bool block_barrier_or(bool condition) { return __syncthreads_or(condition) != 0; }
#else
AP_DEV int block_barrier_count(bool condition, call_site where = call_site::current()) {
  return machine::block_vote(condition, where).yes;
}
AP_DEV bool block_barrier_and(bool condition, call_site where = call_site::current()) {
  const machine::vote_count votes = machine::block_vote(condition, where);
  return votes.yes == votes.all;
}
AP_DEV bool block_barrier_or(bool condition, call_site where = call_site::current()) {
  return machine::block_vote(condition, where).yes != 0;
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
