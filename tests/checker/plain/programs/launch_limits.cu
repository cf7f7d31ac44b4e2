// SPDX-License-Identifier: Apache-2.0
// Limits of launches and of handles. Broken: more threads than __launch_bounds__, a cluster of 16 blocks
// that was not allowed, a copy onto its own source, and a stream and an event that have been destroyed.
#include <cooperative_groups.h>
#ifdef BROKEN
constexpr bool right = false;
#else
constexpr bool right = true;
#endif

template <int Threads, int Blocks> struct shape { static constexpr int threads = Threads, blocks = Blocks; };
template <class Shape> __global__ void __launch_bounds__(Shape::threads, 2) number(int* x) {
  x[threadIdx.x] = threadIdx.x;
}
template <class Shape> __global__ void __cluster_dims__(Shape::blocks, 1, 1)
    __launch_bounds__((Shape::threads > 0 ? Shape::threads : 1)) pairs(int* x) {
  cooperative_groups::this_cluster().sync();
  if (threadIdx.x == 0) x[blockIdx.x] += 1;
}
__global__ void together(int* x) {
  cooperative_groups::this_cluster().sync();
  if (threadIdx.x == 0) x[blockIdx.x] += 1;
}

int main() {
  constexpr int n = 64;
  int *x, *y, last = 0;
  cudaMalloc(&x, n * sizeof(int)), cudaMalloc(&y, n * sizeof(int));
  number<shape<n, 2>><<<1, n>>>(x);
  number<shape<right ? n : n / 2, 2>><<<1, n>>>(x);  // FOUND: bad launch
  pairs<shape<n, 2>><<<4, n>>>(x);

  cudaLaunchAttribute of_16;
  of_16.id = cudaLaunchAttributeClusterDimension;
  of_16.val.clusterDim.x = 16, of_16.val.clusterDim.y = of_16.val.clusterDim.z = 1;
  cudaLaunchConfig_t c = {};
  c.gridDim = 16, c.blockDim = 32, c.attrs = &of_16, c.numAttrs = 1;
  if (right) cudaFuncSetAttribute(together, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  cudaLaunchKernelEx(&c, together, x);  // FOUND: bad launch

  cudaStream_t s;
  cudaEvent_t e;
  cudaStreamCreate(&s), cudaEventCreate(&e);
  cudaEventRecord(e, s);
  cudaMemcpyAsync(y, x, n * sizeof(int), cudaMemcpyDeviceToDevice, s);
  int* const shifted = right ? y : x + 1;
  cudaMemcpyAsync(shifted, x, (n - 1) * 4, cudaMemcpyDeviceToDevice, s);  // FOUND: bad copy
  cudaStreamSynchronize(s);
  if (!right) cudaStreamDestroy(s), cudaEventDestroy(e);
  number<shape<n, 2>><<<1, n, 0, s>>>(x);  // FOUND: bad launch
  cudaStreamWaitEvent(nullptr, e);         // FOUND: bad launch
  cudaDeviceSynchronize();
  if (right) cudaStreamDestroy(s), cudaEventDestroy(e);
  cudaMemcpy(&last, y + n - 1, sizeof last, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(y);
  return right && last != n - 1 ? 1 : 0;
}
