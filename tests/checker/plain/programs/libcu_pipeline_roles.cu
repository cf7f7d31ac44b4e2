// SPDX-License-Identifier: Apache-2.0
// A pipeline with one copying and one computing warp; broken: the copying warp does not wait until a stage
// has been released.
#include <cooperative_groups.h>
#include <cuda/pipeline>

__global__ void reversed(const int* from, int* to, int tiles) {
  __shared__ int tile[2][32];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  const auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(cooperative_groups::this_thread_block(), &state, role);
  const int t = threadIdx.x % 32;
  for (int k = 0; k < tiles; ++k) {
    if (role == cuda::pipeline_role::producer) {
#ifndef BROKEN
      pipe.producer_acquire();
#endif
      cuda::memcpy_async(&tile[k % 2][t], &from[k * 32 + t], sizeof(int), pipe);  // FOUND: overwritten in use
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      to[k * 32 + t] = tile[k % 2][31 - t];
      pipe.consumer_release();
    }
  }
}

int main() {
  int h[5 * 32], *from, *to;
  for (int i = 0; i < 5 * 32; ++i) h[i] = i;
  cudaMalloc(&from, sizeof h), cudaMalloc(&to, sizeof h);
  cudaMemcpy(from, h, sizeof h, cudaMemcpyHostToDevice);
  reversed<<<1, 64>>>(from, to, 5);
  cudaMemcpy(h, to, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
#ifndef BROKEN
  return h[33] == 62 ? 0 : 1;
#endif
}
