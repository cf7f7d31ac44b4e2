// SPDX-License-Identifier: Apache-2.0
// A queue runs its kernels in a stream that does not wait for the default one, and copies by cudaMemcpy, in
// the default stream: it reads what the kernel has not written yet.
#include <vector>

#include "buffer.h"

constexpr int n = 128;

__global__ void fill(int* to) { to[blockIdx.x * 32 + threadIdx.x] = blockIdx.x; }

int main() {
  const buffer<int> x(n);
  std::vector<int> host(n);
  cudaStream_t queue;
#ifdef BROKEN
  cudaStreamCreateWithFlags(&queue, cudaStreamNonBlocking);
#else
  cudaStreamCreateWithFlags(&queue, cudaStreamDefault);
#endif
  cudaDeviceSynchronize();
  fill<<<n / 32, 32, 0, queue>>>(x);
  cudaMemcpy(host.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost);  // FOUND: race
  cudaStreamSynchronize(queue);
  cudaStreamDestroy(queue);
  for (int i = 0; i < n; ++i)
    if (host[i] != i / 32) return 1;
}
