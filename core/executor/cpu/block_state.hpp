// SPDX-License-Identifier: Apache-2.0
// Blocks, clusters and launches on the CPU executor: their barriers, and the threads that have met at them.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/executor/cpu/order/schedule.hpp"
#include "observer.hpp"
#include "thread_state.hpp"

namespace antiphase::cpu_detail {

// What memory holds that nothing has written: NaN in every floating-point format.
constexpr unsigned char unwritten_byte = 0xFF;

// What threads have brought to their latest meetings, by place, to distinguish a loop that waits from work.
class meetings_before {
 public:
  // Whether the latest one at this place has brought the same.
  bool again(place where, std::uint64_t brought) {
    const auto known = std::ranges::find_if(
        seen_, [&](const meeting& m) { return m.line == where.line() && m.column == where.column(); });
    if (known != seen_.end()) return std::exchange(known->brought, brought) == brought;
    if (seen_.size() == most) seen_.clear();
    seen_.push_back({where.line(), where.column(), brought});
    return false;
  }
  void clear() { seen_.clear(); }

 private:
  static constexpr std::size_t most = 16;  // meetings in a loop
  struct meeting {
    std::uint_least32_t line, column;
    std::uint64_t brought;
  };
  std::vector<meeting> seen_;
};

// Threads that have arrived at a barrier and wait for the rest.
struct meeting {
  std::vector<thread_state*> waiting;
  int arrived = 0;
  int expected = 0;
  int yes = 0;              // votes of those that have arrived
  std::int64_t latest = 0;  // arrival, by the clock
  machine::place place{};
  bool votes = false;  // it counts votes
  void reset() {
    waiting.clear();
    arrived = yes = 0;
    latest = 0;
  }
};

// A barrier that counts warps. A warp arrives when all of its lanes that have not ended have arrived.
struct named_barrier : meeting {
  struct of_warp {
    // arrived, while other lanes are missing; those of them that also wait for the other warps
    unsigned lanes = 0, staying = 0;
    std::vector<thread_state*> coming;  // these lanes
    bool aligned = false;               // one of them uses the aligned form: all lanes at one place
    machine::place place{};
  };
  std::vector<of_warp> warps;
  int incomplete = 0;         // lanes waiting for others of their warp
  std::uint32_t counted = 0;  // warps that have arrived
  bool whole = false;         // expects all warps of the block that have not ended
  bool goes_on = false;       // a thread has arrived that does not wait
  meetings_before before;
};

// Lanes with one mask that exchange values. Two buffers alternate: a lane that arrives at the next exchange
// has read the previous one.
struct warp_meeting {
  unsigned mask = 0;
  unsigned arrived = 0;
  int bytes = 0;
  int buffer = 0;
  machine::place place{};
  std::vector<thread_state*> waiting;
  machine::exchange_slot values[2][32];
  unsigned came[2] = {};      // lanes that arrived, by buffer
  std::uint64_t brought = 0;  // in the latest exchange: a hash of the values
  meetings_before before;
  bool again = false;  // the same hash as in the previous one there
};

// Lanes of a warp that have arrived at an instruction of the whole warp.
struct whole_warp_meeting {
  const char* name = "";
  std::vector<thread_state*> waiting;
  machine::place place{};
};

struct bulk_load_state {
  void* destination;
  const void* source;
  std::uint32_t bytes;
  std::uint64_t* word;
  std::shared_ptr<const tensor_box> box = nullptr;  // null: contiguous bytes
  bool is_generic = false;                          // a bound_copy, not of the async proxy
  std::int64_t lands = 0;                           // by the clock
  // If set, not a load, but an arrival that waits for this thread's asynchronous copies up to number
  // `copies`.
  thread_state* copies_of = nullptr;
  std::uint64_t copies = 0;
  std::uint32_t mark = 0;                       // the observer's, for these copies
  std::shared_ptr<const void> value = nullptr;  // holds what `from` points to, if it came from registers
  int half = -1;  // of a pair of blocks, which one has the mbarrier; -1: the destination's own block
};

// Warps that have met at different block barriers.
struct apart {
  int barriers = 0;  // how many block barriers they had come to
  kernel_fault fault;
};

struct cluster_state;
struct block_state : machine::block_view {
  cluster_state* cluster = nullptr;
  std::vector<std::unique_ptr<thread_state>> thread;
  int running = 0;
  meeting barrier;
  std::vector<const thread_state*> warp_at;  // by warp: the first of its lanes at the block barrier
  struct aligned_turn {
    unsigned number = 0;
    machine::place place{};
  };
  // by warp: the latest aligned arrival at the cluster's barrier that a lane has come to, and the latest wait
  std::vector<std::array<aligned_turn, 2>> aligned_turns;
  std::optional<apart> warps_apart;  // the first time
  // threads that have gone past barriers and ended, one per way
  struct gone_thread {
    int thread;
    way_out exit;
    bool told = false;
  };
  std::vector<gone_thread> gone;
  machine::vote_count votes{};  // of the latest block barrier
  meetings_before barriers_before;
  named_barrier named[16];
  std::vector<std::vector<std::unique_ptr<warp_meeting>>> warp;
  std::vector<unsigned> lanes;                // per warp: those that have not ended
  std::vector<std::vector<lanes_gone>> past;  // per warp: those that went past its collective operations
  std::vector<whole_warp_meeting> whole;      // by warp
  std::vector<thread_state*> at_mbarriers;
  std::vector<bulk_load_state> loads;   // issued, not landed
  std::vector<warp_matrices> matrices;  // by warp
  std::vector<collective> warpgroup;    // by warpgroup
  random_source delays{1};              // of its loads
  double varies = 0;                    // mean of that of the latest load
  std::int64_t ended = 0;               // its latest thread, by the clock
  std::vector<mbarrier_clock> mbarriers;
  void* watched = nullptr;  // the observer's

