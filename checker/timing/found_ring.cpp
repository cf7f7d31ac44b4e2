// SPDX-License-Identifier: Apache-2.0
#include "found_ring.hpp"

#include <algorithm>
#include <antiphase/executor/pipeline_cost.hpp>
#include <map>
#include <set>

#include "filled_places.hpp"

namespace antiphase::checker_detail {
namespace {

using kind = lane_event::kind;
using use = op_use::kind;

bool is_copy(const warp_op& op) {
  return op.type == kind::access && op.memory != line_memory::shared && op.action == line_action::async_copy;
}
// Tensor Cores read shared memory on their own.
bool is_async_product(const warp_op& op) {
  return op.type == kind::matrix && op.action == line_action::async_copy;
}
bool is_read(const warp_op& op) { return op.reads_shared() || is_async_product(op); }
bool waits(const warp_op& op) {
  return op.type == kind::copy_wait || op.type == kind::wait || op.type == kind::named_wait ||
         op.type == kind::meeting;
}
// True if anything is copied asynchronously: then even a single fill is worth drawing.
bool copies(const timed_block& b) {
  return std::ranges::any_of(b.ops, [](const auto& ops) { return std::ranges::any_of(ops, is_async_fill); });
}

// Fills that feed the ring, by number; and loads to registers that go into a fill, by warp and instruction.
struct fed_fills {
  std::vector<bool> fed, read;
  std::vector<std::vector<std::uint32_t>> of_load;
};
fed_fills fed_of(const timed_block& b, const std::vector<std::vector<std::int32_t>>& uses, bool of_results) {
  fed_fills f;
  f.fed.assign(b.fills.size(), false);
  f.read.assign(b.fills.size(), false);
  for (std::size_t w = 0; w < b.ops.size(); ++w) {
    const auto& ops = b.ops[w];
    std::vector<std::uint32_t>& of_load = f.of_load.emplace_back(ops.size(), 0);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const warp_op& op = ops[i];
      if (is_read(op) && op.more != 0) f.read[op.more] = true;
      if (is_async_fill(op) || (of_results && is_fill(op))) f.fed[op.more] = true;
      if (!op.loads() || uses[w][i] < 0) continue;
      const warp_op& by = ops[static_cast<std::size_t>(uses[w][i])];
      if (!by.writes_shared()) {
        // scaled or converted before it is stored: the next store, if nothing else is in between
        std::size_t next = static_cast<std::size_t>(uses[w][i]);
        while (next < ops.size() && (ops[next].type == kind::arithmetic || ops[next].loads())) ++next;
        if (by.type == kind::arithmetic && next < ops.size() && ops[next].writes_shared())
          of_load[i] = ops[next].more;
      } else {
        of_load[i] = by.more;
      }
      if (of_load[i] != 0) f.fed[of_load[i]] = true;
    }
  }
  // All parts of a divided fill are fed by the loads that came before its first.
  for (std::size_t n = 1; n < f.fed.size(); ++n)
    if (b.fills[n].part > 0)
      for (std::size_t first = 1; first < n; ++first)
        if (b.fills[first].warp == b.fills[n].warp && b.fills[first].segment == b.fills[n].segment)
          f.fed[n] = f.fed[n] || f.fed[first];
  // Matrix operations read shared memory by descriptors; bulk stores are not seen either.
  const bool by_others =
      std::ranges::any_of(b.ops, [](const auto& ops) { return std::ranges::any_of(ops, is_async_product); });
  for (std::size_t n = 0; n < f.fed.size(); ++n) f.fed[n] = f.fed[n] && (f.read[n] || by_others);
  return f;
}

// Removes the stores of computing warps from a ring that other warps fill by asynchronous copies: they are of
// something else, such as Q of an attention whose ring brings K and V.
void leave_to_loaders(const timed_block& b, fed_fills& f) {
  std::vector<bool> copied(b.fills.size(), false);
  std::set<int> loaders;
  for (const auto& ops : b.ops)
    for (const warp_op& op : ops)
      if (is_async_fill(op)) copied[op.more] = true, loaders.insert(b.fills[op.more].warp);
  for (std::size_t w = 0; w < b.ops.size(); ++w)
    for (const warp_op& op : b.ops[w])
      if (is_read(op) && copied[op.more] && loaders.contains(static_cast<int>(w))) return;
  if (loaders.empty()) return;
  for (std::size_t n = 0; n < f.fed.size(); ++n)
    f.fed[n] = f.fed[n] && (copied[n] || loaders.contains(b.fills[n].warp));
}

// Fills of a step that are apart, as where each operand has a commit of its own: how many a warp makes
// between two computations or waits for a slot, most of the times.
std::size_t fills_of_step(const std::vector<std::pair<bool, std::uint32_t>>& marks) {
  std::map<std::size_t, std::size_t> often;
  std::size_t now = 0;
  bool first = true;
  for (const auto& [fills, number] : marks) {
    if (fills) {
      ++now;
    } else if (now > 0) {
      if (!first) ++often[now];
      first = false;
      now = 0;
    }
  }
  std::size_t best = 1, times = 0;
  for (const auto& [count, n] : often)
    if (n > times) best = count, times = n;
  return best;
}

// The bytes that all warps together write between two barriers, by the segment between these; empty for rings
// with asynchronous copies. Threads of a sort or a reduction write other parts of one array in each round.
using places_by_segment = std::map<std::pair<std::uint32_t, std::uint32_t>, places_filled>;  // and part
places_by_segment written_together(const timed_block& b, const fed_fills& f) {
  places_by_segment all;
  for (const auto& ops : b.ops)
    for (const warp_op& op : ops) {
      if (!is_fill(op) || !f.fed[op.more]) continue;
      if (is_async_fill(op)) return {};
      all[{b.fills[op.more].segment, b.fills[op.more].part}].add(bytes_of(b, op));
    }
  return all;
}

// Steps of the fills of one warp, in its order.
void number_steps(const timed_block& b, const fed_fills& f, std::size_t w, const places_by_segment& together,
                  found_ring& ring, std::vector<std::int32_t>& step_of_fill) {
  std::vector<std::pair<bool, std::uint32_t>> marks;  // a fill begins, or something is waited for or read
  std::map<std::uint32_t, places_filled> words;
  bool reads = false;
  for (const warp_op& op : b.ops[w]) reads |= is_read(op) && f.fed[op.more];
  for (const warp_op& op : b.ops[w]) {
    if (is_fill(op) && f.fed[op.more]) {
      const auto others = together.find({b.fills[op.more].segment, b.fills[op.more].part});
      if (words[op.more].empty()) {
        marks.emplace_back(true, op.more);
        if (others != together.end()) words[op.more].add(others->second);
      }
      words[op.more].add(bytes_of(b, op));
    } else if (reads ? is_read(op) && op.more != 0 && f.fed[op.more] : op.type == kind::wait) {
      marks.emplace_back(false, 0);
    }
  }
  if (words.empty()) return;
  ring.loaders.push_back(static_cast<int>(w));
  const std::size_t of_step = fills_of_step(marks);
  std::vector<places_filled> slots;
  std::size_t fill = 0;
  for (const auto& [begins, number] : marks) {
    if (!begins) continue;
    const std::size_t step = fill++ / of_step;
    step_of_fill[number] = static_cast<std::int32_t>(step);
    if (fill % of_step != 1 && of_step > 1) {  // with the fill before it
      const auto slot = static_cast<std::size_t>(ring.slots[step]);
      if (slot < slots.size()) slots[slot].add(words[number]);
      continue;
    }
    const auto same =
        std::ranges::find_if(slots, [&](const places_filled& s) { return s.overlaps(words[number]); });
    const auto slot = static_cast<int>(same - slots.begin());
    if (same == slots.end())
      slots.push_back(words[number]);
    else
      same->add(words[number]);
    if (ring.slots.size() <= step) ring.slots.resize(step + 1, slot);
  }
  ring.stages = std::max(ring.stages, static_cast<int>(slots.size()));
}

// The last step whose copies each wait lets its warp see, by warp and instruction; -1: it waits for no
// copies. Known from what was copied: groups of cp.async, and mbarriers that count bytes or copies.
std::vector<std::vector<std::int32_t>> steps_waited_for(const timed_block& b, const fed_fills& f,
                                                        const std::vector<std::int32_t>& step_of_fill) {
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::int32_t> of_phase;  // by mbarrier and phase
  std::vector<std::vector<std::int32_t>> all;
  for (const auto& ops : b.ops) {
    std::vector<std::int32_t>& waited = all.emplace_back(ops.size(), -1);
    std::vector<std::int32_t> groups;
    std::int32_t copied = -1;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const warp_op& op = ops[i];
      if (is_async_fill(op) && f.fed[op.more]) copied = std::max(copied, step_of_fill[op.more]);
      if (op.type == kind::bulk_load && f.fed[op.more]) {
        const timed_block::counted& by = b.bulk_loads[op.moment];
        std::int32_t& step = of_phase.try_emplace({by.word, by.phase}, -1).first->second;
        step = std::max(step, step_of_fill[op.more]);
      }
      if (op.type == kind::copies_arrive && copied >= 0) {
        std::int32_t& step = of_phase.try_emplace({op.moment, op.more}, -1).first->second;
        step = std::max(step, copied);
      }
      if (op.type == kind::commit) groups.push_back(copied);
      if (op.type == kind::copy_wait && groups.size() > op.bytes)
        waited[i] = groups[groups.size() - 1 - op.bytes];
    }
  }
  for (std::size_t w = 0; w < b.ops.size(); ++w)
    for (std::size_t i = 0; i < b.ops[w].size(); ++i) {
      const warp_op& op = b.ops[w][i];
      if (op.type != kind::wait) continue;
      if (const auto counted = of_phase.find({op.moment, op.more}); counted != of_phase.end())
        all[w][i] = counted->second;
    }
  return all;
}

