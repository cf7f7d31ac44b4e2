// SPDX-License-Identifier: Apache-2.0
// What a kernel compiled for the CPU sees of the executor that runs it: plain functions, no containers, no
// library.
#pragma once
#include <antiphase/core/scope.hpp>
#include <antiphase/executor/kernel.hpp>
#include <cstddef>
#include <cstdint>
#include <source_location>

// Each GPU thread of a block is a fiber; these functions are where fibers change. All of them are called by a
// kernel that runs on the CPU executor and nowhere else. They are compiled once, without instrumentation.
namespace antiphase {
struct tensor_map;
}

namespace antiphase::machine {

// Where in the kernel a verb was called, for reports.
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

// The thread that runs now on this OS thread. Which model of thread-local storage that takes is left to
// compiler and linker: a program reads it at a fixed distance, and a shared object that holds the library can
// still be loaded by dlopen().
extern thread_local constinit const thread_view* current;

// barriers
// -----------------------------------------------------------------------------------------------------------
void block_barrier(place where);
// arrive and wait until `threads` threads have arrived
void named_barrier_sync(int id, int threads, place where);
void named_barrier_arrive(int id, int threads, place where);  // arrive, do not wait

// clusters
// -----------------------------------------------------------------------------------------------------------
void cluster_arrive(place where);
void cluster_arrive_relaxed(place where);  // what this thread did need not be seen
void cluster_wait(place where);
// From `mine`, in this block's shared memory, to the same place in that of another block of the cluster: a
// distance in bytes.
std::ptrdiff_t to_shared_of(const void* mine, int rank, place where);

// launches
// -----------------------------------------------------------------------------------------------------------
void wait_for_previous_grid();  // has ended already; whoever watches wants to know

// warps
// -----------------------------------------------------------------------------------------------------------
constexpr int exchange_bytes = 16;
struct exchange_slot {
  alignas(16) unsigned char bytes[exchange_bytes];
};
// All lanes in `mask` meet; returns what each of them brought (32 slots). Valid until the caller's next
// exchange but one.
const exchange_slot* warp_exchange(unsigned mask, const void* mine, int bytes, place where);

// An instruction of the whole warp: all its lanes come to it, none has ended; it orders no memory. `what`
// names it in reports.
void whole_warp(const char* what, place where);
// How many registers the threads of a warp have from now on: of the whole warp, and the same of all warps of
// the warpgroup.
void set_registers(int registers, place where);

// asynchronous copies of a thread, in groups
// -------------------------------------------------------------------------------------- `from_source` bytes
// are copied, the rest up to `bytes` becomes zero.
void copy_async(void* to, const void* from, int bytes, int from_source, place where);
void copy_async_commit();
void copy_async_wait(int groups_left, place where);

// mbarriers and bulk copies
// --------------------------------------------------------------------------------------------------------
void mbarrier_init(std::uint64_t* word, int parties, place where);
void mbarrier_arrive(std::uint64_t* word, int bytes_expected, place where);
void mbarrier_wait(std::uint64_t* word, unsigned parity, place where);
bool mbarrier_ended(const std::uint64_t* word, unsigned parity);
void bulk_load(void* to, const void* from, std::uint32_t bytes, std::uint64_t* word, place where);
void bulk_store(void* to, const void* from, std::uint32_t bytes, place where);
void bulk_commit();
enum class bulk_done { read, written };  // the source may be overwritten, or the destination can be seen
void bulk_wait(int groups_left, bulk_done what, place where);

struct tensor_place {
  int index[4];  // innermost first; as many as a tensor has dimensions at most (core/tensor_map.hpp)
};
void tensor_load(void* to, const tensor_map& map, tensor_place first, int dimensions, std::uint64_t* word,
                 place where);

// This thread's ordinary accesses before it come before what the copy engine does after the next barrier:
// those to shared memory, to global memory, or both.
enum class proxy { shared, global, both };
void proxy_fence(proxy of);
void mbarrier_fence();  // that for the barriers which this thread has initialised, and for nothing else

// Tensor Cores
// -----------------------------------------------------------------------------------------------------------
// Of a warp: its 32 lanes meet.
void load_matrices(std::uint32_t (&to)[4], const void* row, bool transposed, place where);
void warp_multiply(float (&sum)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], place where);
void warp_multiply(double (&sum)[4], const double (&a)[2], double b, place where);
// Of a warpgroup: its 128 threads meet, or the lanes of a warp where it is only that warp's registers. `sum`
// holds columns / 2 registers, which are not the thread's own until the wait; `a` four registers, or null if
// A lies in shared memory.
struct warpgroup_step {
  int columns;
  bool accumulate;
  bool a_transposed, b_transposed;
  std::uint64_t a_descriptor, b_descriptor;
  bool operator==(const warpgroup_step&) const = default;
};
void warpgroup_multiply(float* sum, const warpgroup_step& what, const std::uint32_t* a, place where);
void warpgroup_fence(place where);
void warpgroup_commit(place where);
void warpgroup_wait(int groups_left, place where);

// scopes
// -----------------------------------------------------------------------------------------------------------
// Of the atomic operation or fence that the compiler performs next. The checker's hook takes it and puts
// device scope back.
extern thread_local constinit scope next_scope;

// polling and time
// -----------------------------------------------------------------------------------------------------------
void yield(place where);  // somebody else first: inside a loop that polls memory
void polled();            // such a loop has found what it waited for: blocks that only poll get on too
// An atomic load has brought this: a thread that does nothing else, in a loop of its own, lets somebody else
// go first too.
void loaded(const void* at, std::uint64_t value, place where);
// The simulation's clock, in ticks since the thread's block began: a model (src/executor/cpu/clock.hpp), not
// a measurement. It sees the functions of this file only, so ordinary code that is to take time has to be
// told to it.
std::int64_t clock();
void clock_instructions(int count);    // this thread has executed so many
void clock_register_loads(int bytes);  // it has begun to load from global memory to registers ...
void clock_registers_needed();         // ... and goes on when they are there
void trap(const char* why, place where);

}  // namespace antiphase::machine
