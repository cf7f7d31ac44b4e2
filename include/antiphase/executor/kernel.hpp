// SPDX-License-Identifier: Apache-2.0
// A compiled kernel as the executors see it, whatever its type was.
#pragma once
#include <cstddef>
#include <cstdint>

struct CUstream_st;

namespace antiphase {

// A CUDA stream, without CUDA's headers; null is the default stream. To the CPU executor, which works at
// once, it is a name for work that must not overlap: any value will do.
using stream = CUstream_st*;

// What a kernel is compiled for. `checked` is the CPU executor with instrumentation.
enum class target { cpu, cuda, checked };

struct extent3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  constexpr bool operator==(const extent3&) const = default;
};

enum class shared_kind { fixed, dynamic };  // __shared__ S, or the launch's dynamic shared memory

// Which blocks wait for which others of the grid. The CPU executor keeps blocks under way at once
// accordingly.
enum class residency {
  any,       // none for another
  in_order,  // some for blocks of lower index, which begin before them
  together,  // some for any other: all blocks of the grid must be resident at once
};

// One instance of a kernel type, type-erased. Made by kernel_of<K>() in device/kernel.cuh.
struct kernel {
  const char* name = "";
  int threads = 0;               // per block
  std::size_t shared_bytes = 0;  // per block: sizeof(K::storage)
  shared_kind shared = shared_kind::fixed;
  residency blocks = residency::any;
  // blocks of a cluster, neighbours along x; host code may choose another before it launches
  int cluster = 1;
  // may begin before the kernel before it in the stream has ended: see device/launch.cuh
  bool overlaps_previous = false;
  std::size_t params_bytes = 0;
  void (*body)(const void* params) = nullptr;  // cpu, checked: what one thread does
  const void* entry = nullptr;                 // cuda: the __global__ function
};

// What a launch on the CPU executor did; all zero on CUDA.
struct launch_counts {
  std::uint64_t switches = 0;         // from fiber to fiber
  std::uint64_t barriers = 0;         // barriers of blocks, named ones and of clusters completed
  std::uint64_t warp_operations = 0;  // shuffles, votes and warp syncs completed
  std::uint64_t copies = 0;           // asynchronous copies issued
  std::uint64_t copied_bytes = 0;     // bytes they moved, zero fill not counted

  constexpr launch_counts& operator+=(const launch_counts& other) {
    switches += other.switches;
    barriers += other.barriers;
    warp_operations += other.warp_operations;
    copies += other.copies;
    copied_bytes += other.copied_bytes;
    return *this;
  }
};

}  // namespace antiphase
