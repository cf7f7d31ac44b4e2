// SPDX-License-Identifier: Apache-2.0
// A recording twin of a kernel, and what its warps do.
#pragma once
#include <algorithm>
#include <antiphase/executor/kernel.hpp>
#include <antiphase/trace.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

// Its params are those of the kernel that it stands for, and a span_log behind them (recorded_params,
// channel/recorded.cuh).
struct twin {
  // what a ring's verbs log (recorded.cuh), or all that there is (recorder.cuh)
  enum class spans { of_verbs, complete };

  const char* of;  // the name of the kernel that it stands for
  kernel code;
  int stages;
  std::int64_t step_bytes;
  spans spans_are = spans::of_verbs;
  int tile_k = 0;  // of a kernel whose blocks have one tile each: k of a step
  std::string step_is = "step along K";
  std::vector<std::string> phases = {"load", "compute"};  // of a slot, as timeline::phases
  std::vector<timeline_role> roles = {};                  // none: every warp loads and computes
};

// Whether kernels have a twin that neither the documentation nor a test draws (CMake's ANTIPHASE_TWINS).
#ifdef ANTIPHASE_EVERY_TWIN
constexpr bool every_twin = true;
#else
constexpr bool every_twin = false;
#endif
// "NAME, recorded", of a row of a table.
struct twin_name {
  char text[64] = {};
  constexpr explicit twin_name(std::string_view of) {
    char* end = std::copy(of.begin(), of.end(), text);
    for (const char c : std::string_view(", recorded")) *end++ = c;
  }
};

// Of `macs` multiply-adds of f16 by a block: instructions of each of the `threads` threads that do nothing
// else meanwhile, for the clock of the CPU executor. A multiprocessor does 2048 multiply-adds in a cycle, and
// an instruction of all threads takes a cycle per 128 threads.
constexpr int tensor_core_work(std::int64_t macs, int threads) {
  return static_cast<int>(macs / 2048 * 128 / threads);
}

}  // namespace antiphase
