// SPDX-License-Identifier: Apache-2.0
// A message from one block to another by cuda::atomic_ref; broken: relaxed, which orders nothing.
#include <cuda/atomic>

#ifdef BROKEN
constexpr auto published = cuda::memory_order_relaxed;
#else
constexpr auto published = cuda::memory_order_release;
#endif

__global__ void send(int* data, int* flag, int* to) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *data = 42;
    ready.store(1, published);
  }
  if (blockIdx.x == 1 && threadIdx.x == 0) {
    while (ready.load(cuda::memory_order_acquire) == 0) {
    }
    *to = *data;  // FOUND: race
  }
}

int main() {
  int *words, got = 0;
  cudaMalloc(&words, 3 * sizeof(int));
  cudaMemset(words, 0, 3 * sizeof(int));
  send<<<2, 32>>>(words, words + 1, words + 2);
  cudaMemcpy(&got, words + 2, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(words);
  return got == 42 ? 0 : 1;
}