// True for a barrier directly after a wait for copies.
bool comes_after_copies(const std::vector<warp_op>& ops, const std::vector<std::int32_t>& waited,
                        std::size_t barrier) {
  std::size_t i = barrier;
  while (i > 0 && (ops[i - 1].type == kind::arithmetic || ops[i - 1].type == kind::commit)) --i;
  return i > 0 && waited[i - 1] >= 0;
}

// The use of each instruction of a warp. `waited`: see steps_waited_for().
std::vector<op_use> label(const timed_block& b, const fed_fills& f, std::size_t w,
                          const std::vector<std::int32_t>& step_of_fill,
                          const std::vector<std::int32_t>& waited, bool by_roles) {
  const auto& ops = b.ops[w];
  std::vector<op_use> all(ops.size());
  const auto step = [&](std::uint32_t fill) { return fill == 0 ? -1 : step_of_fill[fill]; };
  std::int32_t computing = -1;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const warp_op& op = ops[i];
    if (is_fill(op) && f.fed[op.more])
      all[i] = {op.writes_shared() ? use::store : use::load, step(op.more)};
    else if (op.loads() && step(f.of_load[w][i]) >= 0)
      all[i] = {use::load, step(f.of_load[w][i])};
    else if (is_read(op) && step(op.more) >= 0)
      all[i] = {use::compute, computing = step(op.more)};
    else if (by_roles && op.type == kind::arrive && computing >= 0)
      all[i] = {use::release, computing};
  }
  // Sources of copies, and fills of a group, go with what follows them.
  const bool loader = by_roles && computing < 0;
  std::int32_t last = -1, behind_mbarrier = -1;
  op_use next{};
  for (std::size_t i = ops.size(); i-- > 0;) {
    if (all[i].use == use::load || all[i].use == use::store || all[i].use == use::compute) next = all[i];
    if (is_copy(ops[i]) && next.use == use::load) all[i] = next;
    if (!waits(ops[i])) continue;
    // The data of roles are after an mbarrier; named barriers before it are for something else.
    const bool for_data =
        next.use == use::compute && (ops[i].type == kind::wait || behind_mbarrier != next.step);
    if (by_roles && for_data && ops[i].type == kind::wait) behind_mbarrier = next.step;
    if (waited[i] >= 0 && !loader)  // whatever follows
      all[i] = {use::wait, waited[i]};
    else if (ops[i].type == kind::meeting && comes_after_copies(ops, waited, i))
      all[i] = {use::release, -1};  // unless a thread's copies were late: see late_barriers()
    else if (for_data)
      all[i] = {use::wait, next.step};
    else if (next.use == use::load || next.use == use::store)
      all[i] = {loader ? use::acquire : use::release, next.step};
    else
      all[i] = {use::release, -1};
  }
  // A slot is released of the step that was computed last; others go on with what was before, or come next.
  op_use before{};
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (all[i].use == use::compute) last = all[i].step;
    if (all[i].use == use::release && waits(ops[i])) all[i].step = last;
    if (all[i].use == use::release && all[i].step < 0) all[i].use = use::other;
    if (all[i].use == use::other && !waits(ops[i])) {
      if (before.use == use::load || before.use == use::compute || before.use == use::store)
        all[i] = before;
      else
        for (std::size_t j = i; j < ops.size() && j < i + 64; ++j)
          if (all[j].use != use::other) {
            if (all[j].use == use::load || all[j].use == use::compute) all[i] = all[j];
            break;
          }
    }
    if (all[i].use != use::release || waits(ops[i])) before = all[i];
  }
  return all;
}

