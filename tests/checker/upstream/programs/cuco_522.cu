// SPDX-License-Identifier: Apache-2.0
// A block looks up keys and hands the results over in shared memory. The block's barrier stands in the branch
// of those threads that have a key.
#include <cooperative_groups.h>

#include "buffer.h"
namespace cg = cooperative_groups;

constexpr int threads = 64;

__global__ void find(const int* keys, int n, const int* table, int* to) {
  __shared__ int result[threads];
  const cg::thread_block block = cg::this_thread_block();
  const int t = threadIdx.x;
  for (int i = blockIdx.x * threads + t; i - t < n; i += gridDim.x * threads) {
#ifdef BROKEN
    if (i < n) {
      result[t] = table[keys[i]];
      block.sync();  // FOUND: divergent barrier
      to[i] = result[t];
    }
#else
    if (i < n) result[t] = table[keys[i]];
    block.sync();
    if (i < n) to[i] = result[t];
#endif
  }
}

int main() {
  const int n = 300;
  const buffer<int> keys(n, [](int i) { return n - 1 - i; }), table(n, [](int i) { return 7 * i; }), to(n);
  find<<<2, threads>>>(keys, n, table, to);
  return to.differs([](int i) { return 7 * (n - 1 - i); });
}
