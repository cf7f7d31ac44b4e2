// SPDX-License-Identifier: Apache-2.0
// Reads from shared memory of a policy's threads, for its cost model and for the clock of its recording twin.
#pragma once
#include <antiphase/gemm/policy.hpp>

namespace antiphase::gemms {

// A thread's reads in a step. What lies along k is read four values at a time where rows are not padded.
constexpr double reads_of_step(const policy& p) {
  const double of_a = p.a.order == layout::outer_major ? (p.a.padding == 0 ? 0.25 : 1) * p.thread.m
                                                       : 1. * p.thread.m / p.read_width;
  return p.slice_k() * (of_a + 1. * p.thread.n / p.read_width);
}

}  // namespace antiphase::gemms
