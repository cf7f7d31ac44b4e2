// SPDX-License-Identifier: Apache-2.0
// A recording twin of a kernel, and the roles of its warps.
#pragma once
#include <algorithm>
#include <antiphase/executor/kernel.hpp>
#include <antiphase/trace.hpp>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace antiphase {

// Its params are those of the kernel that it stands for, followed by a span_log (recorded_params,
// channel/recorded.cuh).
struct twin {
  // of_verbs: those that a ring's operations log (recorded.cuh); complete: all spans (recorder.cuh)
  enum class spans { of_verbs, complete };

  const char* kernel_name;  // the name of the kernel that it stands for
  kernel code;
  int stages;
  std::int64_t step_bytes;
  spans spans_are = spans::of_verbs;
  int tile_k = 0;  // k of a step, for kernels with one tile per block
  std::string step_is = "step along K";
  std::vector<std::string> phases = {"load", "compute"};  // of a slot, as timeline::phases
  std::vector<std::string> rings = {"tiles"};             // as timeline::rings
  std::vector<timeline_role> roles = {};                  // none: every warp loads and computes
  std::int64_t step_work = 0;                             // as timeline::step_work
};

// Whether kernels that neither the documentation nor a test draws have a twin, too (CMake's ANTIPHASE_TWINS).
#ifdef ANTIPHASE_EVERY_TWIN
constexpr bool every_twin = true;
#else
constexpr bool every_twin = false;
#endif
// The text "NAME, recorded".
struct twin_name {
  char text[64] = {};
  constexpr explicit twin_name(std::string_view of) {
    char* end = std::copy(of.begin(), of.end(), text);
    for (const char c : std::string_view(", recorded")) *end++ = c;
  }
};

template <const auto& Table, std::size_t N> inline constexpr twin_name twin_name_of{Table[N].name};

template <const auto& Table, template <auto> class Maker, std::size_t N>
void add_twin(std::vector<twin>& all) {
  if constexpr (every_twin || Table[N].drawn)
    all.push_back(Maker<Table[N].policy>::make(Table[N].name, twin_name_of<Table, N>.text));
}
template <const auto& Table, template <auto> class Maker, std::size_t... I>
std::vector<twin> twins_from_table(std::index_sequence<I...>) {
  std::vector<twin> all;
  (add_twin<Table, Maker, I>(all), ...);
  return all;
}
// Maker<row.how>::make(name of the kernel, name of its twin) for each row of a table of kernels that is
// drawn, or for all (ANTIPHASE_TWINS).
template <const auto& Table, template <auto> class Maker> std::vector<twin> twins_from_table() {
  return twins_from_table<Table, Maker>(std::make_index_sequence<std::size(Table)>());
}

// Cost of a block's `macs` f16 multiply-adds on Tensor Cores, for the clock of the CPU executor: instructions
// of each of `threads` threads, which do nothing else meanwhile. A multiprocessor does 2048 multiply-adds in
// a cycle and issues an instruction for 128 threads.
constexpr int tensor_core_work(std::int64_t macs, int threads) {
  return static_cast<int>(macs / 2048 * 128 / threads);
}

}  // namespace antiphase
