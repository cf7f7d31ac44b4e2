// SPDX-License-Identifier: Apache-2.0
// Two steps with a grid-wide barrier in between; broken: without it.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void two_steps(int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = i;
#ifndef BROKEN
  cg::this_grid().sync();
#endif
  if (i < n) y[i] = x[n - 1 - i];  // FOUND: uninitialised memory read or race
}

int main() {
  int n = 90, *x, *y, h[90];
  cudaMalloc(&x, n * sizeof(int));
  cudaMalloc(&y, n * sizeof(int));
  void* arguments[] = {&x, &y, &n};
  cudaLaunchCooperativeKernel((void*)two_steps, dim3(3), dim3(32), arguments, 0, 0);
  cudaMemcpy(h, y, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
#ifndef BROKEN
  for (int i = 0; i < n; ++i)
    if (h[i] != n - 1 - i) return 1;
#endif
}