// A load blocks its warp if a store waits for it before the warp computes from an earlier step. The first
// ones of a kernel do in any form, so it is what most do that counts.
void classify_loads(const timed_block& b, found_ring& ring) {
  int blocking = 0, others = 0;
  for (std::size_t w = 0; w < b.ops.size(); ++w) {
    std::map<std::int32_t, bool> behind;  // by step: whether something was computed since its loads began
    std::int32_t stored = -1;
    place_number at = 0;
    for (std::size_t i = 0; i < b.ops[w].size(); ++i) {
      const op_use& u = ring.uses[w][i];
      const warp_op& op = b.ops[w][i];
      if (u.use == use::load && op.loads()) behind.try_emplace(u.step, false);
      if (u.use == use::compute && is_read(op)) {
        for (auto& [step, computed] : behind) computed = true;
        if (stored > u.step && ring.computed_at == 0 && at != 0)
          ring.waited_at = at, ring.computed_at = op.place;
      }
      const auto loads = u.use == use::store && is_fill(op) ? behind.find(u.step) : behind.end();
      if (loads == behind.end()) continue;
      ++(loads->second ? others : blocking);
      if (!loads->second) stored = u.step, at = op.place;
      behind.erase(loads);
    }
  }
  ring.loads_block = blocking > others;
  if (!ring.loads_block) ring.waited_at = ring.computed_at = 0;
}

