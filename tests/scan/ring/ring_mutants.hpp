// SPDX-License-Identifier: Apache-2.0
// Kernels of kernels_ring_mutants.cuh: the single-pass scan with one fault each, and the finding expected
// from the checker.
#pragma once
#include <antiphase/scan/detail/ring_policy.hpp>
#include <cstdint>
#include <vector>

#include "tests/support/mutant.hpp"

namespace antiphase::scan_test {

// Tiles of 512 floats; the small ring holds fewer tiles than a block scans.
constexpr scans::ring_policy small_ring{.warps = 2, .rows = 2, .stages = 3, .in_flight = 2};
constexpr scans::ring_policy small_async_ring{
    .warps = 2, .rows = 2, .stages = 3, .in_flight = 2, .mover = scans::tile_mover::threads};

struct ring_input {
  std::size_t offset = 0;  // of input and output, in elements: some faults show only at an offset
  std::size_t out_offset = 0;
  std::int64_t tiles = 7;  // and a partial one
};
using ring_mutant = test::mutant<ring_input>;

}  // namespace antiphase::scan_test
