// SPDX-License-Identifier: Apache-2.0
// The kinds of the checker's findings, and the orders that may be missing: one row each.
#pragma once
#include <cstddef>

namespace antiphase {

// What is wrong with an access, a copy, a barrier or a launch. Launches on the CPU executor fail with these
// as well.
enum class finding_kind {
  race,
  read_before_landing,
  overwritten_in_use,
  uninitialised,
  outside_memory,
  missing_proxy_fence,
  divergent_barrier,
  deadlock,
  never_waited_for,
  barrier_misuse,
  bad_copy,
  gave_up,
  wrong_result,
  misaligned,
  bad_launch,
  leak
};

struct finding_kind_row {
  finding_kind kind;
  const char* name;            // in reports; with dashes: its id in --tool, suppressions and SARIF
  const char* sanitizer_tool;  // the tool of compute-sanitizer that finds it; "": none does
  const char* about;           // SARIF's description of the rule
};

// In the order of the enumerators.
inline constexpr finding_kind_row finding_kinds[] = {
    {finding_kind::race, "race", "racecheck",
     "Two accesses to the same memory, at least one of them a write, are not ordered."},
    {finding_kind::read_before_landing, "read before landing", "racecheck",
     "The destination of an asynchronous copy is read without a wait for the copy."},
    {finding_kind::overwritten_in_use, "overwritten in use", "racecheck",
     "Memory is written while other threads may still read it or a copy may still write it."},
    {finding_kind::uninitialised, "uninitialised memory read", "initcheck",
     "Memory is read that has never been written."},
    {finding_kind::outside_memory, "access outside memory", "memcheck",
     "Memory is accessed that is not allocated, or that the kernel cannot reach."},
    {finding_kind::missing_proxy_fence, "missing proxy fence", "",
     "The async proxy (TMA, Tensor Cores) uses memory that threads accessed, without a proxy fence."},
    {finding_kind::divergent_barrier, "divergent barrier", "synccheck",
     "Threads that have to meet are at different barriers or warp operations."},
    {finding_kind::deadlock, "deadlock", "", "No thread can continue."},
    {finding_kind::never_waited_for, "copy never waited for", "",
     "An asynchronous copy is in flight when its thread or block ends."},
    {finding_kind::barrier_misuse, "barrier misuse", "synccheck",
     "A barrier is used before its initialization, or with more arrivals or bytes than it expects."},
    {finding_kind::bad_copy, "bad copy", "memcheck",
     "A copy is misaligned, has an invalid size, or does not match its pointers."},
    {finding_kind::gave_up, "kernel gave up", "", "The kernel trapped, or an assertion in it failed."},
    {finding_kind::wrong_result, "wrong result", "",
     "The program's own check of its results failed, or the program crashed."},
    {finding_kind::misaligned, "misaligned access", "memcheck",
     "The address is less aligned than the accessed type requires."},
    {finding_kind::bad_launch, "bad launch", "memcheck", "The device refuses the launch."},
    {finding_kind::leak, "memory leak", "memcheck", "Device memory is never freed."},
};

constexpr const finding_kind_row& row_of(finding_kind kind) {
  return finding_kinds[static_cast<std::size_t>(kind)];
}
constexpr const char* name(finding_kind kind) { return row_of(kind).name; }
constexpr const char* sanitizer_tool(finding_kind kind) { return row_of(kind).sanitizer_tool; }

// What a finding lacks: the order between its two sides, or what else would have made the access right.
enum class missing_order {
  none,
  warp_sync,
  block_barrier,
  cluster_barrier,
  copy_wait,
  bulk_wait,
  tensor_wait,
  mbarrier_phase,
  mbarrier_arrival,
  proxy_fence,
  release_acquire,
  grid_wait,
  stream_order,
  host_sync,
  atomic,
  write,
  memory,
  alignment,
  participation,
  mbarrier_end,
  argument,
  deallocation
};
struct missing_order_row {
  missing_order kind;
  const char* name;
};
// In the order of the enumerators.
inline constexpr missing_order_row missing_orders[] = {
    {missing_order::none, "none"},
    {missing_order::warp_sync, "warp_sync"},
    {missing_order::block_barrier, "block_barrier"},
    {missing_order::cluster_barrier, "cluster_barrier"},
    {missing_order::copy_wait, "copy_wait"},                // for cp.async
    {missing_order::bulk_wait, "bulk_wait"},                // for bulk stores
    {missing_order::tensor_wait, "tensor_wait"},            // for Tensor Cores
    {missing_order::mbarrier_phase, "mbarrier_phase"},      // a wait for its end
    {missing_order::mbarrier_arrival, "mbarrier_arrival"},  // which releases a slot to a bulk copy
    {missing_order::proxy_fence, "proxy_fence"},
    {missing_order::release_acquire, "release_acquire"},
    {missing_order::grid_wait, "grid_wait"},        // for the grid launched before
    {missing_order::stream_order, "stream_order"},  // between launches and copies
    {missing_order::host_sync, "host_sync"},        // of the host with a stream
    {missing_order::atomic, "atomic"},              // one atomic operation of suitable size and scope
    {missing_order::write, "write"},                // of memory that is read
    {missing_order::memory, "memory"},              // allocated, and within reach
    {missing_order::alignment, "alignment"},
    {missing_order::participation, "participation"},  // of threads or lanes
    {missing_order::mbarrier_end, "mbarrier_end"},    // mbarrier.inval
    {missing_order::argument, "argument"},            // a valid one
    {missing_order::deallocation, "deallocation"},
};
constexpr const char* name(missing_order order) {
  return missing_orders[static_cast<std::size_t>(order)].name;
}

// The threads between which the order is missing.
enum class order_scope { none, warp, block, cluster, device, system };
constexpr const char* name(order_scope scope) {
  constexpr const char* names[] = {"none", "warp", "block", "cluster", "device", "system"};
  return names[static_cast<std::size_t>(scope)];
}

namespace detail {
template <class Row, std::size_t Count> consteval bool are_in_order(const Row (&rows)[Count]) {
  for (std::size_t i = 0; i < Count; ++i)
    if (static_cast<std::size_t>(rows[i].kind) != i) return false;
  return true;
}
static_assert(are_in_order(finding_kinds) && are_in_order(missing_orders));
}  // namespace detail

}  // namespace antiphase
