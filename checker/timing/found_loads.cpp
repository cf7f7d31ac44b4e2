// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "found_ring.hpp"

namespace antiphase::checker_detail {

using use = op_use::kind;

found_ring loads_to_registers(const timed_block& b,
                              const std::vector<std::vector<std::int32_t>>& uses_of_loads) {
  found_ring ring;
  std::uint64_t loaded = 0;
  for (std::size_t w = 0; w < b.ops.size(); ++w) {
    const auto& ops = b.ops[w];
    std::vector<op_use>& all = ring.uses.emplace_back(ops.size());
    std::int32_t step = -1;
    auto first_use = static_cast<std::int32_t>(ops.size());  // of what the step has loaded
    bool used = true;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const std::int32_t by = uses_of_loads[w][i];
      if (static_cast<std::int32_t>(i) == first_use) used = true;
      if (by >= 0) {
        if (used) ++step, used = false, first_use = by;
        first_use = std::min(first_use, by);
        loaded += std::uint64_t{ops[i].lanes} * ops[i].bytes;
        all[i] = {use::load, step};
      } else if (step >= 0) {
        const std::int32_t of = used ? step : step - 1;  // before the first use: it hides the loads
        if (of >= 0) all[i] = {ops[i].type == lane_event::kind::meeting ? use::release : use::compute, of};
      }
    }
    if (step >= 0) ring.loaders.push_back(static_cast<int>(w));
    ring.steps = std::max(ring.steps, step + 1);
  }
  if (ring.steps == 0) return {};
  ring.stages = 1;
  ring.to_registers = true;
  ring.readers = ring.loaders;
  ring.slots.assign(static_cast<std::size_t>(ring.steps), 0);
  ring.load_bytes = ring.moved_bytes = loaded / static_cast<std::uint64_t>(ring.steps);
  return ring;
}

}  // namespace antiphase::checker_detail
