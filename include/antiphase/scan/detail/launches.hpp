// SPDX-License-Identifier: Apache-2.0
// Kernels of a scan, and a launch of one.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <cstddef>
#include <vector>

namespace antiphase::scans {

// tile_totals and tile_scan of device_wide.cuh for one type, operator and policy, and the elements per tile.
struct kernel_pair {
  kernel totals, scan;
  int tile;
};

// A kernel with grid and arguments.
struct launchable {
  kernel code;
  extent3 grid;
  std::vector<std::byte> arguments;
};

}  // namespace antiphase::scans
