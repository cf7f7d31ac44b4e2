// SPDX-License-Identifier: Apache-2.0
// CUB's collectives of blocks and warps, and its algorithms for a device, that other programs do not use. The
// broken one uses storage again without a barrier.
#include <cuda_runtime.h>
#include <cub/cub.cuh>

#include <cstdio>
#include <vector>

constexpr int threads = 64, items = 2, n = threads * items;
struct less_than {
  __host__ __device__ bool operator()(int a, int b) const { return a < b; }
};
struct is_odd {
  __host__ __device__ bool operator()(int a) const { return a % 2 != 0; }
};
struct differs {
  __host__ __device__ bool operator()(int a, int b) const { return a != b; }
};
struct minus_left {
  __host__ __device__ int operator()(int a, int b) const { return a - b; }
};
struct double_it {
  int* x;
  __host__ __device__ void operator()(int i) const { x[i] *= 2; }
};

__global__ void collectives(int* x, int* bins, int* failed) {
  using exchange = cub::BlockExchange<int, threads, items>;
  using sort = cub::BlockMergeSort<int, threads, items>;
  using histogram = cub::BlockHistogram<int, threads, items, 4>;
  using heads = cub::BlockDiscontinuity<int, threads>;
  using neighbours = cub::BlockAdjacentDifference<int, threads>;
  using shuffle = cub::BlockShuffle<int, threads>;
  using load = cub::WarpLoad<int, items, cub::WARP_LOAD_DIRECT, 32>;
  using store = cub::WarpStore<int, items, cub::WARP_STORE_DIRECT, 32>;
  __shared__ typename exchange::TempStorage t_exchange;
  __shared__ typename sort::TempStorage t_sort;
  __shared__ typename histogram::TempStorage t_histogram;
  __shared__ typename heads::TempStorage t_heads;
  __shared__ typename neighbours::TempStorage t_neighbours;
  __shared__ typename shuffle::TempStorage t_shuffle;
  __shared__ typename load::TempStorage t_load[threads / 32];
  __shared__ typename store::TempStorage t_store[threads / 32];
  __shared__ int counts[4];
  const int t = threadIdx.x, warp = t / 32;
  int v[items], flags[items], steps[items], next = 0;
  load(t_load[warp]).Load(x + warp * 32 * items, v);  // n - 1 ... 0
  sort(t_sort).Sort(v, less_than());
#ifndef BROKEN
  __syncthreads();
#endif
  sort(t_sort).Sort(v, less_than());  // FOUND: overwritten in use or race
  bool good = v[0] == 2 * t && v[1] == 2 * t + 1;
  exchange(t_exchange).BlockedToStriped(v, v);
  good &= v[0] == t && v[1] == t + threads;
  __syncthreads();
  exchange(t_exchange).StripedToBlocked(v, v);
  neighbours(t_neighbours).SubtractLeft(v, steps, minus_left());
  good &= steps[1] == 1 && steps[0] == (t == 0 ? 0 : 1);
  int low[items] = {v[0] % 4, v[1] % 4}, half[items] = {v[0] / 4, v[1] / 4};
  heads(t_heads).FlagHeads(flags, half, differs());
  good &= flags[0] == (v[0] % 4 == 0) && flags[1] == 0;
  histogram(t_histogram).Histogram(low, counts);
  shuffle(t_shuffle).Offset(v[0], next, 1);
  good &= t == threads - 1 || next == v[0] + 2;
  __syncthreads();
  if (t < 4) bins[t] = counts[t];
  store(t_store[warp]).Store(x + warp * 32 * items, v);
  if (!good) atomicAdd(failed, 1);
}

template <class F> void with_storage(F f) {
  void* temp = nullptr;
  std::size_t bytes = 0;
  f(temp, bytes);
  cudaMalloc(&temp, bytes);
  f(temp, bytes);
  cudaFree(temp);
}

int main() {
  int *x, *y, *count, bad = 0;
  std::vector<int> h(n);
  for (int i = 0; i < n; ++i) h[i] = n - 1 - i;
  cudaMalloc(&x, n * sizeof(int)), cudaMalloc(&y, n * sizeof(int)), cudaMalloc(&count, 4 * sizeof(int));
  cudaMemcpy(x, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(y, 0, n * sizeof(int));
  collectives<<<1, threads>>>(x, count, y);
  const auto is = [&](const int* p, std::vector<int> want) {
    std::vector<int> got(want.size());
    cudaMemcpy(got.data(), p, got.size() * sizeof(int), cudaMemcpyDeviceToHost);
    bad += got != want;
  };
  is(count, {n / 4, n / 4, n / 4, n / 4}), is(y, {0}), is(x, {0, 1, 2, 3, 4, 5, 6, 7});

  with_storage([&](void* t, std::size_t& b) { cub::DeviceScan::InclusiveSum(t, b, x, y, 4); });
  is(y, {0, 1, 3, 6});
  with_storage([&](void* t, std::size_t& b) { cub::DevicePartition::If(t, b, x, y, count, 4, is_odd()); });
  is(y, {1, 3, 2, 0}), is(count, {2});
  with_storage([&](void* t, std::size_t& b) { cub::DeviceMergeSort::SortKeys(t, b, y, 4, less_than()); });
  is(y, {0, 1, 2, 3});
  with_storage(
      [&](void* t, std::size_t& b) { cub::DeviceHistogram::HistogramEven(t, b, x, count, 5, 0, 8, 8); });
  is(count, {2, 2, 2, 2});
  with_storage(
      [&](void* t, std::size_t& b) { cub::DeviceRunLengthEncode::Encode(t, b, count, y, y + 4, y + 8, 4); });
  is(y, {2}), is(y + 4, {4}), is(y + 8, {1});
  const int begins[] = {0, 3, 4};
  int* offsets;
  cudaMalloc(&offsets, sizeof begins), cudaMemcpy(offsets, begins, sizeof begins, cudaMemcpyHostToDevice);
  with_storage(
      [&](void* t, std::size_t& b) { cub::DeviceSegmentedReduce::Sum(t, b, x, y, 2, offsets, offsets + 1); });
  is(y, {3, 3});
  with_storage([&](void* t, std::size_t& b) {
    cub::DeviceSegmentedRadixSort::SortKeysDescending(t, b, x, y, 4, 2, offsets, offsets + 1);
  });
  is(y, {2, 1, 0, 3});
  with_storage([&](void* t, std::size_t& b) {
    cub::DeviceSegmentedSort::SortKeys(t, b, y, x, 4, 2, offsets, offsets + 1);
  });
  is(x, {0, 1, 2, 3});
  cub::DeviceFor::Bulk(4, double_it{x}), is(x, {0, 2, 4, 6});
  cudaFree(x), cudaFree(y), cudaFree(count), cudaFree(offsets);
  return bad == 0 ? 0 : std::printf("%d wrong\n", bad);
}
