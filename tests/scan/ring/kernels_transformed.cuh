// SPDX-License-Identifier: Apache-2.0
// User calls with functions before and after a scan.
#include <antiphase/scan.cuh>

#include "tests/scan/ring/transforms.hpp"

namespace antiphase::scan_test {
inline namespace AP_TARGET {

template <class C> launch_counts scan_transformed(const context& where, const void* from, void* to,
                                                  const scans::lines& over, scan_kind kind,
                                                  const void* initial) {
  const auto* in = static_cast<const typename C::in*>(from);
  auto* out = static_cast<typename C::out*>(to);
  const array_scan_options options{.outer = over.outer, .inner = over.inner, .direction = over.direction};
  const typename C::op op;
  const typename C::before before;
  const typename C::after after;
  if (kind == scan_kind::inclusive)
    return transform_inclusive_scan(where, in, out, over.length, op, before, after, options);
  const auto& first = *static_cast<const typename C::scanned*>(initial);
  return transform_exclusive_scan(where, in, out, over.length, first, op, before, after, options);
}

std::vector<transform_scan> transform_scans() {
  return {{transform::squares, &scan_transformed<sums_of_squares>},
          {transform::brackets, &scan_transformed<depths_of_brackets>},
          {transform::three_bytes, &scan_transformed<maps_of_three_bytes>},
          {transform::distances, &scan_transformed<largest_of_distances>},
          {transform::matrices, &scan_transformed<products_of_matrices>}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::scan_test
