// SPDX-License-Identifier: Apache-2.0
// Checks lab 8: right numbers, moved by the copy engine alone, three tiles ahead.
#include "../lab.h"

int main() {
  using namespace lab;
  const recording r;
  unsigned long one = 0;  // ticks of one tile
  for (const int n : {4, tile, 68, 12 * tile, 5 * tile + 12}) {
    const auto host = numbers<int>(static_cast<std::size_t>(n));
    const array<int> from(host), to(static_cast<std::size_t>(n));
    twice<<<1, tile>>>(from, to, n);
    cudaDeviceSynchronize();
    const std::string name = text("n = %d", n);
    same(name, to, [&](int i) { return 2 * host[static_cast<std::size_t>(i)] + 1; });
    const acts of = done_by(r, 1);
    demand(count(of, [](const act& a) { return !a.shared && (a.reads() || a.writes()); }) == 0, name,
           "a thread reads or writes global memory itself: expected bulk copies alone");
    if (n == tile) one = r.ticks(0, 1);
    if (n == 12 * tile) in_time(name, one, r.ticks(0, 1), 12, stages - 1);
  }
}
