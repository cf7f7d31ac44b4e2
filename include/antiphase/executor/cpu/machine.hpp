// SPDX-License-Identifier: Apache-2.0
// The CPU executor's interface to the kernels that it runs: plain functions, without containers or libraries.
#pragma once
#include <antiphase/core/scope.hpp>
#include <antiphase/executor/kernel.hpp>
#include <cstddef>
#include <cstdint>
#include <source_location>

// Each GPU thread of a block is a fiber, and fibers switch in these functions. Only kernels that run on the
// CPU executor call them. They are compiled once, without instrumentation.
namespace antiphase {
struct tensor_map;
}

namespace antiphase::machine {

// The line of the kernel that calls a function, for reports.
#if defined(__cpp_lib_source_location)
using place = std::source_location;
#else  // clang 14
class place {
 public:
  static constexpr place current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE(),
                                 unsigned column = __builtin_COLUMN()) {
    return place{file, line, column};
  }
  constexpr place() = default;
  constexpr const char* file_name() const { return file_; }
  constexpr unsigned line() const { return line_; }
  constexpr unsigned column() const { return column_; }

 private:
  constexpr place(const char* file, unsigned line, unsigned column)
      : file_(file), line_(line), column_(column) {}
  const char* file_ = "";
  unsigned line_ = 0, column_ = 0;
};
#endif

struct block_view {
  extent3 index;  // of the block in the grid
  extent3 grid;
  int cluster_rank, cluster_extent;
  int threads;
  unsigned char* shared;  // the block's shared memory, aligned to 1024 bytes
  std::size_t shared_bytes;
};
struct thread_view {
  int index;  // in the block
  const block_view* block;
};

// The GPU thread that runs now on this OS thread. The TLS model is left to compiler and linker: a program
// reads it at a fixed offset, and a shared object with the library can still be loaded by dlopen().
extern thread_local constinit const thread_view* current;

// barriers
// -----------------------------------------------------------------------------------------------------------
void block_barrier(place where);
// arrives, and waits until `threads` threads have arrived
void named_barrier_sync(int id, int threads, place where);
void named_barrier_arrive(int id, int threads, place where);  // arrives without waiting

// clusters
// -----------------------------------------------------------------------------------------------------------
void cluster_arrive(place where);
void cluster_arrive_relaxed(place where);  // does not publish this thread's accesses
void cluster_wait(place where);
// The distance in bytes from `mine`, in this block's shared memory, to the same address in that of another
// block of the cluster.
std::ptrdiff_t to_shared_of(const void* mine, int rank, place where);

// launches
// -----------------------------------------------------------------------------------------------------------
void start_next_grid();         // for the checker: launches follow each other
void wait_for_previous_grid();  // never waits, since that grid has ended; for the checker

// warps
// -----------------------------------------------------------------------------------------------------------
constexpr int exchange_bytes = 16;
struct exchange_slot {
  alignas(16) unsigned char bytes[exchange_bytes];
};
// All lanes in `mask` meet. Returns the values of all lanes (32 slots), valid until the caller's next
// exchange but one.
const exchange_slot* warp_exchange(unsigned mask, const void* mine, int bytes, place where);

// An instruction that all lanes of the warp must execute, none having ended; it orders no memory. `what`
// names it in reports.
void whole_warp(const char* what, place where);
// Sets the number of registers per thread. The whole warp calls, and all warps of the warpgroup with the same
// number.
void set_registers(int registers, place where);

// asynchronous copies of a thread, in groups
// -----------------------------------------------------------------------------------------------------------
// `from_source` bytes are copied, the rest up to `bytes` is filled with zeros.
void copy_async(void* to, const void* from, int bytes, int from_source, place where);
void copy_async_commit();
void copy_async_wait(int groups_left, place where);

