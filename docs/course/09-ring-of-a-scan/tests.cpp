// SPDX-License-Identifier: Apache-2.0
// Checks lab 9: right sums with 1, 2 and 4 stages, and time that shrinks with their number.
#include "../lab.h"

namespace {

// The slots that a warp gives back after the barrier of the scan, not as soon as the numbers are in
// registers: the least of all its threads that arrive at mbarriers.
int late_arrivals(const lab::recording& r, int warp) {
  int least = -1;
  for (int thread = 32 * warp; thread < 32 * (warp + 1); ++thread) {
    bool has_numbers = false, scanned = false;
    int late = 0, all = 0;
    for (const lab::act& a : r.of(0, thread)) {
      if (a.is("waits for an mbarrier")) has_numbers = true, scanned = false;
      if (has_numbers && a.is("arrives at a named barrier")) scanned = true;
      if (has_numbers && a.is("arrives at an mbarrier")) ++all, late += scanned, has_numbers = false;
    }
    if (all > 0 && (least < 0 || late < least)) least = late;
  }
  return least;
}

}  // namespace

template <int stages> void check(const lab::recording& r) {
  using namespace lab;
  unsigned long one = 0;  // ticks of one tile
  for (const int n : {4, tile, 5 * tile + 12, 12 * tile}) {
    const auto host = numbers<int>(static_cast<std::size_t>(n));
    const array<int> from(host), to(static_cast<std::size_t>(n));
    scan<stages><<<1, block_size>>>(from, to, n);
    cudaDeviceSynchronize();
    const std::string name = text("stages = %d, n = %d", stages, n);
    int sum = 0;
    same(name, to, [&](int i) { return sum += host[static_cast<std::size_t>(i)]; });
    const acts of = done_by(r, 0);
    const std::vector<acts> scanning = done_by_all(r, 1, tile);
    demand(highest(scanning, reads_global) == 0, name,
           "a scanning thread reads global memory: the loading thread is there for that");
    demand(highest(scanning, reads_shared) <= 8 * ((n + tile - 1) / tile), name,
           "a scanning thread does the work of others: expected one number of each tile from each, and the "
           "warps' sums");
    std::vector<acts> loading = done_by_all(r, 1, block_size);
    loading.erase(loading.begin(), loading.begin() + tile);
    const int met = barriers_of_roles(of, loading);
    demand(met <= 1, name,
           "%d barriers of both roles: expected one before the loop, as the roles meet at mbarriers alone",
           met);
    for (int warp = 0; warp < tile / 32; ++warp)
      demand(
          late_arrivals(r, warp) <= 0, name,
          "a slot is given back after the scan of its tile by warp %d: expected as soon as its numbers are "
          "in registers, so that it is filled again during the scan",
          warp);
    if (n == tile) one = r.ticks(0, 0);
    if (n == 12 * tile) in_time(name, one, r.ticks(0, 0), 12, stages);
  }
}

int main() {
  const lab::recording r;
  check<1>(r), check<2>(r), check<4>(r);
}
