// SPDX-License-Identifier: Apache-2.0
// A kernel is launched to begin before the one in front of it has ended (programmatic dependent launch). It
// reads that one's results without a wait.
#include "buffer.h"

__global__ void scaled(const float* from, float* to) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  cudaTriggerProgrammaticLaunchCompletion();
  to[i] = 2 * from[i];
}

__global__ void hadamard(const float* from, float* to) {
  const int lane = threadIdx.x % 32, i = blockIdx.x * blockDim.x + threadIdx.x;
#ifndef BROKEN
  cudaGridDependencySynchronize();
#endif
  float v = from[i];  // FOUND: race
  for (int h = 1; h < 32; h *= 2) {
    const float other = __shfl_xor_sync(~0u, v, h);
    v = (lane & h) == 0 ? v + other : other - v;
  }
  to[i] = v;
}

int main() {
  const buffer<float> from(256, [](int i) { return i % 32 == 0; }), between(256), to(256);
  scaled<<<4, 64>>>(from, between);
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how = {};
  how.gridDim = dim3(4), how.blockDim = dim3(64), how.attrs = &overlap, how.numAttrs = 1;
  cudaLaunchKernelEx(&how, hadamard, static_cast<const float*>(between.at), to.at);
  return to.differs([](int) { return 2; });
}
