// SPDX-License-Identifier: Apache-2.0
#include "replay.hpp"

#include <algorithm>
#include <antiphase/executor/pipeline_cost.hpp>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace antiphase::checker_detail {
namespace {

using kind = lane_event::kind;
using cpu_detail::clock_costs;
using cpu_detail::one_tick;

constexpr double lanes = 32;
constexpr double sector = 32;  // bytes

// `apart`: meetings of a warp alone, in which its lanes exchange values.
std::int32_t use_of(const std::vector<warp_op>& ops, std::size_t load, const std::set<std::uint64_t>& apart) {
  constexpr std::size_t far = 1 << 14;
  std::int32_t computed = -1;   // the first arithmetic after the load
  std::int32_t passed_on = -1;  // the first access or exchange that may take the value
  bool read_shared = false;
  for (std::size_t i = load + 1; i < std::min(ops.size(), load + far); ++i) {
    const warp_op& op = ops[i];
    const auto here = static_cast<std::int32_t>(i);
    if (op.writes_shared()) return here;
    if (op.reads_shared()) read_shared = true;
    if (op.type == kind::arithmetic) {
      if (!read_shared) return here;
      if (computed < 0) computed = here;
    }
    const bool takes = op.type == kind::access
                           ? op.action != line_action::read && op.action != line_action::async_copy
                           : op.type == kind::meeting && apart.contains(op.moment);
    if (takes && passed_on < 0) passed_on = here;
    if (op.type == kind::access && op.memory == line_memory::global && takes && computed < 0)
      return passed_on;
    if (op.place == ops[load].place && (computed >= 0 || passed_on >= 0)) break;
  }
  return computed >= 0 ? computed : passed_on;
}

// Loads, copies and computations: what a barrier's cost keeps waiting.
bool works(const warp_op& op) {
  return op.type == kind::arithmetic || op.type == kind::bulk_load || op.type == kind::matrix ||
         (op.type == kind::access && !op.writes_shared());
}

// A meeting point of several warps: a barrier, or a phase of an mbarrier.
struct event {
  int expected = 0, came = 0;
  std::int64_t latest = 0;
  std::int64_t takes = 0;            // from then on until all go on
  bool owes = false;                 // see cpu_detail::thread_clock
  std::vector<std::size_t> waiting;  // players
};
using event_key = std::tuple<kind, std::uint64_t, std::uint32_t>;

// The shared part of the blocks: how many come to each event.
std::map<event_key, event> events_of(const timed_block& b, const clock_costs& costs) {
  std::map<event_key, event> all;
  for (const auto& ops : b.ops)
    for (const warp_op& op : ops) {
      if (op.type == kind::meeting || op.type == kind::named_arrive)
        ++all[{op.type, op.moment, op.more}].expected;
      if (op.type == kind::arrive || op.type == kind::copies_arrive)
        ++all[{kind::wait, op.moment, op.more}].expected;
      if (op.type == kind::bulk_load) {
        const timed_block::counted& by = b.bulk_loads[op.moment];
        ++all[{kind::wait, by.word, by.phase}].expected;
      }
    }
  for (auto& [key, e] : all)
    if (std::get<kind>(key) != kind::wait && e.expected > 1) e.takes = costs.barrier;
  return all;
}

class replayer {
 public:
  replayer(const timed_block& b, const std::vector<std::vector<std::int32_t>>& uses, const clock_costs& costs,
           int resident)
      : b_(b), uses_(uses), costs_(costs) {
    on_.warps = b.warps * resident;
    events_.assign(static_cast<std::size_t>(resident), events_of(b, costs));
    for (int block = 0; block < resident; ++block)
      for (int w = 0; w < b.warps; ++w) {
        player p{.block = static_cast<std::size_t>(block), .warp = static_cast<std::size_t>(w)};
        p.time = cpu_detail::thread_clock(costs_, &on_, w, 0);
        p.ready.assign(b.ops[p.warp].size(), 0);
        players_.push_back(std::move(p));
      }
    times_.resize(static_cast<std::size_t>(b.warps));
    for (std::size_t w = 0; w < times_.size(); ++w) times_[w].resize(b.ops[w].size());
  }

  block_times run() {
    for (std::size_t p = 0; p < players_.size(); ++p) queue_.push({0, p});
    for (;;) {
      while (!queue_.empty()) {
        const std::size_t p = queue_.top().second;
        queue_.pop();
        if (step(players_[p], p)) queue_.push({players_[p].time.now(), p});
      }
      if (!release_somebody()) return std::move(times_);
    }
  }

 private:
  struct player {
    std::size_t block, warp;
    cpu_detail::thread_clock time{};
    std::size_t next = 0;
    std::vector<std::int64_t> ready{};  // by instruction: when what it needs has landed
    std::int64_t copies_land = 0, multiplied = 0;
    std::vector<std::int64_t> groups{}, matrices{};
    std::int64_t waited_from = -1;  // for loads that the next instruction needs; -1: it has not
  };
  using entry = std::pair<std::int64_t, std::size_t>;

