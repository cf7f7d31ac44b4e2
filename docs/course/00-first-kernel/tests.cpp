// SPDX-License-Identifier: Apache-2.0
// Checks lab 0: right numbers for any grid, each thread its share, and whole sectors in each request.
#include "../lab.h"

int main() {
  using namespace lab;
  const recording r;
  struct grid {
    int n, blocks, threads;
  };
  for (const grid g : std::vector<grid>{{1, 1, 32}, {100, 2, 32}, {64, 2, 64}, {1000, 3, 96}}) {
    const auto from = numbers<float>(static_cast<std::size_t>(g.n), 1),
               to = numbers<float>(static_cast<std::size_t>(g.n), 2);
    const array<float> x(from), y(to);
    line<<<g.blocks, g.threads>>>(3, x, y, g.n);
    cudaDeviceSynchronize();
    const std::string name = text("n = %d, %d blocks of %d threads", g.n, g.blocks, g.threads);
    same(name, y,
         [&](int i) { return 3 * from[static_cast<std::size_t>(i)] + to[static_cast<std::size_t>(i)]; });
    const int all = g.blocks * g.threads, share = (g.n + all - 1) / all;
    const int written = highest(done_by_all(r, g.blocks, g.threads), [](const act& a) { return a.writes(); });
    demand(written <= share, name, "a thread writes %d numbers: expected at most %d of each", written, share);
    if (g.n < 1000) continue;
    for (const auto& that :
         {+[](const act& a) { return a.reads(); }, +[](const act& a) { return a.writes(); }})
      for (int warp = 0; warp < g.blocks * g.threads / 32; ++warp)
        for (const acts& request : requests(r, warp / (g.threads / 32), warp % (g.threads / 32), that))
          demand(sectors(request) <= 5, name,  // 5: 32 numbers that begin within a sector
                 "line %d: a warp's request for 32 numbers moves %d sectors of 32 bytes: expected 4, with "
                 "neighboring threads at neighboring numbers",
                 request.front().line, sectors(request));
  }
}
