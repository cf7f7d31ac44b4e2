// SPDX-License-Identifier: Apache-2.0
// A thread of a kernel on the CPU executor: its fiber, what it waits for, its copies and stores in flight.
#pragma once
#include <algorithm>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cpu/machine_plain.hpp>
#include <antiphase/executor/cpu/machine_verbs.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/executor/cpu/order/clock.hpp"
#include "core/executor/cpu/order/fiber.hpp"
#include "core/executor/cpu/units/matrix.hpp"

namespace antiphase::cpu_detail {

class worker;
struct block_state;

struct async_copy {
  void* destination;
  const void* source;
  int bytes;
  int from_source;
};

// Asynchronous copies of one thread that have not landed yet, in order of issue.
struct copy_queue {
  struct group {
    std::size_t end;     // index one past its last copy
    std::int64_t lands;  // by the clock
  };
  std::vector<async_copy> copies;
  std::vector<group> groups;  // committed ones, oldest in flight first
  std::size_t landed = 0;     // copies[0, landed) have landed
  std::uint64_t gone = 0;     // copies removed before copies[0]
  std::int64_t lands = 0;     // when all issued copies have landed, by the clock
  std::uint64_t issued() const { return gone + copies.size(); }
  void forget_landed() {
    if (landed < copies.size() && landed < 4096) return;
    copies.erase(copies.begin(), copies.begin() + static_cast<std::ptrdiff_t>(landed));
    for (group& g : groups) g.end -= std::min(g.end, landed);
    gone += landed;
    landed = 0;
  }
  void clear() {
    copies.clear();
    groups.clear();
    landed = 0;
    gone = 0;
    lands = 0;
  }
};

// A box of a tensor on its way to or from shared memory.
struct tensor_box {
  tensor_layout layout;
  machine::tensor_place first;
};

struct bulk_store_state {
  void* destination;
  const unsigned char* source;
  std::uint32_t bytes;
  std::shared_ptr<const tensor_box> box = nullptr;       // null: contiguous bytes
  std::optional<machine::bulk_step> updates = {};        // a reduction: what it does
  std::optional<std::vector<unsigned char>> captured{};  // the bytes read
  bool written = false;
  std::int64_t read = 0, lands = 0;  // by the clock: when its source has been read, and when it has ended
};
struct bulk_store_queue {
  // committed, oldest first
  std::vector<std::vector<bulk_store_state>> groups;
  std::vector<bulk_store_state> open;
  std::size_t read = 0;  // groups[0, read) have been read
};

enum class condition {
  idle,
  ready,
  polling,
  at_block_barrier,
  at_named_barrier,
  at_warp,
  at_whole_warp,
  at_warpgroup,
  at_mbarrier,
  at_cluster,
  finished
};

// What a thread's loads returned since it last did anything else, to distinguish a waiting loop from work.
class load_history {
 public:
  // Whether the thread waits in a loop: `patience` loads in a row have returned the same values at their
  // places as before.
  bool waits(const void* code, const void* at, std::uint64_t value);
  // Whether the latest load returned something new to a thread that had waited.
  bool goes_on();
  // or is about to: the latest load returned the same value as before
  bool is_waiting() const { return in_vain_ > 0 || again_; }
  template <class Do> void each_place(Do f) const {
    for (const load& l : seen_) f(l.address);
  }
  void something_else() {
    seen_.clear();
    in_vain_ = 0;
    again_ = false;
    did_more_ = true;
  }
  // A write of up to 16 bytes is about to happen. It counts if it changes memory: a loop that waits may have
  // one thread look for all and hand on what it sees, time and again. Returns true if it counts at once.
  bool will_write(const void* p) {
    const std::uintptr_t block = reinterpret_cast<std::uintptr_t>(p) / 16 * 16;
    for (written& w : writes_) {
      if (w.block == block) return false;
      if (w.block != 0) continue;
      w.block = block;
      std::memcpy(w.before, reinterpret_cast<const void*>(block), sizeof w.before);  // NOLINT: an address
      return false;
    }
    return true;  // more than such a loop writes
  }
  // True if such writes have changed memory.
  bool have_writes_changed() {
    bool changed = false;
    for (written& w : writes_)
      if (const std::uintptr_t block = std::exchange(w.block, 0); block != 0)
        changed |=
            std::memcmp(w.before, reinterpret_cast<const void*>(block), sizeof w.before) != 0;  // NOLINT
    return changed;
  }
  // Whether it has done anything but look since it last met others.
  bool did_more() const { return did_more_; }
  // An atomic or volatile load has returned the same value as before.
  void looked_in_vain() { looked_ = meetings_of_loop; }
  // Called when the thread meets others. Adds whether it has looked unsuccessfully lately, and whether it has
  // done anything but look since it last met any.
  void meets(bool& in_vain, bool& more) {
    in_vain |= looked_ > 0;
    more |= std::exchange(did_more_, false);
    if (looked_ > 0) --looked_;
  }

