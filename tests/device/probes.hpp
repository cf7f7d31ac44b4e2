// SPDX-License-Identifier: Apache-2.0
// Small kernels with one device function each, and their expected results: the same list for every executor.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/executor/kernel.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace antiphase::probe {

// Parameters of every probe kernel.
struct buffers {
  std::uint32_t* out;
  const std::uint32_t* in;
  int size;
};

// One launch: `out` starts as zeros, `in` as in_at(0), in_at(1), ... Afterwards out[i] == expected(i) for all
// i.
struct probe {
  std::string name;  // of the kernel
  extent3 grid;
  std::size_t out_size;
  std::size_t in_size;
  std::function<std::uint32_t(std::size_t)> expected;
  int compute_capability = 75;
  int cluster = 1;
};
std::vector<probe> thread_probes();
std::vector<probe> memory_probes();
std::vector<probe> cluster_probes();
std::vector<probe> update_probes();

// Result words per kernel, and the threads of the vote kernels that do not return early.
constexpr int update_results = 20, vote_results = 10;
AP_FN constexpr bool votes_stay(int thread) { return thread % 7 != 3; }

// The kernel threads-return: its threads that do not return early, and one such lane of each warp.
AP_FN constexpr bool stays(int thread) { return thread % 3 != 1 && (thread < 64 || thread >= 80); }
AP_FN constexpr int staying_lane(int warp) { return warp == 1 ? 18 : 17; }

// Input values: different at every place, no short period.
inline std::uint32_t in_at(std::size_t i) { return static_cast<std::uint32_t>(i * 2654435761u + 12345u); }

// A link's function of a number: slow, and a chain that a compiler cannot shorten.
constexpr std::uint32_t chewed(std::uint32_t x) {
  for (int i = 0; i < 1000; ++i) x = (x ^ x >> 15) * 1664525u + 1013904223u;
  return x;
}

// A value of `Bytes` bytes that depends on its source, and a number that depends on each of its bytes. Used
// by host and kernels.
template <int Bytes> struct blob { unsigned char byte[Bytes]; };
template <int Bytes> constexpr blob<Bytes> blob_of(unsigned source) {
  blob<Bytes> b{};
  for (int i = 0; i < Bytes; ++i)
    b.byte[i] = static_cast<unsigned char>(source * 37u + static_cast<unsigned>(i) * 101u + 11u);
  return b;
}
template <int Bytes> constexpr std::uint32_t digest(const blob<Bytes>& b) {
  std::uint32_t h = 2166136261u;
  for (int i = 0; i < Bytes; ++i) h = (h ^ b.byte[i]) * 16777619u;
  return h;
}

}  // namespace antiphase::probe
