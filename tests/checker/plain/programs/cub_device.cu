// SPDX-License-Identifier: Apache-2.0
// CUB's algorithms for a whole device. The broken one shares temporary storage between two
// streams, and sorts in storage that has the size for a sum.
#include <cub/cub.cuh>
#include <cub/device/device_scan.cuh>

#include <cstdio>

struct is_even {
  __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};

__global__ void fill(int* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = (i * 37) % n;
}

int main() {
  const int n = 150;
  cudaStream_t one, other;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  int *x, *y, *sum, *count;
  cudaMalloc(&x, n * sizeof(int)), cudaMalloc(&y, n * sizeof(int));
  cudaMalloc(&sum, sizeof(int)), cudaMalloc(&count, sizeof(int));
  void* temp = nullptr;
  std::size_t bytes = 0, more = 0;
  cub::DeviceReduce::Sum(nullptr, bytes, x, sum, n, one);
  cub::DeviceRadixSort::SortKeys(nullptr, more, x, y, n, 0, 32, other);
  if (bytes < more) bytes = more;
  cub::DeviceSelect::If(nullptr, more, x, y, count, n, is_even());
  if (bytes < more) bytes = more;
  cudaMalloc(&temp, bytes);
  fill<<<1, 64, 0, one>>>(x, n);
  cub::DeviceReduce::Sum(temp, bytes, x, sum, n, one);
#ifndef BROKEN
  cudaStreamSynchronize(one);
#endif
  cub::DeviceRadixSort::SortKeys(temp, bytes, x, y, n, 0, 32, other);  // FOUND: race or overwritten in use
  cudaDeviceSynchronize();
  void* small = nullptr;
  std::size_t for_sum = 0;
  cub::DeviceReduce::Sum(nullptr, for_sum, x, sum, n);
  cub::DeviceRadixSort::SortKeys(nullptr, more, x, y, n);
#ifdef BROKEN
  cudaMalloc(&small, for_sum);
#else
  cudaMalloc(&small, more);
#endif
  cub::DeviceRadixSort::SortKeys(small, more, x, y, n);  // FOUND: access outside memory
  cudaFree(small);
  int numbers[n], total = 0, evens = 0;
  cudaMemcpy(numbers, y, sizeof numbers, cudaMemcpyDeviceToHost);
  cudaMemcpy(&total, sum, sizeof total, cudaMemcpyDeviceToHost);
  cub::DeviceSelect::If(temp, bytes, x, y, count, n, is_even());
  cudaMemcpy(&evens, count, sizeof evens, cudaMemcpyDeviceToHost);
  int bad = total != n * (n - 1) / 2 || evens != n / 2;
  for (int i = 0; i < n; ++i) bad += numbers[i] != i;
  cudaFree(x), cudaFree(y), cudaFree(sum), cudaFree(count), cudaFree(temp);
  return bad == 0 ? 0 : std::printf("%d wrong\n", bad);
}
