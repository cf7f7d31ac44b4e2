// SPDX-License-Identifier: Apache-2.0
// Copies and sets whose sizes fit: pitches, CUDA arrays, symbols, the heap of kernels, vectors of the host.
// Broken: each beyond what there is, which CUDA refuses, or which corrupts the host's memory.
#include <cuda_runtime.h>
#include <cstdlib>
#include <vector>
#ifdef BROKEN
constexpr bool right = false;
#else
constexpr bool right = true;
#endif

constexpr int columns = 8, rows = 4;
__constant__ int factors[8];

// 16 numbers a thread, of a heap of 1 MB, and then all of it.
__global__ void take(int** all, int* missing) {
  all[threadIdx.x] = static_cast<int*>(malloc(64));
  all[threadIdx.x][0] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) *missing = malloc(2 << 20) == nullptr;
}
__global__ void give(int** all, int* to) {
  to[threadIdx.x] = all[threadIdx.x][0];
  free(all[threadIdx.x]);
#ifdef BROKEN
  if (threadIdx.x == 0) free(all[0]);  // FOUND: access outside memory
  if (threadIdx.x == 1) free(to);      // FOUND: access outside memory
#endif
}

int main() {
  int *x, *host, result[32];
  std::size_t heap = 0;
  cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20);
  cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize);
  cudaMalloc(&x, 1024), cudaMallocHost(&host, 1024);
  for (int i = 0; i < 256; ++i) host[i] = i;
  const std::size_t row = columns * sizeof(int), narrow = right ? row : row / 2;

  cudaMemcpy2D(x, row, host, narrow, row, rows, cudaMemcpyHostToDevice);  // FOUND: bad copy
  cudaMemset2D(x, narrow, 0, row, rows);                                  // FOUND: bad copy

  const cudaChannelFormatDesc d = cudaCreateChannelDesc<int>();
  cudaArray_t a;
  cudaMallocArray(&a, &d, columns, rows);
  const std::size_t wide = right ? row : row + 4;
  cudaMemcpy2DToArray(a, 0, 0, host, wide, wide, rows - 1, cudaMemcpyHostToDevice);     // FOUND: bad copy
  cudaMemcpy2DToArray(a, right ? 0 : 4, 0, host, row, row, 1, cudaMemcpyHostToDevice);  // FOUND: bad copy
  cudaMemcpy3DParms box{};
  box.srcPtr = make_cudaPitchedPtr(host, row, columns, rows), box.dstArray = a;
  box.extent = make_cudaExtent(columns, right ? rows : rows + 1, 1), box.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&box);  // FOUND: bad copy
  cudaFreeArray(a);

  cudaMemcpyToSymbolAsync(factors, host, right ? 32 : 48, 0, cudaMemcpyHostToDevice);  // FOUND: bad copy
  cudaDeviceSynchronize();

  int **all, *first, missing = 0;
  cudaMalloc(&all, 32 * sizeof(int*));
  take<<<1, 32>>>(all, x);
  cudaMemcpy(&missing, x, sizeof missing, cudaMemcpyDeviceToHost);
  cudaMemcpy(&first, all, sizeof first, cudaMemcpyDeviceToHost);
  if (!right) cudaMemcpy(result, first, 4, cudaMemcpyDeviceToHost);  // FOUND: bad copy
  if (!right) cudaMemset(first, 0, 4);                               // FOUND: bad copy
  give<<<1, 32>>>(all, x);
  cudaMemcpy(result, x, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(all);

  char* grown = static_cast<char*>(std::malloc(128));
  grown = static_cast<char*>(std::realloc(grown, 1024));
  cudaMemcpy(grown, x, 1024, cudaMemcpyDeviceToHost);
  std::free(grown);
  std::vector<int> small(right ? 64 : 32), large(64, 1);
  cudaMemcpy(x, large.data() + 32, 128, cudaMemcpyHostToDevice);
  cudaMemcpy(small.data(), x, 256, cudaMemcpyDeviceToHost);  // FOUND: bad copy
  cudaFree(x), cudaFreeHost(host);
  return right && (missing != 1 || heap != 1 << 20 || result[31] != 31 || small[0] != 1) ? 1 : 0;
}
