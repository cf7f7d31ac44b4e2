// SPDX-License-Identifier: Apache-2.0
// A tile's bytes between global memory, where they may lie anywhere, and a slot of the ring.
#pragma once
#include <antiphase/device/vector.cuh>
#include <antiphase/scan/detail/register_chunk.cuh>
#include <cstdint>
#include <cstring>

namespace antiphase::scans {
inline namespace AP_TARGET {

// The copy engine moves whole multiples of 16 bytes, from and to multiples of 16. A tile therefore lies in its slot as far behind such an
// address as in global memory; what is left over at its ends, less than 16 bytes each, the lanes of a warp move, an element each.
constexpr int copy_unit = 16, slot_slack = 128;  // the latter keeps slots at multiples of 128 bytes

AP_DEV int shift_of(const void* at) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % copy_unit); }

// Where a tile lies in memory, and how much of it there is.
struct tile_extent {
  std::int64_t first;
  int count;
};

// Of `count` elements that begin `shift` bytes behind a multiple of 16: the copy engine's are first ... end - 1.
template <class T> struct moved_in_bulk {
  int first, end, count;

  AP_DEV moved_in_bulk(int shift, int elements) : count(elements) {
    const int last = (shift + elements * size) / copy_unit * copy_unit - shift;  // bytes
    const int begin = shift == 0 ? 0 : copy_unit - shift;
    first = begin < elements * size ? begin / size : elements;
    end = last > begin ? last / size : first;
  }
  AP_DEV std::uint32_t bytes() const { return static_cast<std::uint32_t>((end - first) * size); }
  // The element that a lane moves; `count`: none.
  AP_DEV int by_lane(int lane) const {
    const int at = lane < first ? lane : end + lane - first;
    return at < count ? at : count;
  }

 private:
  static constexpr int size = sizeof(T);
};

// A chunk of N elements at any byte of shared memory: from the words around it, where it is not aligned.
template <int N, class T> AP_DEV register_chunk<T, N> load_chunk(const unsigned char* at, bool aligned) {
  using word = pack<std::uint32_t, 1>;
  constexpr int words = sizeof(T) * N / 4;
  static_assert(sizeof(T) * N % 4 == 0);
  if (aligned) return *reinterpret_cast<const register_chunk<T, N>*>(at);
  const auto behind = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at) % 4);
  const word* from = reinterpret_cast<const word*>(at - behind);
  std::uint32_t part[words + 1];
  AP_UNROLL
  for (int i = 0; i <= words; ++i) part[i] = i < words || (is_narrow<T> && behind > 0) ? from[i].element[0] : 0;
  if constexpr (is_narrow<T>) {
    AP_UNROLL
    for (int i = 0; i < words; ++i) part[i] = static_cast<std::uint32_t>((std::uint64_t{part[i + 1]} << 32 | part[i]) >> (8 * behind));
  }
  register_chunk<T, N> chunk;
  memcpy(&chunk, part, sizeof chunk);
  return chunk;
}
template <int N, class T> AP_DEV void store_chunk(unsigned char* at, const register_chunk<T, N>& v, bool aligned) {
  if (aligned) {
    *reinterpret_cast<register_chunk<T, N>*>(at) = v;
    return;
  }
  AP_UNROLL
  for (int e = 0; e < N; ++e) reinterpret_cast<pack<T, 1>*>(at)[e].element[0] = element_at<T, N>(v, e);
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
