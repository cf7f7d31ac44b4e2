// SPDX-License-Identifier: Apache-2.0
// Fills of several slots without a barrier between, as a prologue makes them: a fill for each slot.
#include <map>

#include "filled_places.hpp"

namespace antiphase::checker_detail {
namespace {

// The fills of a warp: their instructions, and what they fill, by number.
struct warp_fill {
  std::vector<std::size_t> ops;
  places_filled places;
};
using warp_fills = std::map<std::uint32_t, warp_fill>;

warp_fills fills_of(const timed_block& b, const std::vector<warp_op>& ops) {
  warp_fills all;
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (is_fill(ops[i]) && ops[i].more != 0) {
      warp_fill& fill = all[ops[i].more];
      fill.ops.push_back(i);
      fill.places.add(bytes_of(b, ops[i]));
    }
  return all;
}

// The instructions of the fill `one`, by the later fill of the same place, in the order of their firsts;
// empty where these are not at least two that fill exactly what they do.
std::vector<warp_fill> slots_of(const timed_block& b, const std::vector<warp_op>& ops, const warp_fills& all,
                                warp_fills::const_iterator one) {
  constexpr int most_slots = 32;
  std::vector<warp_fill> parts;
  std::vector<std::uint32_t> later;  // by part
  for (const std::size_t i : one->second.ops) {
    places_filled here;
    here.add(bytes_of(b, ops[i]));
    auto next = std::next(one);
    for (int far = 0; next != all.end() && !next->second.places.overlaps(here); ++next)
      if (++far > most_slots) return {};
    if (next == all.end()) return {};
    const auto known = std::ranges::find(later, next->first) - later.begin();
    if (known == std::ssize(later)) later.push_back(next->first), parts.emplace_back();
    warp_fill& part = parts[static_cast<std::size_t>(known)];
    part.ops.push_back(i);
    part.places.add(here);
  }
  if (parts.size() < 2) return {};
  for (std::size_t p = 0; p < parts.size(); ++p)
    if (!(all.at(later[p]).places == parts[p].places)) return {};
  return parts;
}

}  // namespace

void split_fills(timed_block& b) {
  struct divided {
    std::vector<warp_fill> parts;
    std::uint32_t second = 0;  // number of the second part's fill; others follow
  };
  std::map<std::uint32_t, divided> all;
  for (std::size_t w = 0; w < b.ops.size(); ++w) {
    const warp_fills fills = fills_of(b, b.ops[w]);
    for (auto one = fills.begin(); one != fills.end(); ++one)
      if (auto parts = slots_of(b, b.ops[w], fills, one); !parts.empty()) {
        const auto second = static_cast<std::uint32_t>(b.fills.size());
        for (std::uint32_t p = 1; p < parts.size(); ++p)
          b.fills.push_back({static_cast<int>(w), b.fills[one->first].segment, p});
        all[one->first] = {std::move(parts), second};
      }
  }
  if (all.empty()) return;
  for (auto& ops : b.ops)
    for (warp_op& op : ops) {
      const bool fills = is_fill(op);
      const bool uses = (op.type == lane_event::kind::access && op.memory == line_memory::shared) ||
                        op.type == lane_event::kind::matrix;
      if (!fills && !uses) continue;
      const auto found = all.find(op.more);
      if (found == all.end()) continue;
      places_filled here;
      if (fills)
        here.add(bytes_of(b, op));
      else
        here.add({op.moment, op.moment + 1});
      const std::vector<warp_fill>& parts = found->second.parts;
      for (std::size_t p = 1; p < parts.size(); ++p)
        if (parts[p].places.overlaps(here))
          op.more = found->second.second + static_cast<std::uint32_t>(p) - 1;
    }
}

}  // namespace antiphase::checker_detail
