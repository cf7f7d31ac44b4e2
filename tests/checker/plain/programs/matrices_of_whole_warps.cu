// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix and movmatrix by all lanes of a warp. Broken: half of them have returned.
#include <cuda_runtime.h>

__global__ void load(unsigned* to) {
  __shared__ alignas(16) unsigned short tile[64];
  const int t = threadIdx.x;
  tile[t] = t, tile[32 + t] = 32 + t;
  __syncwarp();
#ifdef BROKEN
  if (t >= 16) return;
#endif
  unsigned r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"  // FOUND: barrier misuse
               : "=r"(r)
               : "r"((unsigned)__cvta_generic_to_shared(tile + t % 8 * 8)));
  to[t] = r;
}
__global__ void store(unsigned* to) {
  __shared__ alignas(16) unsigned tile[32];
  const int t = threadIdx.x;
#ifdef BROKEN
  if (t >= 16) return;
#endif
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::  // FOUND: barrier misuse
               "r"((unsigned)__cvta_generic_to_shared(tile + t % 8 * 4)),
               "r"(t));
  __syncwarp();
  to[t] = tile[t];
}
__global__ void transpose(unsigned* to) {
  const int t = threadIdx.x;
#ifdef BROKEN
  if (t >= 16) return;
#endif
  unsigned r;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(t));  // FOUND: barrier misuse
  to[t] = r;
}

int main() {
  unsigned *x, h[96];
  cudaMalloc(&x, sizeof h);
  load<<<1, 32>>>(x);
  store<<<1, 32>>>(x + 32);
  transpose<<<1, 32>>>(x + 64);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x);
#ifdef BROKEN
  return 0;
#else
  return h[1] == (2 | 3 << 16) && h[32 + 9] == 9 ? 0 : 1;
#endif
}
