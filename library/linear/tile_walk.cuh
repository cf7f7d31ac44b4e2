// SPDX-License-Identifier: Apache-2.0
// The tiles of Y that a block computes, one after the other.
#pragma once
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/warp.cuh>
#include "library/linear/linear_arguments.hpp"

namespace antiphase::linears {
inline namespace AP_TARGET {

// Tiles of Rows x Columns: of each member, or of each group, whose number of tiles the device alone knows.
// All lanes of a warp walk alike. Rows of tiles that follow each other share W in the L2 cache. The blocks of
// a cluster have tiles next to each other along the columns, the last of which may lie outside of Y.
template <int Rows, int Columns, int Cluster = 1> struct tile_walk {
  static constexpr int together = 16;
  const arguments& p;
  int index = static_cast<int>(block_index().x) / Cluster;
  int member = 0;
  int row = 0, column = 0, end = 0;    // end: of the rows of the member or group
  int first = 0, begin = 0, down = 0;  // tile and row where it begins, rows of tiles of it

  AP_DEV explicit tile_walk(const arguments& what) : p(what), end(what.m), down(what.down) {
    if (p.group_ends != nullptr) enter(0);
    place();
  }
  AP_DEV bool valid() const { return member < p.members; }
  AP_DEV void next() {
    index += static_cast<int>(grid_extent().x) / Cluster;
    place();
  }

 private:
  AP_DEV void enter(int group) {
    begin = group > 0 ? end : 0;
    end = group < p.members ? p.group_ends[group] : begin;
    down = (end - begin + Rows - 1) / Rows;
  }
  AP_DEV void place() {
    while (member < p.members && index - first >= down * p.across) {
      first += down * p.across;
      ++member;
      if (p.group_ends != nullptr) enter(member);
    }
    const int tile = index - first, top = tile / (together * p.across) * together,
              within = tile - top * p.across, rows = down - top < together ? down - top : together;
    if (!valid()) return;
    row = uniform(begin + (top + within % rows) * Rows);
    if constexpr (Cluster > 1)
      column = uniform((within / rows * Cluster + cluster_rank()) * Columns);
    else
      column = uniform(within / rows * Columns);
    member = uniform(member);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::linears
