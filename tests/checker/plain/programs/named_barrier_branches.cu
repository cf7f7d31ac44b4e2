// SPDX-License-Identifier: Apache-2.0
// Lanes of a warp that come to a barrier by two ways: those of barrier.sync may, which waits for both.
// Broken, it is bar.sync, which is aligned: all lanes of the warp come to the same one.
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
