// SPDX-License-Identifier: Apache-2.0
// Checks lab 6: rings of 1 to 4 stages, with fewer tiles than slots and more; as many copies on their way.
#include "../lab.h"

template <int stages> void judge(const lab::recording& r) {
  using namespace lab;
  for (const auto& p : std::vector<lab::product>{{3, 5, 7}, {7, 9, 49}}) {
    const std::string name = text("stages = %d, ", stages) + p.name();
    p.run(tile, [&](dim3 grid, const float* A, const float* B, float* C) {
      ::product<stages><<<grid, dim3(tile, tile)>>>(A, B, C, p.m, p.n, p.k);
    });
    const int tiles = (p.k + tile - 1) / tile, ahead = std::min(stages - 1, tiles - 1);
    const acts of = done_by(r, 0);
    demand(highest(done_by_all(r, p.blocks(tile), tile * tile), reads_global) == 0, name,
           "a thread loads from global memory itself: expected asynchronous copies alone");
    const int reads = count(of, reads_shared), covered = reads_under_way(of, 2 * ahead);
    demand(covered * tiles >= reads * (tiles - ahead), name,
           "during %d of %d reads of shared memory fewer than %d of the next tiles are on their way: "
           "expected that only of "
           "the last tiles",
           reads - covered, reads, ahead);
    demand(barriers(of) <= (stages == 1 ? 2 : 1) * tiles + 1, name,
           "%d barriers: expected one for each of %d tiles", barriers(of), tiles);
  }
}

int main() {
  const lab::recording r;
  judge<1>(r), judge<2>(r), judge<3>(r), judge<4>(r);
}
