// SPDX-License-Identifier: Apache-2.0
// Checks lab 11: right products, 16-byte loads, and two accesses to shared memory for 16 multiply-adds.
#include "../lab.h"

int main() {
  using namespace lab;
  const recording r;
  for (const auto& p : std::vector<lab::product>{{1, 4, 4}, {35, 36, 20}, {32, 32, 24}}) {
    p.run(tile, [&](dim3 grid, const float* A, const float* B, float* C) {
      ::product<<<grid, dim3(side, side)>>>(A, B, C, p.m, p.n, p.k);
    });
    const int tiles = (p.k + depth - 1) / depth;
    for (const int thread : {0, side * side - 1}) {
      const acts of = done_by(r, thread);
      const int loads = count(of, reads_global), reads = count(of, reads_shared);
      demand(
          loads <= 2 * tiles, p.name(),
          "thread %d loads %d times from global memory: expected 16 bytes of A and of B for each of %d pairs "
          "of tiles",
          thread, loads, tiles);
      demand(
          reads <= 2 * depth * tiles, p.name(),
          "thread %d reads shared memory %d times: expected 16 bytes of A and of B for each of %d k, which "
          "serve 16 multiply-adds",
          thread, reads, depth * tiles);
      demand(barriers(of) <= 2 * tiles, p.name(), "%d barriers: expected two for each of %d pairs of tiles",
             barriers(of), tiles);
    }
  }
}
