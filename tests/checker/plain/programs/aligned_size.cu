// SPDX-License-Identifier: Apache-2.0
// Copies of a group and of a pipeline whose addresses and sizes are multiples of what cuda::aligned_size_t
// guarantees. Broken: a size is not.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

__global__ void copies(const int* from, int* to) {
  __shared__ alignas(16) int tile[64], other[64];
  const cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, tile + 2, from + 4, cuda::aligned_size_t<8>(64));
  cg::wait(block);
#ifdef BROKEN
  const int bytes = 132;
#else
  const int bytes = 128;
#endif
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  if (threadIdx.x == 0)
    cuda::memcpy_async(other, from, cuda::aligned_size_t<16>(bytes), pipe);  // FOUND: bad copy
  pipe.producer_commit();
  pipe.consumer_wait();
  block.sync();
  if (threadIdx.x < 16) to[threadIdx.x] = tile[2 + threadIdx.x] + other[threadIdx.x];
  pipe.consumer_release();
}

int main() {
  int host[64], result[16], *from, *to;
  for (int i = 0; i < 64; ++i) host[i] = 3 * i;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof result);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  copies<<<1, 32>>>(from, to);
  cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  for (int i = 0; i < 16; ++i)
    if (result[i] != host[i + 4] + host[i]) return 1;
}
