// SPDX-License-Identifier: Apache-2.0
// Lanes of a warp that reach a barrier in two branches: allowed for barrier.sync, which waits for both.
// Broken: bar.sync, which is aligned, so all lanes of the warp must reach the same one.
#ifdef BROKEN
#define AT "bar.sync"
#else
#define AT "barrier.sync"
#endif

__global__ void exchange(const int* from, int* to) {
  __shared__ int word[64];
  const int t = threadIdx.x;
  if (t % 2 == 0) {
    word[t] = from[t];
    asm volatile(AT " 4, 64;" ::: "memory");
  } else {
    word[t] = -from[t];
    asm volatile(AT " 4, 64;" ::: "memory");  // FOUND SOMEWHERE: divergent barrier
  }
  to[t] = word[63 - t];
}

int main() {
  int host[64] = {}, *from, *to;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof host);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  exchange<<<1, 64>>>(from, to);
  cudaFree(from), cudaFree(to);
}
