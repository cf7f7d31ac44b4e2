// SPDX-License-Identifier: Apache-2.0
#include "access_counts.hpp"

#include <algorithm>
#include <bit>

namespace antiphase::checker_detail {
void access_counts::begin_launch(const std::string& kernel) {
  const auto at = std::ranges::find(kernels_, kernel);
  kernel_ = static_cast<std::size_t>(at - kernels_.begin());
  if (at == kernels_.end()) kernels_.push_back(kernel);
}

void access_counts::instruction(block_number, int, const lane_event& e, const warp_request& r) {
  if (e.type != lane_event::kind::access) return;
  line_count& c = counted_[{kernel_, e.place, e.memory, e.action}];
  const auto lanes = static_cast<std::uint64_t>(std::popcount(r.lanes));
  ++c.requests;
  c.lanes += lanes;
  c.bytes += lanes * e.bytes;
  request_cost cost;
  if (e.memory != line_memory::shared)
    cost = sectors(r);
  else if (e.action != line_action::bulk_copy && e.action != line_action::atomic)
    cost = wavefronts(r);
  c.units += cost.units;
  c.ideal += cost.ideal;
}

std::vector<line_count> access_counts::lines() const {
  std::map<std::tuple<std::size_t, std::string, int, line_action, line_memory>, line_count> by_line;
  for (const auto& [key, c] : counted_) {
    const auto& [kernel, place, memory, what] = key;
    const code_place at = places_.first_line(place);
    line_count& to = by_line[{kernel, at.file, at.line, what, memory}];
    to.kernel = kernels_[kernel];
    to.place = at;
    to.memory = memory;
    to.action = what;
    to.requests += c.requests;
    to.lanes += c.lanes;
    to.bytes += c.bytes;
    to.units += c.units;
    to.ideal += c.ideal;
  }
  std::vector<line_count> all;
  for (auto& [key, c] : by_line) all.push_back(std::move(c));
  return all;
}

}  // namespace antiphase::checker_detail
