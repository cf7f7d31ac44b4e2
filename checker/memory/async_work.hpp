// SPDX-License-Identifier: Apache-2.0
// Asynchronous work of threads: cp.async, bulk loads and stores (TMA), Tensor Core operations.
#pragma once
#include <antiphase/executor/cpu/machine_tensor_memory.hpp>

#include "access_history.hpp"
#include "checker/order/mbarrier_order.hpp"

namespace antiphase::checker_detail {

using ranges = std::span<const std::span<const unsigned char>>;  // of memory
enum class stores : bool { read, written };                      // what a wait for bulk stores waits for

// Each asynchronous operation belongs to an actor of its own. It knows what its issuer knew; its accesses are
// known to whoever has waited for its group, or for the phase of the mbarrier that counts it. This class
// numbers the actors and groups, and checks the accesses.
//
// Assumes: operations are reported at issue, whenever they land.
class async_work {
 public:
  async_work(happens_before& clocks, mbarrier_order& barriers, access_history& history)
      : clocks_(clocks), barriers_(barriers), history_(history) {}

  // cp.async
  void issue_copy(thread_model& t, const void* to, const void* from, std::size_t bytes,
                  std::size_t bytes_read, place_number at);
  void commit_copies(thread_model& t);
  void wait_copies(thread_model& t, int groups_left);

  // bulk loads that an mbarrier counts, and accesses to the mbarrier's own word
  void init_barrier(thread_model& t, const void* word, place_number at);
  void end_barrier(thread_model& t, const void* word, place_number at);
  void touch_barrier(thread_model& t, const void* word, place_number at);
  // `generic`: not in the async proxy
  void issue_load(thread_model& t, const void* to, std::size_t bytes, ranges from, const void* word,
                  place_number at, bool generic = false);

  // bulk stores; `updates`: scope of a reduction into the destination, of numbers of `operand` bytes; 0 for a
  // plain store
  void issue_store(thread_model& t, ranges to, const void* from, std::size_t bytes, place_number at,
                   scope updates = {}, std::size_t operand = 0);
  void commit_stores(thread_model& t);
  void wait_stores(thread_model& t, int groups_left, stores what);

  // wgmma of a warpgroup, reported once for each warp
  void issue_matrix(std::span<thread_model* const> warp, ranges from, place_number at);
  void commit_matrix(thread_model& t);
  void wait_matrix(thread_model& t, int groups_left);

  // tcgen05 by this thread, or by the warp of which it is the first lane. Returns the group's number.
  stamp issue_tensor(thread_model& t, machine::tensor_work kind, const char* name,
                     std::span<const machine::memory_range> all, place_number at);
  // `t` knows that the work of `owner`, itself or its warp's first lane, is done up to this group.
  void wait_tensor(thread_model& t, thread_model& owner, machine::tensor_work kind, stamp last);

 private:
  void write_down(const thread_model& t, copy_group in, const void* to, std::size_t bytes,
                  place_number place);

  happens_before& clocks_;
  mbarrier_order& barriers_;
  access_history& history_;
};

}  // namespace antiphase::checker_detail
