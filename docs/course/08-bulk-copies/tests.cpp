// SPDX-License-Identifier: Apache-2.0
// Checks lab 8: right numbers, moved by the copy engine alone, three tiles ahead.
#include "../lab.h"

namespace {

// The group of a thread's bulk stores, by its waits for them; 0: it has not waited.
unsigned long stores_of(const lab::acts& of) {
  for (const lab::act& a : of)
    if (a.is("waits for bulk stores")) return a.of;
  return 0;
}
// The times that a thread waits for all of its bulk stores directly after starting one, and then loads.
int newest_waited(const lab::acts& of) {
  unsigned long store = 0;  // the newest of this tile; 0: none, or a barrier came after it
  bool waited = false;
  int all = 0;
  for (const lab::act& a : of) {
    if (a.is("block barrier") || a.is("waits for an mbarrier")) store = 0, waited = false;
    if (a.is("waits for bulk stores")) waited = store > 0 && a.number >= store;
    if (!a.copies()) continue;
    const bool loads = a.of != stores_of(of);
    if (loads) all += waited, waited = false;
    if (!loads) store = a.number;
  }
  return all;
}

}  // namespace

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
    demand(highest(done_by_all(r, 1, tile), [](const act& a) { return !a.shared && accesses(a); }) == 0, name,
           "a thread reads or writes global memory itself: expected bulk copies alone");
    int waited = 0;
    for (const acts& of : done_by_all(r, 1, tile)) waited += newest_waited(of);
    demand(waited == 0, name,
           "a thread waits for the store that it has just started and then loads: expected to wait for the "
           "store "
           "of the tile before, which has had most time, and to refill that slot");
    if (n == tile) one = r.ticks(0, 1);
    if (n == 12 * tile) in_time(name, one, r.ticks(0, 1), 12, stages - 1);
  }
}
