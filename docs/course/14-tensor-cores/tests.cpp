// SPDX-License-Identifier: Apache-2.0
// Checks lab 14: right products of odd sizes, by whole warps from fragments.
#include "../lab.h"

int main() {
  using namespace lab;
  const recording r;
  // In the last case, some sums are odd and beyond 2048, which FP16 does not hold.
  for (const auto& p : std::vector<lab::product>{{1, 1, 1}, {33, 17, 40}, {32, 32, 48}}) {
    std::vector<half> a(p.a.size()), b(p.b.size());
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = __float2half(p.a[i]);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = __float2half(p.b[i]);
    const array<half> on_a(a), on_b(b);
    const array<float> c(static_cast<std::size_t>(p.m * p.n));
    ::product<<<dim3((p.n + tile - 1) / tile, (p.m + tile - 1) / tile), threads>>>(on_a, on_b, c, p.m, p.n,
                                                                                   p.k);
    cudaDeviceSynchronize();
    same(p.name(), c, p);
    const int tiles = (p.k + depth - 1) / depth;
    const auto all = done_by_all(r, p.blocks(tile), threads);
    unsigned long numbers = 0;  // of two bytes, that a thread reads; it reads outputs after the last barrier
    for (const acts& of : all) {
      unsigned long read = 0;
      for (const act& a : of) {
        if (reads_shared(a)) read += a.bytes / 2;
        if (a.is("block barrier")) numbers = std::max(numbers, read);
      }
    }
    demand(
        numbers <= 24ul * tiles, p.name(),
        "a thread reads %lu numbers of A and B from shared memory: expected 8 of each for each of %d pairs "
        "of tiles, its lane's part of the warp's fragments",
        numbers, tiles);
    // A warp's share if no output lies beyond an edge; otherwise all products of C, of whichever warps.
    const bool whole = p.m % tile == 0 && p.n % tile == 0;
    unsigned long least = ~0ul, sum = 0;
    for (std::size_t t = 0; t < all.size(); t += 32) {
      unsigned long made = 0;
      for (const act& a : all[t]) made += a.is("multiplies on Tensor Cores") ? a.number : 0;
      least = std::min(least, made), sum += made;
    }
    const unsigned long share = 1ul * tile * tile / (threads / 32) * p.k, products = 1ul * p.m * p.n * p.k;
    demand(whole ? least >= share : sum >= products, p.name(),
           "%lu multiply-adds on Tensor Cores by %s: expected at least %lu, as all products are made there",
           whole ? least : sum, whole ? "a warp" : "all warps", whole ? share : products);
    const int loads = highest(all, reads_global), most = 2 * tile * depth / threads * tiles;
    demand(loads <= most, p.name(),
           "a thread loads %d times from global memory: expected at most %d, its part of each pair of tiles",
           loads, most);
    const int met = barriers(all.front());
    demand(met <= 2 * tiles + 1, p.name(),
           "%d barriers: expected two for each of %d pairs of tiles, and one before the outputs are written",
           met, tiles);
  }
}
