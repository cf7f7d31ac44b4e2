// SPDX-License-Identifier: Apache-2.0
// Named barriers and barrier 0 count warps: lanes that have returned, or that the last warp does not have,
// are not waited for. Broken: half of the lanes of each warp reach an aligned barrier, and the others the
// kernel's end; the number of arrivals is as it expects. A warp reads after its arrival what the other has
// yet to write.
#include <cstdio>

constexpr int threads = 80, left = 70;

__global__ void reversed(const int* from, int* to) {
  __shared__ int word[threads], next[threads], last[threads];
  const int t = threadIdx.x;
  if (t >= left) return;
  word[t] = from[t];
  asm volatile("bar.sync 1;" ::: "memory");
  next[t] = word[left - 1 - t];
  if (t >= 64)
    asm volatile("bar.arrive 2, 96;" ::: "memory");
  else
    asm volatile("bar.sync 2, 96;" ::: "memory");
  if (t < 64) last[t] = next[left - 1 - t];
  if (t < 32) {
    asm volatile("barrier.sync.aligned 3, %0;" ::"n"(64) : "memory");
    to[t] = last[t + 32];
  } else if (t < 64) {
    asm volatile("barrier.cta.arrive.aligned 3, 64;" ::: "memory");
    to[t] = 0;
  }
}

__global__ void halves(const int* from, int* to) {
  __shared__ int word[128];
  const int t = threadIdx.x;
  word[t] = from[t % left];
#ifdef BROKEN
  if (t % 32 < 16) asm volatile("bar.sync 1, 64;" ::: "memory");  // FOUND: divergent barrier
#else
  asm volatile("bar.sync 0, 128;" ::: "memory");
#endif
  if (t % 32 < 16) to[t / 32 * 16 + t % 16] = word[t ^ 32];
}

// One warp arrives at barrier 0 and goes on, the other waits there; in turns.
__global__ void split(int* to) {
  __shared__ int word[32], back[32];
  const int t = threadIdx.x;
  for (int i = 0; i < 3; ++i) {
    if (t < 32) {
      word[t] = i + t;
      asm volatile("bar.arrive 0, 64;" ::: "memory");
#ifdef BROKEN
      to[t] = back[t];  // FOUND: race or uninitialised memory read
#endif
    } else {
      if (i == 1)
        asm volatile("barrier.sync 0;" ::: "memory");
      else
        asm volatile("bar.sync 0, 64;" ::: "memory");
      back[t - 32] = word[63 - t];
    }
    asm volatile("bar.sync 1, 64;" ::: "memory");
    if (t < 32) to[t] = back[t];
  }
}

int main() {
  int host[left], result[64], *from, *to;
  for (int i = 0; i < left; ++i) host[i] = 7 * i + 3;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof result);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  reversed<<<1, threads>>>(from, to);
  cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; ++i)
    if (result[i] != host[i + 32]) return std::printf("%d is %d\n", i, result[i]), 1;
  split<<<1, 64>>>(to);
  cudaMemcpy(result, to, 128, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; ++i)
    if (result[i] != 2 + 31 - i) return std::printf("split: %d is %d\n", i, result[i]), 1;
  halves<<<1, 128>>>(from, to);
  cudaFree(from), cudaFree(to);
}