// mbarriers and bulk copies
// -----------------------------------------------------------------------------------------------------------
void mbarrier_init(std::uint64_t* word, int parties, place where);
// What an initialised mbarrier stands for: an event, of so many, of a slot of a ring. For messages.
struct ring_event {
  int slot = 0, event = 0, events = 0;  // events == 0: not of a ring
};
void mbarrier_stands_for(const std::uint64_t* word, ring_event of);
// An arrival releases and a wait acquires, unless it is relaxed, for threads that its scope includes.
struct mbarrier_semantics {
  bool relaxed = false;
  scope reach = scope::block;
};
void mbarrier_arrive(std::uint64_t* word, int bytes_expected, place where, mbarrier_semantics how = {});
void mbarrier_wait(std::uint64_t* word, unsigned parity, place where, mbarrier_semantics how = {});
bool mbarrier_ended(const std::uint64_t* word, unsigned parity);
void bulk_load(void* to, const void* from, std::uint32_t bytes, std::uint64_t* word, place where);
void bulk_store(void* to, const void* from, std::uint32_t bytes, place where);
void bulk_commit();
enum class bulk_done { read, written };  // the source may be overwritten, or the destination is visible
void bulk_wait(int groups_left, bulk_done what, place where);

struct tensor_place {
  int index[5];  // innermost first; tensor_dimensions of them (core/tensor_map.hpp)
};
void tensor_load(void* to, const tensor_map& map, tensor_place first, int dimensions, std::uint64_t* word,
                 place where);

// Orders this thread's earlier ordinary accesses (to shared memory, global memory or both) before TMA's
// accesses after the next barrier.
enum class proxy { shared, global, both };
void proxy_fence(proxy of);
void mbarrier_fence();  // the same for the mbarriers that this thread has initialised, and nothing else

// Tensor Cores
// -----------------------------------------------------------------------------------------------------------
// Warp operations: the 32 lanes meet.
void load_matrices(std::uint32_t (&to)[4], const void* row, bool transposed, place where);
void warp_multiply(float (&sum)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], place where);
void warp_multiply(double (&sum)[4], const double (&a)[2], double b, place where);
// Warpgroup operations: its 128 threads meet, or the lanes of a warp where only that warp's registers are
// concerned. `sum` holds columns / 2 registers, not to be accessed until the wait; `a` holds four registers,
// or is null if A lies in shared memory.
struct warpgroup_step {
  int columns;
  bool accumulate;
  bool a_transposed, b_transposed;
  std::uint64_t a_descriptor, b_descriptor;
  bool negated = false, half_sums = false;  // half_sums: two columns in a register, of f16
  int selector = -1;                        // of a sparse A's metadata
  bool operator==(const warpgroup_step&) const = default;
};
void warpgroup_multiply(float* sum, const warpgroup_step& what, const std::uint32_t* a, place where);
void warpgroup_fence(place where);
void warpgroup_commit(place where);
void warpgroup_wait(int groups_left, place where);

// scopes
// -----------------------------------------------------------------------------------------------------------
// The scope of the next atomic operation or fence of std::atomic, which has none: device functions write it
// for the hook that the compiler calls there, which alone reads it and resets it to device scope.
extern thread_local constinit scope next_scope;

// polling and time
// -----------------------------------------------------------------------------------------------------------
void yield(place where);  // lets another thread run; inside a loop that polls memory
void polled();            // such a loop has ended: counts as progress of a block that only polls
// Called after an atomic load with its value: a thread that repeats such loads in a loop, and does nothing
// else, yields too.
void loaded(const void* at, std::uint64_t value, place where);
// The simulated clock, in ticks since the thread's block began: a model (core/executor/cpu/order/clock.hpp),
// not a measurement. It advances by the functions of this file only; ordinary code that is to take time is
// declared by clock_instructions() and the functions after it.
std::int64_t clock();
void clock_instructions(int count);    // this thread has executed this many instructions
void clock_register_loads(int bytes);  // it has issued loads from global memory to registers
void clock_registers_needed();         // it waits for those loads
void trap(const char* why, place where);

}  // namespace antiphase::machine
