// SPDX-License-Identifier: Apache-2.0
// A fused kernel is launched to overlap the one that writes its residual. It has a wait, but an object made
// in front of the wait already loads the first row.
#include "buffer.h"

constexpr int width = 64, rows = 4;

__global__ void embed(int* residual) {
  cudaTriggerProgrammaticLaunchCompletion();
  residual[blockIdx.x * width + threadIdx.x] = blockIdx.x;
}

struct fused {
  int value;
  __device__ explicit fused(const int* residual)
      : value(residual[blockIdx.x * width + threadIdx.x]) {}  // FOUND: race
};

__global__ void add(const int* residual, const int* x, int* to) {
  const int i = blockIdx.x * width + threadIdx.x;
#ifdef BROKEN
  const fused first(residual);
  cudaGridDependencySynchronize();
#else
  cudaGridDependencySynchronize();
  const fused first(residual);
#endif
  to[i] = first.value + x[i];
}

int main() {
  const buffer<int> residual(width * rows), x(width * rows, [](int) { return 10; }), to(width * rows);
  embed<<<rows, width>>>(residual);
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how = {};
  how.gridDim = dim3(rows), how.blockDim = dim3(width), how.attrs = &overlap, how.numAttrs = 1;
  cudaLaunchKernelEx(&how, add, static_cast<const int*>(residual.at), static_cast<const int*>(x.at), to.at);
  return to.differs([](int i) { return i / width + 10; });
}
