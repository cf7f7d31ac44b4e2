// SPDX-License-Identifier: Apache-2.0
// Checks lab 7: right sums, no barrier of the block but the first, and three tiles on their way.
#include "../lab.h"

int main() {
  using namespace lab;
  const recording r;
  unsigned long one = 0;  // ticks of one tile
  for (const int n : {1, tile, 77, 12 * tile, 64 * 4 + 3}) {
    const auto host = numbers<int>(static_cast<std::size_t>(n));
    const array<int> from(host), to(static_cast<std::size_t>(tile));
    sums<<<1, block_size>>>(from, to, n);
    cudaDeviceSynchronize();
    const std::string name = text("n = %d", n);
    same(name, to, [&](int t) {
      int sum = 0;
      for (int i = t; i < n; i += tile) sum += host[static_cast<std::size_t>(i)];
      return sum;
    });
    const acts of = done_by(r, 32);
    const auto all = done_by_all(r, 1, block_size);
    const std::vector<acts> loading(all.begin(), all.begin() + 32), computing(all.begin() + 32, all.end());
    demand(highest(computing, reads_global) == 0, name,
           "a computing thread reads global memory: the loading warp is there for that");
    demand(highest(computing, reads_shared) <= 2 * ((n + tile - 1) / tile), name,
           "a computing thread does the work of others: expected one number of each tile from each");
    for (const acts& loader : loading) {
      int waits = 0, early = 0;  // for copies; those before another copy
      for (const act& a : loader) {
        waits += a.is("waits for copies");
        if (a.copies()) early = waits;
      }
      demand(
          early == 0, name,
          "a loading thread waits for copies %d times before it has issued the last: expected arrivals that "
          "follow once they have landed, for which it does not wait",
          early);
    }
    const int met = barriers_of_roles(of, loading);
    demand(met <= 1, name,
           "%d barriers of both roles: expected one before the loop, as the roles meet at mbarriers alone",
           met);
    if (n == tile) one = r.ticks(0, 32);
    if (n == 12 * tile) in_time(name, one, r.ticks(0, 32), 12, stages);
  }
}
