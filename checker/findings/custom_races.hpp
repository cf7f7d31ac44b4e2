// SPDX-License-Identifier: Apache-2.0
// Races by the rules of PTX and CUDA that do no harm on GPUs, so that programs ignore them.
#pragma once
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "checker/memory/access_history.hpp"
#include "finding_list.hpp"

namespace antiphase::checker_detail {

// Races that are pedantic findings if they are pedantic each time that they occur:
// - stores of the same bytes by two threads of a launch;
// - a plain load whose value a compare-and-swap of the same thread expects, next to updates by others;
// - atomic or volatile operations that differ in size alone;
// - a thread's write of what it alone has loaded by read-only loads;
// - a write by another block of the cluster to shared memory, announced by an mbarrier in too narrow a scope;
// - a write to memory that other threads have released, after a relaxed read of the released flag.
// The first two show only after the finding: once the store has happened, once the thread has come to its
// compare-and-swap. So does what races of threads have in common that each read the memory and write it then,
// where an atomic operation is missing.
//
// Assumes: settle() is called before anything else happens if waits(), finish() at the end of the run.
class custom_races {
 public:
  custom_races(shadow& memory, const happens_before& clocks, const launch_order& launches,
               const access_history& history, finding_list& findings)
      : memory_(memory), clocks_(clocks), launches_(launches), history_(history), findings_(findings) {}
  void reset();
  // The conflict with what GPUs do about it, as far as it may be such a race.
  conflict classified(const accessor& w, const conflict& c);
  // It has been reported as this entry.
  void follow(std::size_t entry, const accessor& w, const conflict& c);
  bool waits() const { return !stores_.empty(); }
  void settle();  // the stores have happened
  // A thread's compare-and-swap is about to be performed.
  void compares(const thread_model& t, const void* p, std::size_t bytes, std::uint64_t expected);
  void finish();

 private:
  bool stores_twice(const accessor& w, const conflict& c) const;
  // The place of a plain load next to updates by other threads; 0: another conflict.
  place_number first_read(const accessor& w, const conflict& c) const;
  // What GPUs do about a conflict of two accesses that shows at once; else empty.
  conflict seen_at_once(const accessor& w, const conflict& c) const;
  bool of_two_sizes(const accessor& w, const conflict& c) const;
  bool within_cluster(const accessor& w, const conflict& c) const;
  bool heard(const accessor& w, const conflict& c) const;
  unsigned char* memory_at(std::size_t offset) const;
  void follow_change(std::size_t entry, const accessor& w, const conflict& c);

  struct store {
    std::size_t entry;
    const unsigned char* address;
    std::uint32_t bytes;
    unsigned char before[4];
  };
  struct load {
    place_number place;
    std::uint64_t access;  // its number
    unsigned char value[4];
  };
  shadow& memory_;
  const happens_before& clocks_;
  const launch_order& launches_;
  const access_history& history_;
  finding_list& findings_;
  std::vector<store> stores_;
  std::map<std::tuple<block_number, int, std::size_t>, load> loads_;  // by thread and offset
  std::vector<std::pair<std::size_t, place_number>> reads_;           // entries, and the place of the load
  std::unordered_set<place_number> expected_, not_expected_;
  // Plain accesses of threads that have written, in race, what they had read; and the places of entries that
  // may be of such.
  std::unordered_set<place_number> changes_;
  std::map<std::size_t, std::pair<place_number, place_number>> may_change_;
};

}  // namespace antiphase::checker_detail
