// SPDX-License-Identifier: Apache-2.0
// One warp writes, another reads, by named barriers and by an arrival with copies. Broken: the writer does
// not wait until its words have been read.
#include <cstdint>
#include <cstdio>

__global__ void roles(const int* from, int* to) {
  __shared__ int word[32], copied[32];
  __shared__ uint64_t landed;
  const int t = threadIdx.x % 32;
  const auto at = [](const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); };
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at(&landed)));
  __syncthreads();
  if (threadIdx.x < 32) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(&copied[t])), "l"(from + 96 + t));
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(at(&landed)) : "memory");
    for (int i = 0; i < 3; ++i) {
#ifndef BROKEN
      if (i > 0) asm volatile("barrier.sync 2, 64;" ::: "memory");
#endif
      word[t] = from[32 * i + t];  // FOUND: overwritten in use
      asm volatile("bar.arrive 1, %0;" ::"r"(64) : "memory");
    }
    return;
  }
  for (int i = 0; i < 3; ++i) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    to[32 * i + t] = word[31 - t];
#ifndef BROKEN
    if (i < 2) asm volatile("bar.cta.arrive 2, 64;" ::: "memory");
#endif
  }
  unsigned done = 0;
  while (done == 0)
    asm volatile(
        "{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n\tselp.b32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(at(&landed)), "r"(0));
  to[96 + t] = copied[31 - t];
}

int main() {
  int host[128], result[128], *from, *to;
  for (int i = 0; i < 128; ++i) host[i] = 5 * i + 2;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof host);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  roles<<<1, 64>>>(from, to);
  cudaMemcpy(result, to, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  for (int i = 0; i < 128; ++i)
    if (result[i] != host[i / 32 * 32 + 31 - i % 32]) return std::printf("%d is %d\n", i, result[i]), 1;
}
