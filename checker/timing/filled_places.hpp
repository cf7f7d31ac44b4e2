// SPDX-License-Identifier: Apache-2.0
// Parts of shared memory that instructions fill.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "timed_block.hpp"

namespace antiphase::checker_detail {

inline bool is_async_fill(const warp_op& op) {
  return op.type == lane_event::kind::bulk_load || op.accesses(line_memory::shared, line_action::async_copy);
}
inline bool is_fill(const warp_op& op) { return is_async_fill(op) || op.writes_shared(); }

// Shared memory, from its first byte to the one after the last.
using bytes = std::pair<std::uint64_t, std::uint64_t>;
inline bytes bytes_of(const timed_block& b, const warp_op& op) {
  const std::uint64_t at = op.type == lane_event::kind::bulk_load ? b.bulk_loads[op.moment].destination
                                                                  : op.moment,
                      last = op.type == lane_event::kind::bulk_load ? at : op.last;
  return {std::min(at, last), std::max(at, last) + op.bytes};
}
// Sorted, those that touch joined.
class places_filled {
 public:
  void add(bytes more) {
    auto first = std::ranges::lower_bound(all_, more.first, {}, &bytes::second), end = first;
    for (; end != all_.end() && end->first <= more.second; ++end)
      more = {std::min(more.first, end->first), std::max(more.second, end->second)};
    all_.insert(all_.erase(first, end), more);
  }
  void add(const places_filled& more) {
    for (const bytes& one : more.all_) add(one);
  }
  bool overlaps(const places_filled& other) const {
    return std::ranges::any_of(other.all_, [&](const bytes& one) {
      const auto mine = std::ranges::upper_bound(all_, one.first, {}, &bytes::second);
      return mine != all_.end() && mine->first < one.second;
    });
  }
  bool empty() const { return all_.empty(); }
  bool operator==(const places_filled&) const = default;

 private:
  std::vector<bytes> all_;
};

}  // namespace antiphase::checker_detail
