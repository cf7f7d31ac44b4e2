// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/scan/scan_reference.hpp"

#include <cstdint>
#include <type_traits>

namespace antiphase::tool {
namespace {

// Type in which a step computes: FP32 for 16-bit floats, which are rounded after every step.
template <class T> using computed_in =
    std::conditional_t<std::is_same_v<T, f16> || std::is_same_v<T, bf16>, float, T>;
template <class T> computed_in<T> value_of(const T& x) {
  if constexpr (std::is_same_v<computed_in<T>, T>)
    return x;
  else
    return to_float(x);
}
template <class T> T rounded(const computed_in<T>& x) {
  if constexpr (std::is_same_v<T, f16>)
    return to_f16(x);
  else if constexpr (std::is_same_v<T, bf16>)
    return to_bf16(x);
  else
    return x;
}

// Processes all lines of an outer index together, so that memory is read sequentially along any axis. The
// prefix of an element is the adjacent output; at the start of a line there is none.
template <class T, class Op>
void scan_lines(const scan_job& job, const T* in, T* out, std::span<const std::uint8_t> heads, Op op) {
  const bool forward = job.direction == scan_direction::forward, exclusive = job.kind == scan_kind::exclusive;
  const T first = rounded<T>(first_of_exclusive<computed_in<T>>(job));
  for (std::int64_t o = 0; o < job.outer; ++o) {
    for (std::int64_t k = 0; k < job.length; ++k) {
      const std::int64_t i = forward ? k : job.length - 1 - k;
      const std::int64_t here = (o * job.length + i) * job.inner,
                         before = forward ? here - job.inner : here + job.inner;
      const bool begins =
          k == 0 || (!heads.empty() && heads[static_cast<std::size_t>(forward ? i : i + 1)] != 0);
      for (std::int64_t j = 0; j < job.inner; ++j) {
        if (begins)
          out[here + j] = exclusive ? first : in[here + j];
        else
          out[here + j] =
              rounded<T>(op(value_of(out[before + j]), value_of(in[(exclusive ? before : here) + j])));
      }
    }
  }
}

template <class Key> void find_heads(std::span<const std::byte> keys, std::vector<std::uint8_t>& heads) {
  const Key* const key = reinterpret_cast<const Key*>(keys.data());
  for (std::size_t i = 1; i < heads.size(); ++i) heads[i] = value_of(key[i - 1]) == value_of(key[i]) ? 0 : 1;
}

}  // namespace

std::vector<std::byte> reference_scan(const scan_job& job, std::span<const std::byte> elements,
                                      std::span<const std::uint8_t> heads) {
  std::vector<std::byte> result(elements.size());
  with_stored_element(job.type, [&]<class T>() {
    const T* const in = reinterpret_cast<const T*>(elements.data());
    T* const out = reinterpret_cast<T*>(result.data());
    scans::with_operator(job.operation, [&](auto op) { scan_lines(job, in, out, heads, op); });
  });
  return result;
}

std::vector<std::uint8_t> heads_of(std::span<const std::byte> keys, element type) {
  std::vector<std::uint8_t> heads(keys.size() / size_of(type));
  with_stored_element(type, [&]<class Key>() { find_heads<Key>(keys, heads); });
  return heads;
}

}  // namespace antiphase::tool
