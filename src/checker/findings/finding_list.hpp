// SPDX-License-Identifier: Apache-2.0
// The findings of a run, in words.
#pragma once
#include <antiphase/checker.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "src/checker/memory/access_history.hpp"
#include "src/checker/order/event_log.hpp"
#include "src/checker/order/mbarrier_order.hpp"

namespace antiphase::checker_detail {

struct run_finding {
  finding what;  // without `first`; places are still place_numbers
  place_number at = 0, earlier = 0;
  bool has_earlier = false;
  std::vector<const void*> callers;  // of the function with the later side, innermost first
  event_log::snapshot drawn;
  bool within_warp = false;           // all occurrences so far; `missing` then says so
  std::string missing_of_error = {};  // if it turns out to be no finding by the letter
};

// The findings of a run, one for each kind and pair of places; repetitions are counted. Each says who did
// what to which memory, and what synchronisation is missing.
//
// Assumes: a finding is reported while the run stands at it; blocks, memory and the log are read at once.
class finding_list {
 public:
  finding_list(const happens_before& clocks, const launch_order& launches, mbarrier_order& barriers,
               const shadow& memory)
      : clocks_(clocks), launches_(launches), barriers_(barriers), memory_(memory) {}
  void reset();
  std::string kernel;          // of the launch under way
  std::string waited_in_vain;  // where the program first waited for an event that had not been recorded
  // Names of what lies at an offset of the current block's shared memory, and at an address of the program's
  // image; null: no names.
  std::string (*shared_place)(std::size_t offset) = nullptr;
  std::string (*mbarrier_name)(std::size_t offset, const std::uint64_t* word) = nullptr;
  std::string (*variable_name)(const void* p) = nullptr;

  // A conflict of two accesses by threads that were not misled. Its number in all(), and true if it is new:
  // the caller then calls seen().
  std::pair<std::size_t, bool> report(const accessor& w, const conflict& c);
  // An occurrence of a finding by the letter is an error: so is the finding.
  void is_error(std::size_t entry);
  // Any other finding. `memory` and `missing` may be empty; `shown`: what a drawn schedule shows of it;
  // `in_practice`: what GPUs do, of a finding by the letter.
  using question = std::optional<event_log::question>;
  void note(finding_kind kind, const std::string& of_kernel, place_number at, finding_side by,
            std::string memory, std::string missing, const question& shown = {},
            const std::string& in_practice = {});
  void note(finding_kind kind, const std::string& of_kernel, place_number at, std::string action,
            std::string memory, std::string missing, const question& shown = {},
            const std::string& in_practice = {});
  // Two sides in memory that the model does not follow.
  void note_pair(finding_kind kind, place_number at, finding_side by, place_number earlier,
                 finding_side before, std::string memory, std::string missing);
  finding_side side_of(const accessor& w) const;
  finding_side side_of_write(const cell& c) const;
  std::string describe(const accessor& w, std::size_t offset) const;  // the memory there
  // Of an mbarrier in a block's shared memory, as the program names it; empty: it has no names.
  std::string name_of_mbarrier(block_number block, const std::uint64_t* word) const;
  std::vector<run_finding>& all() { return all_; }
  // Called with each finding that is new, or is an error after all.
  std::function<void(const run_finding&)> seen;

  // Adds a note to the report, beside the findings; once only.
  void say(const std::string& what);
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::pair<std::size_t, bool> entry(finding_kind kind, place_number at, std::optional<place_number> earlier);
  finding_side side_of_reader(const reader& r) const;
  bool within_warp(const accessor& w, const conflict& c) const;
  std::string missing_edge(const accessor& w, const conflict& c) const;
  std::string missing_wait(const thread_model& t, block_number other, const actor_record& of) const;
  std::string describe_shared(block_number own, std::size_t offset) const;
  std::string describe_global(std::size_t offset) const;

  const happens_before& clocks_;
  const launch_order& launches_;
  mbarrier_order& barriers_;
  const shadow& memory_;
  std::vector<std::string> notes_;
  std::map<std::tuple<finding_kind, place_number, place_number>, std::size_t> entries_;
  std::vector<run_finding> all_;
};

}  // namespace antiphase::checker_detail
