// SPDX-License-Identifier: Apache-2.0
// A program's own variables, parameters and members with the names of CUDA's: on the host, and in kernels
// next to these. Headers of CUDA's with other names for what is there anyway.
#include <channel_descriptor.h>
#include <common_functions.h>
#include <cuda_surface_types.h>
#include <cuda_texture_types.h>
#include <device_double_functions.h>
#include <nvToolsExt.h>
#include <sm_61_intrinsics.h>
#include <math_functions.hpp>

const int warpSize = 32;
struct shape {
  dim3 gridDim, blockDim{64};
  int warpSize = 3;
  explicit shape(dim3 g) : gridDim(g) {}
  unsigned threads() const { return gridDim.x * blockDim.x; }
};
template <int blockDim> __device__ int half() {
  enum { gridDim = 2 };
  return min(blockDim, 1 << 30) / max(1, gridDim);
}
template <class T> __device__ T first(T a) { return a; }
__device__ unsigned flat(uint3 threadIdx, const dim3& blockDim) {
  return threadIdx.y * blockDim.x + threadIdx.x;
}

__global__ void number(unsigned* to, unsigned n) {
  __shared__ unsigned part[64];
  const auto t = threadIdx;
  const unsigned me = flat(threadIdx, blockDim), from = first(blockIdx).x * max(blockDim.x * blockDim.y, 1u);
  part[me] = from + me;
#ifndef BROKEN
  __syncthreads();
#endif
  unsigned copied;
  asm("mov.u32 %0, %1;" : "=r"(copied) : "r"(blockDim.x));
  unsigned v = part[63 - me];  // FOUND: race or uninitialised memory read
  {
    const dim3 gridDim(7);
    v += gridDim.x + warpSize + (copied - blockDim.x) + (t.x - threadIdx.x);
  }
  v += half<6>() - 3;
  if (from + me < n) to[from + me] = v + [=] { return gridDim.y; }();
}
__global__ void plain(int* x, int gridDim) { x[threadIdx.x] = gridDim; }

dim3 blocks_of(unsigned n, dim3 blockDim) {
  const unsigned threads = blockDim.x * blockDim.y;
  return dim3((n + threads - 1) / threads);
}

int main() {
  constexpr int n = 200;
  dim3 blockDim(16), gridDim(blocks_of(n, dim3(16, 4)));
  blockDim.y = 4;
  unsigned* to;
  cudaMalloc(&to, n * sizeof *to);
  nvtxMark("n is 200");
  nvtxRangePush("number");
  number<<<gridDim, blockDim>>>(to, n);
  nvtxRangePop();
  unsigned got[n];
  cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost);
  for (unsigned i = 0; i < n; ++i)
    if (got[i] != i / 64 * 64 + 63 - i % 64 + 7 + 32 + 1) return 1;
  cudaFree(to);

  const shape s(dim3(1));
  const int threadIdx = 5, blockIdx{2}, warpSize = s.warpSize;
  int *x, y[64];
  cudaMalloc(&x, sizeof y);
  const auto launch = [&](const dim3 gridDim, const dim3& blockDim) {
    plain<<<gridDim, blockDim>>>(x, threadIdx);
  };
  launch(s.gridDim, s.blockDim);
  cudaMemcpy(y, x, sizeof y, cudaMemcpyDeviceToHost);
  cudaFree(x);
  {
    dim3 blockDim = 8, gridDim = dim3(4);
    const dim3 threadIdx{1, 2}, blockIdx = {blockDim};
    if (blockDim.x + gridDim.x + threadIdx.y + blockIdx.x != 22) return 2;
  }
  return y[threadIdx] != 5 || blockIdx != 2 || warpSize != 3 || s.threads() != 64;
}
