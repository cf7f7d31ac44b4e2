// SPDX-License-Identifier: Apache-2.0
#include "library/attention/row_set.hpp"

#include <algorithm>

namespace antiphase::attentions {
namespace {

constexpr int most_steps = 1 << 14;

row_dimension& outermost(row_set& a) {
  return *std::ranges::max_element(
      a.dimensions, {}, [](const row_dimension& d) { return d.extent > 1 ? d.stride : std::int64_t{-1}; });
}

// What the rows span modulo `period`: dimensions whose strides are multiples of it do not count.
std::int64_t span_modulo(const row_set& a, std::int64_t period) {
  std::int64_t span = a.bytes;
  for (const row_dimension& d : a.dimensions)
    if (d.stride % period != 0) span += (d.extent - 1) * d.stride;
  return span;
}
bool apart_modulo(const row_set& a, const row_set& b, std::int64_t period) {
  const std::int64_t of_a = span_modulo(a, period), of_b = span_modulo(b, period);
  if (of_a + of_b > period) return false;
  // how far b begins after a, around the period
  const auto p = static_cast<std::uintptr_t>(period);
  const auto behind = static_cast<std::int64_t>((b.address % p + p - a.address % p) % p);
  return behind >= of_a && period - behind >= of_b;
}

bool touch(row_set a, row_set b, int& steps) {
  if (a.address + static_cast<std::uintptr_t>(a.span()) <= b.address ||
      b.address + static_cast<std::uintptr_t>(b.span()) <= a.address || ++steps > most_steps)
    return false;
  for (const row_set* of : {&a, &b})
    for (const row_dimension& d : of->dimensions)
      if (d.extent > 1 && d.stride > 0 && apart_modulo(a, b, d.stride)) return false;
  row_dimension &of_a = outermost(a), &of_b = outermost(b);
  if (of_a.extent == 1 && of_b.extent == 1) return true;
  // one index after the other of the larger stride
  const bool splits_a = of_b.extent == 1 || (of_a.extent > 1 && of_a.stride >= of_b.stride);
  row_set& split = splits_a ? a : b;
  row_dimension& along = splits_a ? of_a : of_b;
  const row_set& other = splits_a ? b : a;
  const row_dimension all = along;
  along = {};
  // from the first index whose rows end after the beginning of the other set
  const auto before = static_cast<std::int64_t>(other.address - split.address) - split.span();
  const std::int64_t first = all.stride == 0 || before < 0 ? 0 : before / all.stride + 1;
  split.address += static_cast<std::uintptr_t>(first * all.stride);
  const std::uintptr_t end = other.address + static_cast<std::uintptr_t>(other.span());
  for (std::int64_t i = first; i < all.extent && split.address < end && steps <= most_steps; ++i) {
    if (touch(a, b, steps)) return true;
    if (all.stride == 0) break;
    split.address += static_cast<std::uintptr_t>(all.stride);
  }
  return false;
}

}  // namespace

bool row_set::empty() const {
  return bytes == 0 || std::ranges::any_of(dimensions, [](const row_dimension& d) { return d.extent == 0; });
}
std::int64_t row_set::span() const {
  std::int64_t all = bytes;
  for (const row_dimension& d : dimensions) all += (d.extent - 1) * d.stride;
  return all;
}

bool rows_nest(const row_set& a) {
  std::array<row_dimension, 4> by_stride = a.dimensions;
  std::ranges::sort(by_stride, {}, &row_dimension::stride);
  std::int64_t span = a.bytes;
  for (const row_dimension& d : by_stride) {
    if (d.extent <= 1) continue;
    if (d.stride < span) return false;
    span += (d.extent - 1) * d.stride;
  }
  return true;
}

bool overlap(const row_set& a, const row_set& b) {
  int steps = 0;
  return !a.empty() && !b.empty() && touch(a, b, steps);
}

}  // namespace antiphase::attentions
