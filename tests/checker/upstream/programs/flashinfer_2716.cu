// SPDX-License-Identifier: Apache-2.0
// Kernels are launched to overlap, and wait by griddepcontrol.wait. A macro that was not set compiled these
// waits to nothing, in all kernels: the product reads what is being quantised.
#include "buffer.h"

__device__ void wait_for_kernels_before() {
#ifndef BROKEN
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__global__ void quantise(const float* from, int* to) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  wait_for_kernels_before();
  asm volatile("griddepcontrol.launch_dependents;");
  to[i] = static_cast<int>(from[i] * 4);
}

__global__ void product(const int* a, int* to) {
  __shared__ int row[64];
  wait_for_kernels_before();
  row[threadIdx.x] = a[blockIdx.x * 64 + threadIdx.x];  // FOUND: race
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += row[i];
  to[blockIdx.x * 64 + threadIdx.x] = sum;
}

template <class... P, class... A> void launch(void (*kernel)(P...), A... given) {
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how = {};
  how.gridDim = dim3(4), how.blockDim = dim3(64), how.attrs = &overlap, how.numAttrs = 1;
  cudaLaunchKernelEx(&how, kernel, P(given)...);
}

int main() {
  const buffer<float> from(256, [](int) { return 0.5f; });
  const buffer<int> between(256), to(256);
  launch(quantise, from.at, between.at);
  launch(product, between.at, to.at);
  return to.differs([](int) { return 128; });
}