  double drawn() { return (delays() + 1.) / 4294967296.; }  // above 0, at most 1

  // By how much a load of the copy engine from memory takes longer than others: drawn, exponentially. The
  // mean grows with the square of the bytes that the block has in flight.
  std::int64_t later(const clock_costs& costs, double bytes) {
    for (const bulk_load_state& load : loads) bytes += load.bytes;
    varies = costs.varies * (bytes / costs.busy_bytes) * (bytes / costs.busy_bytes);
    return static_cast<std::int64_t>(-varies * std::log(drawn()));
  }
  // The same of its latest load for the slowest of `count` other blocks: by how much later than this block's.
  std::int64_t later_of_others(double count) {
    const double slowest = 1 - std::pow(drawn(), 1 / count);
    return static_cast<std::int64_t>(varies * std::max(0., std::log(drawn() / slowest)));
  }
  mbarrier_clock& clock_of(const std::uint64_t* word) {
    for (mbarrier_clock& m : mbarriers)
      if (m.word == word) return m;
    return mbarriers.emplace_back(mbarrier_clock{.word = word});
  }
};

// The lanes of a warp that the block has.
inline unsigned lanes_present(const block_state& block, std::size_t warp) {
  const int present = block.threads - static_cast<int>(warp) * 32;
  return present < 32 ? (1u << present) - 1 : ~0u;
}

// Blocks that begin together; their slots are reused when all have ended.
struct cluster_state {
  std::span<const std::unique_ptr<block_state>> blocks;  // by rank
  std::uint64_t number = 0;                              // in the grid
  int unfinished = 0;                                    // blocks
  // The cluster barrier: running threads, and those of them still to arrive in this phase.
  int running = 0, missing = 0;
  unsigned phase = 0;
  std::int64_t latest = 0, ended = 0;  // by the clock: arrival in this phase, end of the previous one
  std::vector<thread_state*> waiting;
};

// What one launch shares between its workers.
struct launch_state {
  antiphase::kernel kernel;
  extent3 grid;
  const void* params;
  cpu_options options;
  std::atomic<std::uint64_t> next_block{0};
  std::atomic<bool> failed{false};
  observer* watch = nullptr;
  // the blocks to run, if not all in their order; those of a cluster are neighbours
  std::span<const std::uint64_t> chosen = {};
  const int* interrupt_flag = nullptr;  // of the launching thread
  clock_costs costs{};
  int on_multiprocessor = 0;  // resident blocks, of a timed launch; 0: it is not timed
  bool is_interrupted() const {
    return interrupt_flag != nullptr && __atomic_load_n(interrupt_flag, __ATOMIC_RELAXED) != 0;
  }
  std::uint64_t blocks() const { return chosen.empty() ? grid.count() : chosen.size(); }
};

}  // namespace antiphase::cpu_detail
