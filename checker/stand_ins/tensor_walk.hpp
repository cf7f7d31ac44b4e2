// SPDX-License-Identifier: Apache-2.0
// Sizes and strides of the stand-ins' tensors.
#pragma once
#include <antiphase/stand_ins/bindings/bindings.h>

namespace at::detail {

inline std::int64_t product(IntArrayRef n) {
  return std::accumulate(n.begin(), n.end(), std::int64_t{1}, std::multiplies<>());
}
inline sizes_t packed(IntArrayRef n) {
  sizes_t s(n.size());
  std::int64_t at = 1;
  for (std::size_t i = n.size(); i-- > 0; at *= std::max<std::int64_t>(n[i], 1)) s[i] = at;
  return s;
}
// calls f(place) for each index in order, with the place that strides give it
template <class F> void each(IntArrayRef n, IntArrayRef strides, F f) {
  const std::int64_t all = product(n);
  sizes_t at(n.size());
  std::int64_t place = 0;
  for (std::int64_t k = 0; k < all; ++k) {
    f(place);
    for (std::size_t d = n.size(); d-- > 0;) {
      place += strides[d];
      if (++at[d] < n[d]) break;
      place -= at[d] * strides[d];
      at[d] = 0;
    }
  }
}

}  // namespace at::detail
