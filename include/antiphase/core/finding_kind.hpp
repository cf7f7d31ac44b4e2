// SPDX-License-Identifier: Apache-2.0
// The kinds of the checker's findings, and the orders that may be missing: one row each.
#pragma once
#include <cstddef>

namespace antiphase {

// Faults of an access, a copy, a barrier or a launch; launches on the CPU executor fail with these
// too. Name in reports (with dashes it is the id in --tool, suppressions and SARIF), compute-sanitizer's tool
// that finds it ("": none does), description of SARIF's rule.
// clang-format off
#define ANTIPHASE_FINDING_KINDS(ROW) \
  ROW(race, "race", "racecheck", \
      "Two accesses to the same memory, at least one of them a write, are not ordered.") \
  ROW(read_before_landing, "read before landing", "racecheck", \
      "The destination of an asynchronous copy is read without a wait for the copy.") \
  ROW(overwritten_in_use, "overwritten in use", "racecheck", \
      "Memory is written while other threads may still read it or a copy may still write it.") \
  ROW(uninitialised, "uninitialised memory read", "initcheck", \
      "Memory is read that has never been written.") \
  ROW(outside_memory, "access outside memory", "memcheck", \
      "Memory is accessed that is not allocated, or that the kernel cannot reach.") \
  ROW(missing_proxy_fence, "missing proxy fence", "", \
      "The async proxy (TMA, Tensor Cores) uses memory that threads accessed, without a proxy fence.") \
  ROW(divergent_barrier, "divergent barrier", "synccheck", \
      "Threads that have to meet are at different barriers or warp operations.") \
  ROW(deadlock, "deadlock", "", "No thread can continue.") \
  ROW(never_waited_for, "copy never waited for", "", \
      "An asynchronous copy is in flight when its thread or block ends.") \
  ROW(barrier_misuse, "barrier misuse", "synccheck", \
      "A barrier is used before its initialization, or with more arrivals or bytes than it expects.") \
  ROW(bad_copy, "bad copy", "memcheck", \
      "A copy is misaligned, has an invalid size, or does not match its pointers.") \
  ROW(gave_up, "kernel gave up", "", "The kernel trapped, or an assertion in it failed.") \
  ROW(wrong_result, "wrong result", "", \
      "The program's own check of its results failed, or the program crashed.") \
  ROW(misaligned, "misaligned access", "memcheck", \
      "The address is less aligned than the accessed type requires.") \
  ROW(bad_launch, "bad launch", "memcheck", "The device refuses the launch.") \
  ROW(leak, "memory leak", "memcheck", "Device memory is never freed.")

// Parts that a finding lacks: the order between its two sides, or what else would have made the access right.
#define ANTIPHASE_MISSING_ORDERS(ROW) \
  ROW(none) \
  ROW(warp_sync) \
  ROW(block_barrier) \
  ROW(cluster_barrier) \
  ROW(copy_wait) /* for cp.async */ \
  ROW(bulk_wait) /* for bulk stores */ \
  ROW(tensor_wait) /* for Tensor Cores */ \
  ROW(mbarrier_phase) /* a wait for its end */ \
  ROW(mbarrier_arrival) /* which releases a slot to a bulk copy */ \
  ROW(proxy_fence) \
  ROW(release_acquire) \
  ROW(grid_wait) /* for the grid launched before */ \
  ROW(stream_order) /* between launches and copies */ \
  ROW(host_sync) /* of the host with a stream */ \
  ROW(atomic) /* one atomic operation of suitable size and scope */ \
  ROW(write) /* of memory that is read */ \
  ROW(memory) /* allocated, and within reach */ \
  ROW(alignment) \
  ROW(participation) /* of threads or lanes */ \
  ROW(mbarrier_end) /* mbarrier.inval */ \
  ROW(argument) /* a valid one */ \
  ROW(deallocation)
// clang-format on

#define ANTIPHASE_ROW(kind, ...) kind,
enum class finding_kind { ANTIPHASE_FINDING_KINDS(ANTIPHASE_ROW) };
enum class missing_order { ANTIPHASE_MISSING_ORDERS(ANTIPHASE_ROW) };
#undef ANTIPHASE_ROW

struct finding_kind_row {
  finding_kind kind;
  const char *name, *sanitizer_tool, *about;
};
#define ANTIPHASE_ROW(kind, ...) {finding_kind::kind, __VA_ARGS__},
inline constexpr finding_kind_row finding_kinds[] = {ANTIPHASE_FINDING_KINDS(ANTIPHASE_ROW)};
#undef ANTIPHASE_ROW
constexpr const finding_kind_row& row_of(finding_kind kind) {
  return finding_kinds[static_cast<std::size_t>(kind)];
}
constexpr const char* name(finding_kind kind) { return row_of(kind).name; }
constexpr const char* sanitizer_tool(finding_kind kind) { return row_of(kind).sanitizer_tool; }

constexpr const char* name(missing_order order) {
#define ANTIPHASE_ROW(order) #order,
  constexpr const char* names[] = {ANTIPHASE_MISSING_ORDERS(ANTIPHASE_ROW)};
#undef ANTIPHASE_ROW
  return names[static_cast<std::size_t>(order)];
}
#undef ANTIPHASE_FINDING_KINDS
#undef ANTIPHASE_MISSING_ORDERS

// The threads between which the order is missing.
enum class order_scope { none, warp, block, cluster, device, system };
constexpr const char* name(order_scope scope) {
  constexpr const char* names[] = {"none", "warp", "block", "cluster", "device", "system"};
  return names[static_cast<std::size_t>(scope)];
}

}  // namespace antiphase
