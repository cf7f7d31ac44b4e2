// SPDX-License-Identifier: Apache-2.0
// Moves tiles of any alignment between global memory and slots of the ring.
#pragma once
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include <antiphase/scan/detail/register_chunk.cuh>
#include <cstdint>
#include <cstring>

namespace antiphase::scans {
inline namespace AP_TARGET {

// Bulk copies move multiples of 16 bytes between addresses that are multiples of 16. So a tile has the same
// offset from such an address in its slot as in global memory, and the lanes of a warp copy the less than 16
// bytes that remain at either end, one element each.
constexpr int copy_unit = 16, slot_slack = 128;  // the slack keeps slots at multiples of 128 bytes

AP_DEV int shift_of(const void* at) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % copy_unit);
}

// A tile's first element in memory, and its number of elements.
struct tile_extent {
  std::int64_t first;
  int count;
};

// The part of a tile that is copied in bulk: elements first ... end - 1 of `count`, which begin `shift` bytes
// after a multiple of 16.
template <class T> struct moved_in_bulk {
  int first, end, count;

  AP_DEV moved_in_bulk(int shift, int elements) : count(elements) {
    const int last = (shift + elements * size) / copy_unit * copy_unit - shift;  // bytes
    const int begin = shift == 0 ? 0 : copy_unit - shift;
    first = begin < elements * size ? begin / size : elements;
    end = last > begin ? last / size : first;
  }
  AP_DEV std::uint32_t bytes() const { return static_cast<std::uint32_t>((end - first) * size); }
  // The element that a lane copies; `count`: none.
  AP_DEV int by_lane(int lane) const {
    const int at = lane < first ? lane : end + lane - first;
    return at < count ? at : count;
  }

 private:
  static constexpr int size = sizeof(T);
};

// The 16 bytes of `part` from byte `offset` on, 0 ... 15, a multiple of sizeof(T).
template <class T> AP_DEV pack<std::uint32_t, 4> bytes_from(const std::uint32_t (&part)[8], int offset) {
  std::uint32_t by_two[6], by_one[5];
  AP_UNROLL
  for (int i = 0; i < 6; ++i) by_two[i] = (offset & 8) != 0 ? part[i + 2] : part[i];
  AP_UNROLL
  for (int i = 0; i < 5; ++i) by_one[i] = (offset & 4) != 0 ? by_two[i + 1] : by_two[i];
  if constexpr (is_narrow<T>) {
    const int bits = 8 * (offset & 3);
    AP_UNROLL
    for (int i = 0; i < 4; ++i)
      by_one[i] = static_cast<std::uint32_t>((std::uint64_t{by_one[i + 1]} << 32 | by_one[i]) >> bits);
  }
  return {by_one[0], by_one[1], by_one[2], by_one[3]};
}

// Loads a chunk of N elements from any byte of shared memory; if not aligned, from the words around it.
template <int N, class T> AP_DEV register_chunk<T, N> load_chunk(const unsigned char* at, bool aligned) {
  using word = pack<std::uint32_t, 1>;
  constexpr int words = sizeof(T) * N / 4;
  static_assert(sizeof(T) * N % 4 == 0);
  if (aligned) return *reinterpret_cast<const register_chunk<T, N>*>(at);
  const auto behind = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at) % 4);
  const word* from = reinterpret_cast<const word*>(at - behind);
  std::uint32_t part[words + 1];
  AP_UNROLL
  for (int i = 0; i <= words; ++i)
    part[i] = i < words || (is_narrow<T> && behind > 0) ? from[i].element[0] : 0;
  if constexpr (is_narrow<T>) {
    AP_UNROLL
    for (int i = 0; i < words; ++i)
      part[i] = static_cast<std::uint32_t>((std::uint64_t{part[i + 1]} << 32 | part[i]) >> (8 * behind));
  }
  register_chunk<T, N> chunk;
  memcpy(&chunk, part, sizeof chunk);
  return chunk;
}
template <int N, class T>
AP_DEV void store_chunk(unsigned char* at, const register_chunk<T, N>& v, bool aligned) {
  if (aligned) {
    *reinterpret_cast<register_chunk<T, N>*>(at) = v;
    return;
  }
  AP_UNROLL
  for (int e = 0; e < N; ++e) reinterpret_cast<pack<T, 1>*>(at)[e].element[0] = element_at<T, N>(v, e);
}

// Stores the 16-byte chunks of a warp's lanes, contiguous and row after row, `shift` bytes after aligned
// addresses. Each lane combines its own chunk and the previous one in scan order into the 16 bytes between
// two boundaries. The outer parts of the warp's first and last chunk are stored element by element, since the
// rest of those 16 bytes belongs to another warp or to none.
template <class T> class shifted_chunks {
 public:
  using chunk = register_chunk<T, copy_unit / static_cast<int>(sizeof(T))>;

  AP_DEV shifted_chunks(unsigned char* slot, int shift, bool reverse)
      : slot_(slot), shift_(shift), reverse_(reverse) {}

  // The lane's chunk of the next row, the `number`-th of the tile in memory.
  AP_DEV void put(const chunk& v, int number, bool first_row) {
    const int lane = lane_index();
    chunk given = v;
    if (lane == warp_size - 1) given = before_;
    const chunk other = shuffle(given, (lane + warp_size - 1) % warp_size);
    before_ = v;
    if (first_row && lane == 0) {
      put_part(v, number, !reverse_);
    } else {
      std::uint32_t mine[4], before[4], part[8];
      memcpy(mine, &v, copy_unit);
      memcpy(before, &other, copy_unit);
      AP_UNROLL
      for (int i = 0; i < 4; ++i) {  // by words: selecting between two objects would put them in local memory
        part[i] = reverse_ ? mine[i] : before[i];
        part[4 + i] = reverse_ ? before[i] : mine[i];
      }
      *reinterpret_cast<pack<std::uint32_t, 4>*>(slot_ + (number + (reverse_ ? 1 : 0)) * copy_unit) =
          bytes_from<T>(part, copy_unit - shift_);
    }
  }
  // Call after the last row, with its `number`.
  AP_DEV void finish(int number) const {
    if (lane_index() == warp_size - 1) put_part(before_, number, reverse_);
  }

 private:
  // Stores the elements of a chunk up to the next boundary in memory, or those after it.
  AP_DEV void put_part(const chunk& v, int number, bool up_to) const {
    const int in_first = (copy_unit - shift_) / static_cast<int>(sizeof(T));
    pack<T, 1>* const to = reinterpret_cast<pack<T, 1>*>(slot_ + number * copy_unit + shift_);
    AP_UNROLL
    for (int e = 0; e < copy_unit / static_cast<int>(sizeof(T)); ++e)
      if ((e < in_first) == up_to)
        to[e].element[0] = element_at<T, copy_unit / static_cast<int>(sizeof(T))>(v, e);
  }

  unsigned char* slot_;
  int shift_;
  bool reverse_;
  chunk before_{};
};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
