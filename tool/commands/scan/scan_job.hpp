// SPDX-License-Identifier: Apache-2.0
// One scan of an array in memory.
#pragma once
#include <antiphase/scan.hpp>
#include <antiphase/scan/operators.hpp>
#include <cstdint>

#include "tool/files/npy/npy_header.hpp"

namespace antiphase::tool {

// outer x inner lines of `length` elements each, as in scan_problem.
struct scan_job {
  scan_operation operation = scan_operation::sum;
  scan_kind kind = scan_kind::inclusive;
  scan_direction direction = scan_direction::forward;
  element type = element::f32;  // of the results
  meaning means = meaning::numbers;
  std::int64_t outer = 1, length = 0, inner = 1;

  bool is_min_or_max() const { return scans::is_ordered(operation); }
  std::int64_t lines() const { return outer * inner; }
  std::int64_t count() const { return outer * length * inner; }
};

// Initial value of an exclusive scan, in the type of the results: the operation's identity; for a minimum of
// booleans true.
template <class T> T first_of_exclusive(const scan_job& job);

}  // namespace antiphase::tool
