// SPDX-License-Identifier: Apache-2.0
// Moving a thread's elements between a line in global memory and registers.
#pragma once
#include <antiphase/device/vector.cuh>
#include <antiphase/scan/detail/arguments.hpp>
#include <antiphase/scan/detail/tile_shape.cuh>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace antiphase::scans {
inline namespace AP_TARGET {

// Element i of the tile is data[i * stride], for the first `count`. T: the type of the computation, which
// decides how elements are distributed over threads.
template <class T, class Element, policy P> struct tile_access {
  using item = std::remove_const_t<Element>;
  using shape = tile_shape<T, P>;
  static constexpr int chunk = shape::chunk;
  // Whether a chunk can be one access, if the type allows it and the tile is aligned.
  static constexpr bool packs =
      std::has_single_bit(sizeof(item)) &&
      sizeof(item) * chunk > alignof(item) && std::is_trivially_default_constructible_v<item> &&
      (std::is_same_v<item, T> || sizeof(item) * chunk <= 16);

  Element* data;
  std::int64_t stride;
  int count;
  bool aligned;

  AP_DEV tile_access(Element* line, const lines& over, std::int64_t first, std::int64_t length)
      : data(line + first * over.stride()),
        stride(over.stride()),
        count(static_cast<int>(length)),
        aligned(packs && is_aligned()) {}

  // Missing elements become copies of the last existing one: valid values on which nothing depends.
  AP_DEV void load(int position, values<item, chunk>& v) const {
    if constexpr (packs)
      if (aligned && position + chunk <= count) {
        const pack<item, chunk> p = load_pack<chunk>(lowest(position));
        AP_UNROLL
        for (int e = 0; e < chunk; ++e) v.elements[e] = p.element[stride > 0 ? e : chunk - 1 - e];
        return;
      }
    AP_UNROLL
    for (int e = 0; e < chunk; ++e)
      v.elements[e] = data[(position + e < count ? position + e : count - 1) * stride];
  }
  AP_DEV void store(int position, const values<item, chunk>& v) const {
    if constexpr (packs)
      if (aligned && position + chunk <= count) {
        pack<item, chunk> p;
        AP_UNROLL
        for (int e = 0; e < chunk; ++e) p.element[e] = v.elements[stride > 0 ? e : chunk - 1 - e];
        store_pack<chunk>(lowest(position), p);
        return;
      }
    AP_UNROLL
    for (int e = 0; e < chunk; ++e)
      if (position + e < count) data[(position + e) * stride] = v.elements[e];
  }

 private:
  // For a chunk of a contiguous line.
  AP_DEV Element* lowest(int position) const {
    return stride > 0 ? data + position : data - position - (chunk - 1);
  }
  AP_DEV bool is_aligned() const {
    return (stride == 1 || stride == -1) &&
           reinterpret_cast<std::uintptr_t>(lowest(0)) % (sizeof(item) * chunk) == 0;
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
