// SPDX-License-Identifier: Apache-2.0
// Collectives of CUB for blocks and warps. The broken one uses TempStorage again without a barrier in
// between.
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/cub.cuh>

#include <algorithm>
#include <cstdio>
#include <vector>

constexpr int block = 96, each = 3, tile = block * each;

__global__ void two_sums(const int* from, int* to) {
  using reduce = cub::BlockReduce<int, block>;
  __shared__ typename reduce::TempStorage temp;
  const int v = from[threadIdx.x];
  const int sum = reduce(temp).Sum(v);
#ifndef BROKEN
  __syncthreads();
#endif
  const int most = reduce(temp).Reduce(v, cuda::maximum<>());  // FOUND: race or overwritten in use
  if (threadIdx.x == 0) to[0] = sum, to[1] = most;
}

__global__ void sort_and_scan(const int* from, int* sorted, int* sums, int* all) {
  using load = cub::BlockLoad<int, block, each, cub::BLOCK_LOAD_TRANSPOSE>;
  using store = cub::BlockStore<int, block, each, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  using sort = cub::BlockRadixSort<int, block, each>;
  using scan = cub::BlockScan<int, block>;
  __shared__ union {
    typename load::TempStorage load;
    typename store::TempStorage store;
    typename sort::TempStorage sort;
    typename scan::TempStorage scan;
  } temp;
  int item[each];
  load(temp.load).Load(from, item, tile - 2, 1000);
  __syncthreads();
  sort(temp.sort).Sort(item);
  __syncthreads();
  int total, sum[each];
  scan(temp.scan).ExclusiveSum(item, sum, total);
  __syncthreads();
  store(temp.store).Store(sorted, item, tile - 2);
  __syncthreads();
  store(temp.store).Store(sums, sum);
  if (threadIdx.x == 0) *all = total;
}

__global__ void count_heads(const int* sorted, int* to) {
  using heads = cub::BlockDiscontinuity<int, block>;
  using reduce = cub::BlockReduce<int, block>;
  __shared__ union {
    typename heads::TempStorage heads;
    typename reduce::TempStorage reduce;
  } temp;
  int item[1] = {sorted[threadIdx.x]}, head[1];
  // Tails, which are as many: their part of the storage is where the sum has its own.
  heads(temp.heads).FlagTails(head, item, [](int a, int b) { return a != b; });
#ifndef BROKEN
  __syncthreads();
#endif
  const int count = reduce(temp.reduce).Sum(head[0]);  // FOUND: race or overwritten in use
  if (threadIdx.x == 0) *to = count;
}

__global__ void warps(const int* from, int* to) {
  using reduce = cub::WarpReduce<int, 16>;
  using scan = cub::WarpScan<int>;
  __shared__ typename reduce::TempStorage halves[block / 16];
  __shared__ typename scan::TempStorage whole[block / 32];
  const int t = threadIdx.x;
  const int sum = reduce(halves[t / 16]).Sum(from[t]);
  int before;
  scan(whole[t / 32]).ExclusiveSum(from[t], before);
  if (t % 16 == 0) to[t / 16] = sum;
  if (t % 32 == 31) to[6 + t / 32] = before;
}

__global__ void sort_by_warps(const int* from, int* to) {
  using sort = cub::WarpMergeSort<int, each>;
  using exchange = cub::WarpExchange<int, each>;
  __shared__ union {
    typename sort::TempStorage sort;
    typename exchange::TempStorage exchange;
  } temp[block / 32];
  const int warp = threadIdx.x / 32;
  int item[each];
  for (int i = 0; i < each; ++i) item[i] = from[threadIdx.x * each + i];
  sort(temp[warp].sort).Sort(item, [](int a, int b) { return a < b; });
#ifndef BROKEN
  __syncwarp();
#endif
  exchange(temp[warp].exchange).StripedToBlocked(item, item);  // FOUND: race or overwritten in use
  for (int i = 0; i < each; ++i) to[threadIdx.x * each + i] = item[i];
}

int main() {
  std::vector<int> x(tile);
  for (int i = 0; i < tile; ++i) x[i] = i * 37 % 101 - 20;
  int *from, *to;
  cudaMalloc(&from, tile * sizeof(int));
  cudaMalloc(&to, (2 * tile + 100) * sizeof(int));
  cudaMemcpy(from, x.data(), tile * sizeof(int), cudaMemcpyHostToDevice);
  int *sorted = to + 100, *sums = sorted + tile;
  two_sums<<<1, block>>>(from, to);
  sort_and_scan<<<1, block>>>(from, sorted, sums, to + 2);
  warps<<<1, block>>>(from, to + 3);
  count_heads<<<1, block>>>(sorted, to + 12);
  std::vector<int> y(2 * tile + 100), by_warps(tile);
  cudaMemcpy(y.data(), to, 12 * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(&y[100], sorted, (tile - 2) * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(&y[100 + tile], sums, tile * sizeof(int), cudaMemcpyDeviceToHost);
  sort_by_warps<<<1, block>>>(from, sorted);
  cudaMemcpy(by_warps.data(), sorted, tile * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);

  int bad = 0, sum = 0, most = 0;
  for (int i = 0; i < block; ++i) sum += x[i], most = std::max(most, x[i]);
  bad += y[0] != sum || y[1] != most;
  for (int first = 0; first < tile; first += 32 * each) {
    std::vector<int> of_warp(&x[first], &x[first] + 32 * each);
    std::sort(of_warp.begin(), of_warp.end());
    for (int i = 0; i < 32 * each; ++i) bad += by_warps[first + i] != of_warp[i % 32 * each + i / 32];
  }
  std::vector<int> wanted(x.begin(), x.end() - 2);
  wanted.resize(tile, 1000);
  std::sort(wanted.begin(), wanted.end());
  for (int i = 0, before = 0; i < tile; before += wanted[i++]) {
    bad += i < tile - 2 && y[100 + i] != wanted[i];
    bad += y[100 + tile + i] != before;
    if (i + 1 == tile) bad += y[2] != before + wanted[i];
  }
  for (int w = 0; w < 6; ++w) {
    int part = 0;
    for (int i = 0; i < 16; ++i) part += x[16 * w + i];
    bad += y[3 + w] != part;
  }
  for (int w = 0; w < 3; ++w) {
    int part = 0;
    for (int i = 0; i < 31; ++i) part += x[32 * w + i];
    bad += y[9 + w] != part;
  }
  return bad == 0 ? 0 : std::printf("%d wrong\n", bad);
}
