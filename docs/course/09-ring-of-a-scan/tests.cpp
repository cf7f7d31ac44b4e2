// SPDX-License-Identifier: Apache-2.0
// Checks lab 9: right sums with 1, 2 and 4 stages, and time that shrinks with their number.
#include "../lab.h"

template <int stages> void judge(const lab::recording& r) {
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
    demand(count(of, reads_global) == 0, name,
           "a scanning thread reads global memory: the loading thread is there for that");
    demand(
        barriers(of) <= 1, name,
        "%d barriers of the whole block: expected one before the loop, as the roles meet at mbarriers alone",
        barriers(of));
    if (n == tile) one = r.ticks(0, 0);
    if (n == 12 * tile) in_time(name, one, r.ticks(0, 0), 12, stages);
  }
}

int main() {
  const lab::recording r;
  judge<1>(r), judge<2>(r), judge<4>(r);
}
