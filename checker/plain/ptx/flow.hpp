// SPDX-License-Identifier: Apache-2.0
// Flow of control and data in the body of a PTX function.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checker/plain/ptx/instructions/ptx_instruction.hpp"
#include "module.hpp"

namespace antiphase::plain::ptx_module {

using ptx_code::operation;
inline operation operation_of(const statement& s) { return ptx_code::operation_of(s.text); }

// Labels, each in its own scope.
class label_targets {
 public:
  explicit label_targets(const function& f);
  // The statement of the label in the innermost scope around the jump; nothing: there is none.
  std::optional<std::size_t> find(std::string_view label, std::size_t from) const;

 private:
  std::vector<std::vector<std::size_t>> scopes_;  // opening braces around each statement
  std::map<std::string, std::vector<std::size_t>, std::less<>> labels_;
};

// True if the instruction only computes a register from others.
bool only_computes(const operation& o);

// Statements of mbarrier.try_wait or test_wait after which, if the phase has not completed, the thread comes
// there again without having done anything else: it may as well wait.
std::set<std::size_t> polling_waits(const function& f);

// A load counts only if one of the predicates holds (with ! it must not): otherwise nothing uses its value.
struct load_condition {
  std::set<std::string> predicates;
  bool of_warp = false;  // lanes exchange values: for one lane of the warp, at least
  std::vector<std::size_t>
      computed_by;  // statements that compute them, from the thread's index and parameters;
                    // none: they are known by then
};
// The conditions of loads, by the load's statement. Compilers execute a load early, and a selection drops its
// value. And values of global memory go nowhere but into stores under predicates: where a block has more
// threads than a tensor has elements, Triton's threads all load, and some of them store.
std::map<std::size_t, std::vector<load_condition>> conditional_loads(const function& f);

// Loads whose values go nowhere but into shared memory, or into nothing: neither an address nor a jump nor a
// store elsewhere depends on them here.
std::set<std::size_t> loads_into_shared(const function& f);

// Vectors that compilers load with a number more than they use, such as the fourth of three: _ stands for it.
void drop_unread_numbers(function& f);

// Loops around block barriers, by the statement of the label where each round begins. Lanes of a warp are to
// come to a barrier in the same round of all.
struct barrier_loop {
  std::size_t last = 0;  // the statement that jumps back
};
std::map<std::size_t, barrier_loop> loops_around_barriers(const function& f);
bool is_block_barrier(const operation& o);

// tcgen05.ld by its statement: a number, from 0; and instructions with an effect, such as stores and jumps,
// that read registers of such loads, or what is computed from these: the numbers of those loads.
std::map<std::size_t, std::size_t> tensor_loads(const function& f);
std::map<std::size_t, std::set<std::size_t>> readers_of_loads(
    const function& f, const std::map<std::size_t, std::size_t>& loads);

// Moves into registers that may as well come before an asm statement's wgmma.fence: only asm statements are
// in the order of the source, so that compilers set a sum's first value anywhere before the product.
std::vector<std::size_t> moves_before_fence(const function& f, std::size_t fence);

// Lines [first, end) of block barriers that a thread has gone past if it ends: other threads that wait there
// wait for it. Threads that return early have not: barriers are left out if a path around them leads to the
// end at once. Nothing if no range of lines says it.
struct line_range {
  source_line first;
  int end = 0;
};
std::optional<line_range> barriers_gone_past(const function& f);

}  // namespace antiphase::plain::ptx_module
