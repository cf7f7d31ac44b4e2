// SPDX-License-Identifier: Apache-2.0
// Attention of queries that see few keys, in FP32: parts of FP16 would be less accurate there.
#pragma once
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/launch.cuh>
#include "library/attention/fp16/depths.hpp"
#include "library/attention/fp32/single_query.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// Warp n of a head's few_warps has a query. Few keys are seen by at most few_keys queries at the beginning,
// which a mask cuts off, by as many at the end, which a window does, or by all.
struct few_keys_attention {
  static constexpr int threads = 32 * few_warps;
  static constexpr bool overlaps_previous = true;
  using params = few_keys_arguments;
  struct storage {};

  AP_DEV void operator()(const params& a) const {
    const problem& p = a.problem;
    wait_for_previous_grid();
    const int line = static_cast<int>(block_index().x), heads = static_cast<int>(p.heads),
              warp = warp_index();
    const member m = member_of(p, line / heads);
    const scores s(p, m, line % heads);
    if (m.keys <= few_keys || s.see.high <= s.see.low + few_keys) {
      for (int i = warp; i < m.queries; i += few_warps) compute(s, i);
      return;
    }
    const int end_of_first = few_keys - s.see.high + 1;
    if (warp < few_keys) {
      compute(s, end_of_first - few_keys + warp);
    } else {
      const int i = m.keys - s.see.low - 2 * few_keys + warp;
      if (i >= end_of_first) compute(s, i);
    }
  }

 private:
  AP_DEV static void compute(const scores& s, int i) {
    if (i >= 0 && i < s.m.queries && sees_few_keys(s, i)) attend_query<fp16::most_depth>(s, i);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