  event& event_of(const player& p, kind is, std::uint64_t at, std::uint32_t more) {
    return events_[p.block][{is, at, more}];
  }
  void set(player& p, std::size_t op, std::int64_t begin) {
    const std::int64_t waited = begin;
    if (p.waited_from >= 0) begin = std::exchange(p.waited_from, -1);
    if (p.block == 0) times_[p.warp][op] = {begin / one_tick, p.time.now() / one_tick, waited / one_tick};
  }
  // One more has come by `at`; the last one lets the others go on.
  void come(event& e, std::int64_t at) {
    e.latest = std::max(e.latest, at);
    if (++e.came < e.expected) return;
    for (const std::size_t q : e.waiting) {
      players_[q].time.wait_until(e.latest + e.takes);
      if (e.owes) players_[q].time.owe(e.latest + costs_.barrier_of_warp * e.expected);
      finish_wait(players_[q], q);
    }
    e.waiting.clear();
  }
  void finish_wait(player& q, std::size_t number) {
    if (q.block == 0) times_[q.warp][q.next].end = q.time.now() / one_tick;
    ++q.next;
    queue_.push({q.time.now(), number});
  }
  // True: the player goes on, false: it waits in the event.
  bool wait(player& p, std::size_t number, event& e) {
    const std::int64_t begin = p.time.now();
    if (e.came >= e.expected) {
      p.time.wait_until(e.latest + e.takes);
      set(p, p.next++, begin);
      return true;
    }
    set(p, p.next, begin);
    e.waiting.push_back(number);
    return false;
  }
  bool meet(player& p, std::size_t number, event& e) {
    const std::int64_t begin = p.time.now();
    if (e.expected == 1) {  // of the warp alone
      p.time.instructions(lanes);
      set(p, p.next++, begin);
      return true;
    }
    e.owes |= p.time.owes();
    set(p, p.next, begin);
    e.waiting.push_back(number);
    come(e, p.time.now());
    return false;
  }

  bool step(player& p, std::size_t number);
  void compute(player& p);
  void access(player& p, const warp_op& op);

  // Ends a wait for something from elsewhere, such as another block: the recorded run had it.
  bool release_somebody() {
    for (auto& events : events_)
      for (auto& [key, e] : events)
        if (!e.waiting.empty()) {
          e.came = e.expected - 1;
          come(e, e.latest);
          return true;
        }
    return false;
  }

