// SPDX-License-Identifier: Apache-2.0
// A compiled kernel, type-erased, and what describes its launches.
#pragma once
#include <cstddef>
#include <cstdint>

struct CUstream_st;

namespace antiphase {

// A cudaStream_t, without CUDA's headers; null is the default stream. The CPU executor, which runs work
// within the call, takes any value as the name of work that must not overlap.
using stream = CUstream_st*;

// What a kernel is compiled for. `checked` is the CPU executor with instrumentation.
enum class target { cpu, cuda, checked };

struct extent3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  constexpr bool operator==(const extent3&) const = default;
};

enum class shared_kind { fixed, dynamic };  // __shared__ S, or the launch's dynamic shared memory

// Which blocks of a grid wait for which others; decides how many the CPU executor runs concurrently.
enum class residency {
  any,       // no block waits for another
  in_order,  // blocks wait for blocks of lower index only, which begin before them
  together,  // blocks wait for any other: all blocks of the grid must be resident at once
};

// One instance of a kernel type, type-erased. Made by kernel_of<K>() in device/kernel.cuh.
struct kernel {
  const char* name = "";
  int threads = 0;               // per block
  std::size_t shared_bytes = 0;  // per block: sizeof(K::storage)
  shared_kind shared = shared_kind::fixed;
  residency blocks = residency::any;
  // blocks of a cluster, neighbours along x; host code may change it before a launch
  int cluster = 1;
  // may begin before the kernel before it in the stream has ended: see device/launch.cuh
  bool overlaps_previous = false;
  std::size_t params_bytes = 0;
  void (*body)(const void* params) = nullptr;  // cpu, checked: what one thread does
  const void* entry = nullptr;                 // cuda: the __global__ function
};

// Statistics of a launch on the CPU executor; all zero on CUDA.
struct launch_counts {
  std::uint64_t switches = 0;         // fiber switches
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
