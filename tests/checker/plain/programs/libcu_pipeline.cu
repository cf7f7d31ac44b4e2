// SPDX-License-Identifier: Apache-2.0
// Two stages of a block-scope pipeline, which are committed without copies for a tile that does not exist;
// broken: no wait until the next stage has been released.
#include <cooperative_groups.h>
#include <cuda/pipeline>

__global__ void sums(const int* from, int* to, int tiles) {
  __shared__ int tile[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cooperative_groups::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int load = 0, use = 0; use < tiles; ++use) {
    for (; load < use + 2; ++load) {
#ifndef BROKEN
      pipe.producer_acquire();
#endif
      if (load < tiles)
        cuda::memcpy_async(block, tile[load % 2], from + 64 * load,  // FOUND: overwritten in use
                           64 * sizeof(int), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += tile[use % 2][63 - threadIdx.x];
    pipe.consumer_release();
  }
  to[threadIdx.x] = sum;
}

int main() {
  int h[5 * 64], *from, *to;
  for (int i = 0; i < 5 * 64; ++i) h[i] = i;
  cudaMalloc(&from, sizeof h), cudaMalloc(&to, 64 * sizeof(int));
  cudaMemcpy(from, h, sizeof h, cudaMemcpyHostToDevice);
  sums<<<1, 64>>>(from, to, 5);
  cudaMemcpy(h, to, 64 * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
#ifndef BROKEN
  return h[63] == 64 * 10 && h[62] == 64 * 10 + 5 ? 0 : 1;
#endif
}