  const timed_block& b_;
  const std::vector<std::vector<std::int32_t>>& uses_;
  const clock_costs& costs_;
  cpu_detail::clock_unit memory_;
  cpu_detail::multiprocessor on_{.memory = &memory_};
  std::int64_t tensor_free_ = 0;
  std::vector<player> players_;
  std::vector<std::map<event_key, event>> events_;  // by block
  std::priority_queue<entry, std::vector<entry>, std::greater<>> queue_;
  block_times times_;
};

// Reads of shared memory and arithmetic, as far as nothing is to be waited for: a GPU overlaps them.
void replayer::compute(player& p) {
  constexpr double most = 8;  // instructions; then others have their turn
  const auto& ops = b_.ops[p.warp];
  const std::size_t first = p.next;
  const std::int64_t begin = p.time.now();
  double multiplies = 0, reads = 0, wavefronts = 0;
  for (; p.next < ops.size() && multiplies + reads < most; ++p.next) {
    const warp_op& op = ops[p.next];
    if (p.next > first && p.ready[p.next] > begin) break;
    if (op.type == kind::arithmetic)
      multiplies += op.bytes;
    else if (op.reads_shared())
      ++reads, wavefronts += op.units;
    else
      break;
  }
  p.time.multiply(multiplies * lanes, reads * lanes, wavefronts * lanes, false);
  for (std::size_t i = first; i < p.next; ++i) set(p, i, begin);
}

void replayer::access(player& p, const warp_op& op) {
  const std::int64_t begin = p.time.now();
  const double bytes = sector * op.units;
  if (op.memory == line_memory::shared) {
    // that of a copy was charged with its source
    if (op.action == line_action::async_copy && op.bytes > 0) {
      const double clocks = op.bytes < 16 ? fitted::narrow_copy_clocks : fitted::wide_copy_clocks;
      p.time.copy(fitted::copy_instructions * lanes, clocks * lanes);
      p.copies_land = std::max(p.copies_land, p.time.copied());
    } else {
      p.time.instructions(lanes, lanes * op.units);
    }
  } else if (op.memory == line_memory::constant) {
    p.time.instructions(lanes);
  } else if (op.action == line_action::async_copy) {
    p.copies_land = std::max(p.copies_land, p.time.landing(bytes));
  } else if (op.action == line_action::read) {
    p.time.instructions((fitted::staged_instructions - 1) * lanes);
    const std::int64_t lands = p.time.landing(bytes);
    if (const std::int32_t use = uses_[p.warp][p.next]; use >= 0) {
      std::int64_t& ready = p.ready[static_cast<std::size_t>(use)];
      ready = std::max(ready, lands);
    }
  } else {
    p.time.instructions((fitted::copy_instructions - 1) * lanes);
    p.time.landing(bytes);
  }
  set(p, p.next++, begin);
}

bool replayer::step(player& p, std::size_t number) {
  const auto& ops = b_.ops[p.warp];
  if (p.next == ops.size()) return false;
  const warp_op& op = ops[p.next];
  const std::int64_t begin = p.time.now();
  if (p.ready[p.next] > begin) {  // loads
    p.time.wait_until(p.ready[p.next]);
    p.waited_from = begin;
    return true;
  }
  const auto pass = [&] {
    set(p, p.next++, begin);
    return true;
  };
  if (works(op) && p.time.pay()) {
    // drawn as a part of the barrier, if nothing lies between
    if (p.block == 0 && p.next > 0 && ops[p.next - 1].type == kind::meeting && p.waited_from < 0)
      times_[p.warp][p.next - 1].end = p.time.now() / one_tick;
    return true;
  }
  switch (op.type) {
    case kind::arithmetic: compute(p); return true;
    case kind::access:
      if (op.reads_shared())
        compute(p);
      else
        access(p, op);
      return true;
    case kind::meeting: return meet(p, number, event_of(p, op.type, op.moment, op.more));
    case kind::commit: p.groups.push_back(p.copies_land); return pass();
    case kind::copy_wait:
      if (p.groups.size() > op.bytes) p.time.wait_until(p.groups[p.groups.size() - 1 - op.bytes]);
      return pass();
    case kind::arrive:
      p.time.instructions(lanes);
      pass();
      come(event_of(p, kind::wait, op.moment, op.more), p.time.now());
      return true;
    case kind::copies_arrive:
      p.time.instructions(lanes);
      pass();
      come(event_of(p, kind::wait, op.moment, op.more), std::max(p.time.now(), p.copies_land));
      return true;
    case kind::wait:
      p.time.instructions(lanes);
      if (op.more == ~0u) return pass();
      return wait(p, number, event_of(p, kind::wait, op.moment, op.more));
    case kind::named_arrive:
      p.time.instructions(lanes);
      pass();
      come(event_of(p, kind::named_arrive, op.moment, op.more), p.time.now());
      return true;
    case kind::named_wait: return wait(p, number, event_of(p, kind::named_arrive, op.moment, op.more));
    case kind::bulk_load: {
      p.time.instruction_alone();
      const std::int64_t lands = p.time.landing_by_engine(op.bytes);
      const timed_block::counted& by = b_.bulk_loads[op.moment];
      pass();
      come(event_of(p, kind::wait, by.word, by.phase), lands);
      return true;
    }
    case kind::matrix: {
      const bool stays = op.action != line_action::async_copy;
      // The four Tensor Cores as one: a warpgroup uses all of them.
      const double one = costs_.tensor_multiply_add / 4,
                   duration = op.bytes * (stays ? std::max(one, one_tick / fitted::warp_multiplies) : one);
      p.time.instructions(lanes);
      tensor_free_ = std::max(tensor_free_, p.time.now()) + static_cast<std::int64_t>(duration);
      if (stays)
        p.time.wait_until(tensor_free_);
      else
        p.multiplied = tensor_free_;
      return pass();
    }
    case kind::matrix_commit: p.matrices.push_back(p.multiplied); return pass();
    case kind::matrix_wait:
      if (p.matrices.size() > op.bytes) p.time.wait_until(p.matrices[p.matrices.size() - 1 - op.bytes]);
      return pass();
  }
  return pass();
}

}  // namespace

std::vector<std::vector<std::int32_t>> uses_of_loads(const timed_block& b) {
  std::map<std::uint64_t, int> meetings;  // how many warps come to each
  for (const auto& ops : b.ops)
    for (const warp_op& op : ops)
      if (op.type == kind::meeting) ++meetings[op.moment];
  std::set<std::uint64_t> apart;
  for (const auto& [at, warps] : meetings)
    if (warps == 1) apart.insert(at);
  std::vector<std::vector<std::int32_t>> all;
  for (const auto& ops : b.ops) {
    std::vector<std::int32_t>& uses = all.emplace_back(ops.size(), -1);
    for (std::size_t i = 0; i < ops.size(); ++i)
      if (ops[i].loads()) uses[i] = use_of(ops, i, apart);
  }
  return all;
}

block_times replay(const timed_block& b, const std::vector<std::vector<std::int32_t>>& uses,
                   const clock_costs& costs, int resident) {
  return replayer(b, uses, costs, resident).run();
}

}  // namespace antiphase::checker_detail