 private:
  static constexpr unsigned char meetings_of_loop = 8;
  struct load {
    const void* code;
    const void* address;
    std::uint64_t value;
  };
  struct written {
    std::uintptr_t block;  // 16 bytes; 0: none
    unsigned char before[16];
  };
  static constexpr std::size_t most = 1024;  // places that a loop reads
  static constexpr unsigned patience = 16;   // unsuccessful loads
  std::vector<load> seen_;
  std::array<written, 2> writes_{};  // that have yet to be compared
  unsigned in_vain_ = 0;
  bool waited_ = false;  // since the latest new value
  bool again_ = false;   // and did nothing else since: one more pass through the loop is enough
  bool did_more_ = false;
  unsigned char looked_ = 0;  // meetings left that count as close to a look unsuccessfully
};

// The block barriers that an ending thread has gone past: those in lines [from, after) of the file. A thread
// that returns early, before it reaches them, has gone past none.
struct way_out {
  machine::place place{};
  unsigned first = 0, last = 0;
  // The arms of branches that end with the kernel which it has been in, one bit each.
  std::uint32_t arms = 0;
  bool goes_past(machine::place barrier) const;
};
// Lanes of a warp that ended on one such way.
struct lanes_gone {
  unsigned lanes;
  way_out exit;
};

struct thread_state : machine::thread_view {
  worker* owner = nullptr;
  block_state* home = nullptr;
  fiber self;
  condition now = condition::idle;
  machine::place place{};
  thread_clock time;          // next to what every switch writes
  std::uint64_t turn = 0;     // of threads with the same time, the first runs first
  std::size_t number = 0;     // the scheduler's number
  const void* key = nullptr;  // the mbarrier waited for
  unsigned parity = 0;
  const std::uint64_t* tested = nullptr;  // the mbarrier whose phase the latest test found not ended
  machine::place tested_in{};
  copy_queue copies;
  bulk_store_queue stores;
  const machine::exchange_slot* exchanged = nullptr;  // what the last exchange returned
  unsigned exchanged_by = 0;                          // the lanes that took part
  const void* brought = nullptr;                      // argument of the collective operation it waits in
  bool cluster_arrived = false;                       // at the cluster barrier, without a wait since
  unsigned cluster_phase = 0;                         // of its latest arrival
  bool registers_fenced = false;                      // by a wgmma_fence
  std::vector<used_registers> used;                   // since the latest fence
  used_registers at_fence{};                          // the stack at that fence, if an observer watches
  // return address of the kernel's latest call of the machine
  const void* code = nullptr;
  void* watched = nullptr;  // the observer's
  load_history loads;
  way_out leaves{};                            // set when it is about to end
  std::uint32_t arms = 0;                      // see way_out
  const machine::loop_rounds* loop = nullptr;  // the innermost that is followed
  std::vector<const void*> calls;              // return addresses at its latest block barrier, if followed
  unsigned aligned_turns[2] = {};              // aligned arrivals at the cluster's barrier, and waits
  int block_barriers = 0;                      // it has come to
  std::uint64_t news = 0;                      // of the worker, when last in a state it had been in
  bool may_diverge = false;                    // at the block barrier: barrier.sync without .aligned
  bool met_again = false;                      // released by a barrier in a loop that waits, unsuccessfully
  struct register_setting {
    int registers;
    machine::place place;
    const void* code;
  };
  std::vector<register_setting> registers_set;  // setmaxnreg, in order
  bool inside_hook = false;                     // of the checker: a frame that must not be unwound
};

}  // namespace antiphase::cpu_detail
