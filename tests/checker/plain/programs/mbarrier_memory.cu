// SPDX-License-Identifier: Apache-2.0
// The memory of an mbarrier used for data after mbarrier.inval; pedantic without it. Broken: while
// threads still arrive at it.
#include <cstdint>
#include <cstdio>

__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

template <bool Invalidates> __global__ void reused(int* to) {
  __shared__ uint64_t word;
  const int t = threadIdx.x;
  if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" ::"r"(at(&word)) : "memory");
  __syncthreads();
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(&word)) : "memory");
  asm volatile(
      "{\n.reg .pred p;\nL:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra L;\n}" ::"r"(
          at(&word))
      : "memory");
#ifndef BROKEN
  __syncthreads();
#endif
  if (t == 0) {
    if (Invalidates) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at(&word)) : "memory");
#ifdef BROKEN
    word = 7;  // FOUND: overwritten in use or race
#else
    if (Invalidates)
      word = 7;
    else
      word = 7;  // LETTER: barrier misuse
#endif
  }
  __syncthreads();
  to[t] = static_cast<int>(word);
}

int main() {
  int host[64], *to;
  cudaMalloc(&to, sizeof host);
#ifndef BROKEN
  reused<true><<<1, 64>>>(to);
#endif
  reused<false><<<1, 64>>>(to);
  cudaMemcpy(host, to, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(to);
  return host[63] == 7 ? 0 : 1;
}
