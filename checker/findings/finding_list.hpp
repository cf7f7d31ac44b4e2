// SPDX-License-Identifier: Apache-2.0
// The findings of a run.
#pragma once
#include <antiphase/checker.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "atomic_hints.hpp"
#include "checker/memory/access_history.hpp"
#include "checker/order/event_log.hpp"
#include "checker/order/mbarrier_order.hpp"

namespace antiphase::checker_detail {

struct run_finding {
  finding result;  // without `first`; places are still place_numbers
  place_number place = 0, earlier_place = 0;
  bool has_earlier = false;
  std::vector<const void*> callers;  // of the function with the later side, innermost first
  place_number launch = 0;           // of a library's kernel: the host's line that launched it
  event_log::snapshot drawn;
  // The greatest distance of the two threads so far; `missing` says it. For conflicts whose missing order
  // follows from that.
  enum class distance : std::uint8_t { not_asked, warp, block, beyond } apart{};
  explanation missing_of_error = {};  // if it turns out not to be pedantic
};

// The findings of a run, one for each kind and pair of places; repetitions are counted. Each says who did
// what to which memory, and what synchronisation is missing.
//
// Assumes: a finding is reported while the run stands at it; blocks, memory and the log are read at once.
class finding_list {
 public:
  // A record of an event that another one has replaced, and the wait for the event after that.
  struct replaced_record {
    past covers;  // launches that the wait would have known
    std::string again, wait;
  };
  finding_list(const happens_before& clocks, const launch_order& launches, mbarrier_order& barriers,
               const shadow& memory, atomic_hints& hints)
      : clocks_(clocks), launches_(launches), barriers_(barriers), memory_(memory), hints_(hints) {}
  void reset();
  std::string kernel;           // of the launch in progress
  place_number launch = 0;      // its line in the host's code, if the kernel may be a library's
  std::string unrecorded_wait;  // where the program first waited for an event that had not been recorded
  std::vector<replaced_record> replaced_records;
  // Names of what lies at an offset of the current block's shared memory, and at an address of the program's
  // image; null: no names.
  std::string (*shared_place)(std::size_t offset) = nullptr;
  std::string (*mbarrier_name)(std::size_t offset, const std::uint64_t* word) = nullptr;
  std::string (*variable_name)(const void* p) = nullptr;

  // A conflict of two accesses by threads that have not been misled. Its number in all(), and true if it is
  // new: the caller then calls seen().
  std::pair<std::size_t, bool> report(const accessor& w, const conflict& c);
  // An occurrence of a pedantic finding is an error: so is the finding.
  void is_error(std::size_t entry);
  // Any other finding: its kind, kernel, access and so on, and for two sides `earlier`. `shown`: what a drawn
  // schedule shows of it.
  using question = std::optional<event_log::question>;
  void note(finding f, place_number place, const question& shown = {},
            std::optional<place_number> earlier = {});
  // A call, argument or configuration that CUDA refuses. `expected` may be empty.
  void note(finding_kind kind, const std::string& of_kernel, place_number place, std::string action,
            std::string memory, std::string expected);
  finding_side side_of(const accessor& w) const;
  finding_side side_of_write(const cell& c) const;
  std::string describe(const accessor& w, std::size_t offset) const;  // the memory there
  // Of an mbarrier in a block's shared memory, as the program names it; empty: it has no names.
  std::string name_of_mbarrier(block_number block, const std::uint64_t* word) const;
  std::vector<run_finding>& all() { return all_; }
  // Called with each finding that is new, or is an error after all.
  std::function<void(const run_finding&)> seen;

  bool is_closed = false;     // nothing more is added: what follows is not checked
  bool tried_change = false;  // see check_report
  // Adds a note to the report, once.
  void say(const std::string& what);
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::pair<std::size_t, bool> entry(finding_kind kind, place_number place,
                                     std::optional<place_number> earlier);
  finding_side side_of_reader(const reader& r) const;
  run_finding::distance distance_of(const accessor& w, const conflict& c) const;
  explanation missing_edge(const accessor& w, const conflict& c) const;
  std::vector<explanation> remarks_on(const accessor& w, const conflict& c);
  // `time`: of the operation, among those of its actor.
  explanation missing_wait(const accessor& w, block_number other, const actor_record& copier,
                           stamp time) const;
  std::string describe_shared(block_number own, std::size_t offset) const;
  std::string describe_global(std::size_t offset) const;

  const happens_before& clocks_;
  const launch_order& launches_;
  mbarrier_order& barriers_;
  const shadow& memory_;
  atomic_hints& hints_;
  std::vector<std::string> notes_;
  std::map<std::tuple<finding_kind, place_number, place_number>, std::size_t> entries_;
  std::vector<run_finding> all_;
};

}  // namespace antiphase::checker_detail
