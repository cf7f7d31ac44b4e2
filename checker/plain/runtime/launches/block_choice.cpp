// SPDX-License-Identifier: Apache-2.0
// Which blocks of a launch run, and what is not checked after blocks have been left out.
#include <fmt/format.h>

#include <antiphase/plain/tensor_memory.h>
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "checker/plain/runtime/launches/launch_state.hpp"
#include "checker/plain/runtime/run.hpp"
#include "checker/plain/runtime/runtime.hpp"
#include "checker/runs/executor.hpp"
#include "checker/runs/process/process.hpp"
#include "core/executor/cpu/worker.hpp"

namespace antiphase::plain {

run_coverage coverage;

namespace {

constexpr const char* consequence =
    "memory that skipped blocks would have written is missing, so results are not checked. --blocks all runs "
    "all "
    "blocks";

struct schedule_state {
  bool begun = false;                   // the first launch has come: the schedule matters
  std::map<std::string, int> launches;  // their number, by kernel, when the run has taken long
};
schedule_state schedule;

std::vector<const char*>& notes() {
  static std::vector<const char*> all;
  return all;
}
// The first and the last block, and others drawn anew for each run and launch.
std::vector<std::uint64_t> chosen_blocks(std::uint64_t blocks, std::uint64_t most) {
  std::vector<std::uint64_t> some{0, blocks - 1};
  std::set<std::uint64_t> known(some.begin(), some.end());
  std::mt19937_64 draw(coverage.launches + 977 * seed());
  while (some.size() < most)
    if (const std::uint64_t b = draw() % blocks; known.insert(b).second) some.push_back(b);
  return some;
}

}  // namespace

int add_note(const char* text) {
  notes().push_back(text);
  return 0;
}
void count_launch() {
  if (++coverage.launches > 1) return;
  for (const char* note : notes()) followed().findings.say(note);
}
void begin_schedule() {
  if (std::exchange(schedule.begun, true)) return;
  if (followed().schedule_begins) followed().schedule_begins();
  watch_for_signals();  // fork does not pass timers on to the process of a run
}
void leave_blocks_out() {
  if (!std::exchange(coverage.sampled, true)) {
    checker_detail::forgive_crashes();
    follow_stacks();
  }
  followed().history.forgive_unwritten();
}

bool may_be_misled(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const cpu_detail::kernel_fault& f) {
    return f.kind == cpu_detail::fault::deadlock || (f.kind == cpu_detail::fault::gave_up && coverage.misled);
  } catch (...) {
    return false;
  }
}
// Blocks of a grid, those of a cluster one after the other.
std::vector<std::uint64_t> blocks_by_cluster(dim3 grid, dim3 cluster) {
  std::vector<std::uint64_t> all;
  const auto each = [](dim3 extent, auto f) {
    for (unsigned z = 0; z < extent.z; ++z)
      for (unsigned y = 0; y < extent.y; ++y)
        for (unsigned x = 0; x < extent.x; ++x) f(x, y, z);
  };
  each({grid.x / cluster.x, grid.y / cluster.y, grid.z / cluster.z}, [&](unsigned x, unsigned y, unsigned z) {
    each(cluster, [&](unsigned in_x, unsigned in_y, unsigned in_z) {
      const std::uint64_t at_z = z * cluster.z + in_z, at_y = y * cluster.y + in_y;
      all.push_back((at_z * grid.y + at_y) * grid.x + x * cluster.x + in_x);
    });
  });
  return all;
}

std::optional<block_choice> choose_blocks(const char* name, std::uint64_t blocks, int threads, bool whole) {
  checker_detail::model& m = followed();
  constexpr int often = 4;
  const std::uint64_t total = m.history.effort.total(), limit = coverage.most_accesses;
  if (limit > 0 && total > 6 * limit && ++schedule.launches[name] > often) {
    leave_blocks_out();
    m.findings.say(fmt::format("kernel {} is skipped from launch {} on, because the run has taken long: {}",
                               name, often + 1, consequence));
    return {};
  }
  if (whole) return block_choice{};
  if (limit > 0 && total > 3 * limit) {  // a single block, another one each time
    block_choice single{.accesses = 1};
    if (blocks > 1) single.blocks.push_back(chosen_blocks(blocks, std::min<std::uint64_t>(blocks, 3)).back());
    return single;
  }
  const std::uint64_t most =
      coverage.most_threads == 0
          ? blocks
          : std::max<std::uint64_t>(4, coverage.most_threads / static_cast<unsigned>(threads));
  if (blocks <= most) return block_choice{.accesses = limit};
  m.findings.say(fmt::format("only {} of the {} blocks of kernel {} run: first, last and a random sample; {}",
                             most, blocks, name, consequence));
  return block_choice{.blocks = chosen_blocks(blocks, most), .accesses = limit};
}
void note_begun_blocks(const char* name, std::uint64_t blocks, const block_choice& choice) {
  if (checker_detail::blocks_begun(device()) + ptx::tensor_memory::take_canceled_blocks() >= blocks) return;
  if (choice.blocks.empty() || choice.accesses == 1)
    followed().findings.say(
        fmt::format("only some of the {} blocks of kernel {} run, after {} million memory accesses: {}",
                    blocks, name, coverage.most_accesses / 1'000'000, consequence));
  leave_blocks_out();
}

}  // namespace antiphase::plain
