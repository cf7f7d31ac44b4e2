// SPDX-License-Identifier: Apache-2.0
// Checks lab 13: right transpositions, whole sectors in each request, no conflicts of banks.
#include "../lab.h"

int main() {
  using namespace lab;
  const recording r;
  struct extents {
    int rows, columns;
  };
  for (const extents e : std::vector<extents>{{1, 1}, {33, 40}, {64, 32}}) {
    const auto host = numbers<float>(static_cast<std::size_t>(e.rows * e.columns));
    const array<float> from(host), to(host.size());
    transpose<<<dim3((e.columns + tile - 1) / tile, (e.rows + tile - 1) / tile), dim3(tile, lines)>>>(
        from, to, e.rows, e.columns);
    cudaDeviceSynchronize();
    const std::string name = text("%d x %d", e.rows, e.columns);
    same(name, to,
         [&](int i) { return host[static_cast<std::size_t>(i % e.rows * e.columns + i / e.rows)]; });
    if (e.rows < 64) continue;
    int shared = 0;
    for (int i = 0; i < 2 * lines; ++i) {  // of two blocks
      const int block = i / lines, warp = i % lines;
      for (const acts& request :
           requests(r, block, warp, [](const act& a) { return !a.shared && accesses(a); }))
        demand(
            sectors(request) <= 4, name,
            "line %d: a request for 32 numbers of global memory moves %d sectors: expected 4, with a row of "
            "one of the matrices for each warp",
            request.front().line, sectors(request));
      for (const acts& request :
           requests(r, block, warp, [](const act& a) { return a.shared && accesses(a); })) {
        ++shared;
        demand(wavefronts(request) == 1, name,
               "line %d: a request for 32 numbers of shared memory takes %d wavefronts: expected 1, with "
               "lanes in 32 different banks",
               request.front().line, wavefronts(request));
      }
    }
    demand(shared <= 2 * 2 * tile, name,
           "%d requests of shared memory: expected a write and a read of each row", shared);
  }
}
