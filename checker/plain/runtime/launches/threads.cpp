// SPDX-License-Identifier: Apache-2.0
// What running threads ask: indices, fences, exchanges of a warp, barriers of the grid.
#include <fmt/format.h>

#include <antiphase/plain/cooperative_groups.h>
#include <antiphase/plain/ptx.h>
#include <antiphase/executor/cpu/machine_verbs.hpp>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "checker/order/missing.hpp"
#include "checker/order/places.hpp"
#include "checker/plain/runtime/launches/launch_state.hpp"
#include "checker/plain/runtime/memory/undefined_values.hpp"
#include "checker/plain/runtime/run.hpp"
#include "core/executor/cpu/worker.hpp"

namespace antiphase::plain {
using checker_detail::atomic_kind;
using checker_detail::model;

namespace {
// Lanes of a warp gathered at one place by lanes_here(); `open`: more may join.
struct gathered {
  checker_detail::block_number block = 0;
  unsigned lanes = 0;
  bool open = true;
};
struct thread_queries {
  int index = -1;  // in the block, of the thread that `thread` belongs to
  uint3 thread{};
  std::map<std::tuple<const void*, int, unsigned, unsigned>, std::shared_ptr<gathered>> gathering;
  // the latest mask of __activemask(), by thread of the launch; and where the first one was taken
  std::map<const cpu_detail::thread_state*, std::pair<unsigned, place>> active_masks;
  place first_active_mask;
};
thread_queries noted;
}  // namespace

void forget_threads() {
  noted.index = -1;
  noted.active_masks.clear();
}

bool on_device() noexcept {
  return is_followed() && followed().current() != nullptr && machine::current != nullptr;
}
uint3 thread_idx() noexcept {
  const int number = machine::current->index;
  if (number != noted.index) {  // cached, as checked kernels ask again in every loop
    const auto i = static_cast<unsigned>(number);
    noted.thread = {i % running_launch.block.x, i / running_launch.block.x % running_launch.block.y,
                    i / running_launch.block.x / running_launch.block.y};
    noted.index = number;
  }
  return noted.thread;
}
uint3 block_idx() noexcept {
  const extent3 b = machine::current->block->index;
  return {b.x, b.y, b.z};
}
dim3 block_dim() noexcept { return running_launch.block; }
dim3 grid_dim() noexcept { return running_launch.grid; }
dim3 cluster_dim() noexcept { return running_launch.cluster; }
int lane() noexcept { return machine::current->index % 32; }

void leaves(unsigned from, unsigned behind, place where) noexcept {
  cpu_detail::here().leaves = {where, from, behind};
}
rounds::rounds() noexcept {
  if (on_device()) own_.around = std::exchange(cpu_detail::here().loop, &own_);
}
void rounds::next() noexcept { ++own_.number; }
rounds::~rounds() {  // also of a thread that is ended from outside
  if (on_device()) cpu_detail::here().loop = own_.around;
}
loop_counts::loop_counts(unsigned loops) : counts_(new unsigned[loops + 1]()) {}
loop_counts::~loop_counts() { delete[] counts_; }
void loop_counts::begin(unsigned loop) noexcept { counts_[loop] = 0; }
void loop_counts::next(unsigned loop) noexcept { ++counts_[loop]; }
void loop_counts::meet(unsigned barrier, std::initializer_list<unsigned> loops) noexcept {
  for (const unsigned loop : loops) barrier = barrier * 31 + counts_[loop];
  set(barrier);
}
void enters_arm(int number) noexcept { cpu_detail::here().arms |= 1u << number; }
void fence(scope reach) {
  if (!on_device()) {
    if (is_followed() && on_host_thread()) followed().host_fence(checker_detail::order::total);
    return std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  followed().fence(checker_detail::order::total, reach);
}
void fence(scope reach, ordering how) {
  const auto as = static_cast<checker_detail::order>(how);
  if (!on_device()) {
    if (is_followed() && on_host_thread()) followed().host_fence(as);
    return std::atomic_thread_fence(std::memory_order_acq_rel);
  }
  followed().fence(as, reach);
}
void read_only(void* to, const void* from, std::size_t bytes, const char* by_cache) {
  if (on_device()) followed().read_constant(from, bytes, __builtin_return_address(0), by_cache);
  std::memcpy(to, from, bytes);
}
bool reads_by_restrict() { return is_followed() && !followed().history.read_only.empty(); }
void read_afresh(void* to, const void* from, std::size_t bytes) {
  followed().settle();
  followed().history.reads_afresh = true;
  if (on_device())
    followed().access(from, bytes, checker_detail::access_kind::read, __builtin_return_address(0));
  followed().history.reads_afresh = false;
  std::memcpy(to, from, bytes);
}
void discard(volatile void* p, std::size_t bytes) {
  followed().discard(const_cast<const void*>(p), bytes, __builtin_return_address(0));
}
void check_whole_warp(const char* what, place where) {
  if (cpu_detail::here().exchanged_by == ~0u) return;
  followed().note_here(
      finding_kind::barrier_misuse, followed().places.number_of(__builtin_return_address(0), where),
      fmt::format("{} by {} lanes of the warp", what, std::popcount(cpu_detail::here().exchanged_by)), "",
      sentence::whole_warp);
}
unsigned vote(unsigned mask, bool predicate, place where) {
  const unsigned char mine = predicate;
  const machine::exchange_slot* all = machine::warp_exchange(mask, &mine, 1, where);
  unsigned votes = 0;
  for (int lane = 0; lane < 32; ++lane)
    // lanes that did not take part have another byte there
    if ((mask >> lane & 1u) != 0 && all[lane].bytes[0] == 1) votes |= 1u << lane;
  return votes;
}
namespace {
unsigned lanes_at(place where) {
  cpu_detail::thread_state& self = cpu_detail::here();
  const unsigned mine = 1u << self.index % 32;
  if (seed() % 2 != 0) return mine;
  auto& gathering = noted.gathering[{self.home, self.index / 32, where.line(), where.column()}];
  const bool first =
      gathering == nullptr || !gathering->open || gathering->block != followed().current()->block;
  if (first) gathering = std::make_shared<gathered>(gathered{.block = followed().current()->block});
  const std::shared_ptr<gathered> group = gathering;
  group->lanes |= mine;
  for (int turns = 0; group->open; ++turns) {
    if (first && turns == 2)
      group->open = false;
    else
      machine::yield(where);
  }
  machine::polled();
  return group->lanes;
}
// Where the mask came from, if it is the latest that __activemask() gave to this thread.
std::string source_of(unsigned mask) {
  const auto at = noted.active_masks.find(&cpu_detail::here());
  return at != noted.active_masks.end() && at->second.first == mask ? text_of(at->second.second) : "";
}
}  // namespace

unsigned lanes_of_group(place where) { return lanes_at(where); }
unsigned lanes_here(place where) {
  const unsigned mask = lanes_at(where);
  if (noted.active_masks.empty()) noted.first_active_mask = where;
  noted.active_masks.insert_or_assign(&cpu_detail::here(), std::pair(mask, where));
  return mask;
}
void uses_storage(const void* storage, bool by_shuffles, place where) {
  followed().write_pedantic(storage, 1, followed().places.number_of(__builtin_return_address(0), where),
                            "use of TempStorage", by_shuffles ? sentence::gpu_cub_storage : sentence::none);
}
void exchange(unsigned mask, void* value, int bytes, int from, place where) {
  auto* const at = static_cast<unsigned char*>(value);
  const void* const code = __builtin_return_address(0);
  for (int done = 0; done < bytes; done += machine::exchange_bytes) {
    const int some = std::min(bytes - done, machine::exchange_bytes);
    for (int i = 0; i < some; ++i) followed().looked_at(at[done + i]);
    const machine::exchange_slot* all = machine::warp_exchange(mask, at + done, some, where);
    cpu_detail::thread_state& self = cpu_detail::here();
    const checker_detail::place_number at_code = followed().places.number_of(code, where);
    if ((self.exchanged_by >> from & 1u) != 0)
      std::memcpy(at + done, all[from].bytes, static_cast<std::size_t>(some));
    else
      undefined_results().bring(
          at_code, at + done, static_cast<std::size_t>(some), undefined_values::extreme(), [&] {
            finding f;
            f.kind = finding_kind::barrier_misuse;
            f.access = followed().side_here(
                at_code, "a shuffle from a lane that does not take part, whose value is used");
            f.missing = sentence::shuffle_lane;
            if (const std::string mask_of = source_of(mask); !mask_of.empty())
              f.remarks.push_back(checker_detail::explain(sentence::active_mask, mask_of));
            return f;
          });
  }
}
// Says that a launch with findings relies, perhaps, on a mask of __activemask().
void name_active_mask(const char* kernel, bool found) {
  if (!found || noted.active_masks.empty()) return;
  followed().findings.say(
      fmt::format("kernel {} takes a mask from __activemask() in {}: it names the lanes that happen to be "
                  "there, under half "
                  "of the schedules the calling lane alone. Compute the mask of lanes that should take part "
                  "before they diverge, as with __ballot_sync()",
                  kernel, text_of(noted.first_active_mask)));
}
namespace {
// Arrivals are counted in device memory, as a program of its own would: arrived, phase.
unsigned* words_of_grid(place where) {
  if (!running_launch.together)
    machine::trap("this_grid().sync() in a launch that is not cooperative: use cudaLaunchCooperativeKernel()",
                  where);
  static unsigned* words = nullptr;
  model& m = followed();
  if (words == nullptr) {
    const unsigned zeros[2] = {};
    words = static_cast<unsigned*>(device().allocate(sizeof zeros));
    m.memory.set(words, sizeof zeros, checker_detail::cell_state::written);
  }
  return words;
}
}  // namespace

unsigned grid_arrives(place where) {
  unsigned* const words = words_of_grid(where);
  machine::block_barrier(where);
  if (machine::current->index != 0) return 0;
  const void* code = __builtin_return_address(0);
  const auto blocks = static_cast<unsigned>(machine::current->block->grid.count());
  model& m = followed();
  m.atomic(&words[0], sizeof words[0], atomic_kind::update, checker_detail::order::both, scope::device, code);
  const unsigned phase = words[1];
  if (++words[0] == blocks) {
    m.atomic(&words[1], sizeof words[1], atomic_kind::update, checker_detail::order::both, scope::device,
             code);
    words[0] = 0;
    ++words[1];
  }
  return phase;
}
void grid_waits(unsigned phase, place where) {
  unsigned* const words = words_of_grid(where);
  if (machine::current->index == 0) {
    while (words[1] == phase) machine::yield(where);
    followed().atomic(&words[1], sizeof words[1], atomic_kind::load, checker_detail::order::acquire,
                      scope::device, __builtin_return_address(0));
    machine::polled();
  }
  machine::block_barrier(where);
}
condition_count barrier_votes(int id, int threads, bool condition, bool aligned, place where) {
  struct votes : condition_count {
    int read = 0;
  };
  static std::map<std::pair<const void*, int>, votes> open;  // by block
  static std::mutex lock;
  const auto locked = [&](auto act) {
    const std::scoped_lock hold(lock);
    return act(open[{machine::current->block, id}]);
  };
  locked([&](votes& v) { ++(condition ? v.yes : v.no); });
  machine::barrier(id, threads, {.waits = true, .aligned = aligned}, where);
  const condition_count all = locked([&](votes& v) {
    const condition_count now = v;
    if (++v.read == v.yes + v.no) v = {};
    return now;
  });
  machine::barrier(id, threads, {.waits = true, .aligned = aligned}, where);  // all have read
  return all;
}
void grid_barrier(place where) { grid_waits(grid_arrives(where), where); }
}  // namespace antiphase::plain
