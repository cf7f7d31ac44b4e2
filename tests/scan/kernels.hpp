// SPDX-License-Identifier: Apache-2.0
// Kernels that only the scan tests compile, for each target.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/scan/detail/passes.hpp>
#include <antiphase/scan/ladder.hpp>
#include <type_traits>
#include <vector>

#include "tests/scan/types.hpp"
#include "tests/support/mutant.hpp"

namespace antiphase::scan_test {

enum class carried { brackets, nullable, matrix, affine, triangle, step64 };
template <class T> constexpr carried carried_as = std::is_same_v<T, brackets>   ? carried::brackets
                                                  : std::is_same_v<T, nullable> ? carried::nullable
                                                  : std::is_same_v<T, affine>   ? carried::affine
                                                                                : carried::matrix;

// One step of the ladder with another block size and element type.
struct test_kernels {
  const char* step;
  carried type;
  scans::policy policy;
  scans::kernel_pair kernels;
};
// A kernel that calls the scan of a warp or a block: `groups` of them, each with `count` elements, at most
// `tile`. One more element follows each group's: the initial value of exclusive scans. The total is written
// to the same place of out.
struct alone_arguments {
  const void* in;
  void* out;
  int count;
  bool exclusive;
  std::uint32_t modulus;
};
struct alone_kernel {
  const char* name;
  carried type;
  kernel code;
  int tile, groups;
};
// A call of the scans with user-defined types and operators.
struct custom_scan {
  carried type;
  launch_counts (*run)(const context& where, const void* in, void* out, const scans::lines& over,
                       scan_kind kind, const void* initial);
};
// Launch data of a scan mutant. Several passes: the kernel of the tiles' totals and a tile's elements. One
// wave: only the latter.
struct pass_around {
  kernel totals;
  int tile;
};
struct wave_tile {
  int tile;
};
using pass_mutant = test::mutant<pass_around>;
using wave_mutant = test::mutant<wave_tile>;

}  // namespace antiphase::scan_test
