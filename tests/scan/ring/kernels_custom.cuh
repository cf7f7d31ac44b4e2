// SPDX-License-Identifier: Apache-2.0
// User calls with user-defined types and operators.
#include <antiphase/scan.cuh>

#include "tests/scan/kernels.hpp"
#include "tests/scan/types.hpp"

namespace antiphase::scan_test {
inline namespace AP_TARGET {

template <class T, class Op> launch_counts scan_custom(const context& where, const void* from, void* to,
                                                       const scans::lines& over, scan_kind kind,
                                                       const void* initial) {
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  const array_scan_options options{.outer = over.outer, .inner = over.inner, .direction = over.direction};
  if (kind == scan_kind::inclusive)
    return inclusive_scan(where, in, out, over.length, Op{}, options);
  else
    return exclusive_scan(where, in, out, over.length, *static_cast<const T*>(initial), Op{}, options);
}

std::vector<custom_scan> custom_scans() {
  return {{carried::brackets, &scan_custom<brackets, concatenated>},
          {carried::nullable, &scan_custom<nullable, last_present>},
          {carried::triangle, &scan_custom<triangle, triangles>},
          {carried::step64, &scan_custom<step64, steps64>},
          {carried::matrix, &scan_custom<matrix, times>}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::scan_test
