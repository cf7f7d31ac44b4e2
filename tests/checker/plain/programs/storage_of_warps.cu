// SPDX-License-Identifier: Apache-2.0
// Collectives of CUB for warps. Two warps share a TempStorage: a pedantic race where CUB shuffles.
// Broken: logical warps have 24 lanes, for which it needs the storage.
#include <cub/cub.cuh>
#ifdef BROKEN
constexpr int lanes = 24;
#else
constexpr int lanes = 32;
#endif

__global__ void sums(const int* from, int* to) {
  using reduce = cub::WarpReduce<int, lanes>;
  using scan = cub::WarpScan<int>;
  __shared__ typename reduce::TempStorage shared, one_more;
  __shared__ typename scan::TempStorage of_each[2];
  const int t = threadIdx.x, warp = t / 32;
  int v = from[t], before;
  scan(of_each[warp]).ExclusiveSum(v, before);
  int sum = 0;
#ifdef BROKEN
  if (t % 32 < lanes) sum = reduce(shared).Sum(v);  // FOUND: race
#else
  sum = reduce(shared).Sum(v);  // LETTER: race
#endif
  if (warp == 0 && t < lanes) sum += reduce(one_more).Sum(before);
  __syncthreads();
  if (warp == 1 && t % 32 < lanes) sum += reduce(one_more).Sum(before);
  if (t % 32 == 0) to[warp] = sum;
}

int main() {
  int *from, *to, result[2];
  cudaMalloc(&from, 64 * sizeof(int)), cudaMalloc(&to, sizeof result);
  cudaMemset(from, 0, 64 * sizeof(int));
  sums<<<1, 64>>>(from, to);
  cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  return result[0] + result[1];
}
