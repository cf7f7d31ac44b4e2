// SPDX-License-Identifier: Apache-2.0
// A group of lanes collects matches in a buffer and flushes it. Lane 0 sets its counter back while others
// read it, and others add to it before it is set: the votes between order no memory.
#include <cooperative_groups.h>

#include "buffer.h"
namespace cg = cooperative_groups;

__device__ void flush(const cg::thread_block_tile<32>& tile, const int* found, int count, int* to,
                      int* total) {
  int at = tile.thread_rank() == 0 ? atomicAdd(total, count) : 0;
  at = tile.shfl(at, 0);
  for (int i = tile.thread_rank(); i < count; i += 32) to[at + i] = found[i];
}

__global__ void multiples(const int* x, int n, int* to, int* total) {
  __shared__ int found[64], count;
  const cg::thread_block_tile<32> tile = cg::tiled_partition<32>(cg::this_thread_block());
  const int lane = tile.thread_rank();
  if (lane == 0) count = 0;
#ifndef BROKEN
  tile.sync();
#endif
  for (int i = lane; tile.any(i < n); i += 32) {
    const bool matches = i < n && x[i] % 3 == 0;
    const unsigned all = tile.ballot(matches);
    const int at = count;  // FOUND: race
#ifndef AS_MERGED
    tile.sync();
#endif
    if (matches) found[at + __popc(all & ((1u << lane) - 1))] = x[i];
    if (lane == 0) count += __popc(all);
    tile.sync();
    if (count + 32 > 64) {
      flush(tile, found, count, to, total);
#ifndef BROKEN
      tile.sync();
#endif
      if (lane == 0) count = 0;
#ifndef BROKEN
      tile.sync();
#endif
    }
  }
  tile.sync();
  flush(tile, found, count, to, total);
}

int main() {
  const int n = 180;
  const buffer<int> x(n, [](int i) { return i; }), to(n), total(1);
  multiples<<<1, 32>>>(x, n, to, total);
  return total.differs([](int) { return n / 3; }) + to.differs([](int i) { return i < n / 3 ? 3 * i : 0; });
}