// Whether a warp's copies into the last free slot begin before its wait for the slot that is used next. As
// with blocking loads, it is what most steps do that counts.
bool copies_begin_early(const timed_block& b, const found_ring& ring,
                        const std::vector<std::vector<std::int32_t>>& waited) {
  int before = 0, after = 0;
  for (std::size_t w = 0; w < b.ops.size(); ++w) {
    std::int32_t newest = -1;
    for (std::size_t i = 0; i < b.ops[w].size(); ++i) {
      if (ring.uses[w][i].use == use::load) newest = std::max(newest, ring.uses[w][i].step);
      if (waited[w][i] >= 0) ++(newest - waited[w][i] >= ring.stages - 1 ? before : after);
    }
  }
  return before > after;
}

}  // namespace

found_ring find_ring(const timed_block& b, const std::vector<std::vector<std::int32_t>>& uses_of_loads) {
  for (const bool of_results : {false, true}) {
    found_ring ring;
    fed_fills f = fed_of(b, uses_of_loads, of_results);
    if (!of_results) leave_to_loaders(b, f);
    std::vector<std::int32_t> step_of_fill(b.fills.size(), -1);
    const auto together = written_together(b, f);
    for (std::size_t w = 0; w < b.ops.size(); ++w) number_steps(b, f, w, together, ring, step_of_fill);
    ring.steps = static_cast<int>(ring.slots.size());
    if (ring.steps < (of_results || !copies(b) ? 2 : 1)) continue;
    if (of_results && ring.steps == ring.stages) continue;  // none is written again
    ring.of_results = of_results;
    for (std::size_t w = 0; w < b.ops.size(); ++w)
      if (std::ranges::any_of(b.ops[w], [&](const warp_op& op) {
            return is_read(op) && op.more != 0 && step_of_fill[op.more] >= 0;
          }))
        ring.readers.push_back(static_cast<int>(w));
    ring.by_roles =
        !ring.readers.empty() && !ring.loaders.empty() && std::ranges::none_of(ring.loaders, [&](int w) {
          return std::ranges::find(ring.readers, w) != ring.readers.end();
        });
    const auto waited = steps_waited_for(b, f, step_of_fill);
    constexpr std::uint64_t sector = 32;
    std::uint64_t loaded = 0, moved = 0, filled = 0;
    for (std::size_t w = 0; w < b.ops.size(); ++w) {
      ring.uses.push_back(label(b, f, w, step_of_fill, waited[w], ring.by_roles));
      for (std::size_t i = 0; i < b.ops[w].size(); ++i) {
        const warp_op& op = b.ops[w][i];
        if (is_fill(op) && f.fed[op.more]) {
          constexpr std::uint32_t widest = 16;  // more than a thread copies by cp.async
          ring.bulk |= op.type == kind::bulk_load && op.bytes > widest;
          ring.asynchronous |= is_async_fill(op);
          filled += std::uint64_t{op.lanes} * op.bytes;
          if (op.type == kind::bulk_load) loaded += op.bytes, moved += op.bytes;
        }
        if (op.accesses(line_memory::shared, line_action::async_copy) && op.bytes > 0)
          ring.copied += op.bytes < 16 ? fitted::narrow_copy_clocks : fitted::wide_copy_clocks;
        if ((op.loads() && f.of_load[w][i] != 0) || is_copy(op))
          loaded += std::uint64_t{op.lanes} * op.bytes, moved += sector * op.units,
              ring.issued += is_copy(op) ? fitted::copy_instructions : fitted::staged_instructions;
      }
    }
    constexpr std::uint64_t far = 8;
    if (!of_results && far * filled < loaded) continue;  // sums of what is loaded, not a buffer of it
    ring.slot_words = filled / 4 / static_cast<std::uint64_t>(ring.steps);
    ring.load_bytes = loaded / static_cast<std::uint64_t>(ring.steps);
    ring.moved_bytes = moved / static_cast<std::uint64_t>(ring.steps);
    ring.issued /= ring.steps;
    ring.copied /= ring.steps;
    if (!of_results) {
      classify_loads(b, ring);
      ring.early =
          !ring.by_roles && (ring.asynchronous ? ring.stages > 1 && copies_begin_early(b, ring, waited)
                                               : ring.stages == 1 && !ring.loads_block);
      return ring;
    }
    // More is loaded than written alternately, as in a reduction: that is what takes its time.
    found_ring loads = loads_to_registers(b, uses_of_loads);
    return loads.steps >= ring.steps ? loads : ring;
  }
  return loads_to_registers(b, uses_of_loads);
}

}  // namespace antiphase::checker_detail
