// SPDX-License-Identifier: Apache-2.0
// Cooperative launches of as many blocks as the occupancy calculator allows. Broken: of more than any GPU of
// compute capability 9.0 holds at once, by their number, their threads, or their shared memory.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

__global__ void count(int* sum, int* to) {
  extern __shared__ int unused[];
  const auto grid = cooperative_groups::this_grid();
  if (threadIdx.x == 0) atomicAdd(sum, 1);
  grid.sync();
  if (grid.thread_rank() == 0) *to = *sum;
}
int launch(int blocks, int threads, std::size_t shared, int* x) {
  cudaMemset(x, 0, 4);
  int* to = x + 1;
  void* arguments[] = {&x, &to};
  int result = 0;
#ifdef BROKEN
  const cudaError_t wanted = cudaErrorCooperativeLaunchTooLarge;
#else
  const cudaError_t wanted = cudaSuccess;
#endif
  const dim3 grid(blocks), block(threads);
  const cudaError_t e =
      cudaLaunchCooperativeKernel((void*)count, grid, block, arguments, shared, 0);  // FOUND: bad launch
  if (e != wanted) return -1;
  cudaMemcpy(&result, to, 4, cudaMemcpyDeviceToHost);
  return result;
}
int occupancy(int threads, std::size_t shared) {
  int blocks = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, count, threads, shared);
  return blocks;
}

int main() {
  int* x;
  cudaMalloc(&x, 8);
  cudaFuncSetAttribute(count, cudaFuncAttributeMaxDynamicSharedMemorySize, 150000);
  if (occupancy(32, 0) != 32 || occupancy(1000, 0) != 2 || occupancy(32, 150000) != 1 ||
      occupancy(32, 40000) != 5)
    return 1;
#ifdef BROKEN
  if (launch(5000, 32, 0, x) < 0 || launch(300, 1024, 0, x) < 0 || launch(400, 32, 150000, x) < 0) return 1;
#else
  if (launch(32, 32, 0, x) != 32 || launch(4, 32, 150000, x) != 4) return 1;
#endif
  cudaFree(x);
  return 0;
}
