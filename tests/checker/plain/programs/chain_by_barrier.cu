// SPDX-License-Identifier: Apache-2.0
// Sums of blocks in a chain: each block adds to what the block before has published. One thread asks for it,
// and the others learn of it between barriers, in each round. Work without writes comes first. Broken: block
// 1 stops.
#include <cstdio>

constexpr int threads = 96, blocks = 5, work = 60;

__global__ void chain(const int* from, int* to, unsigned long long* state) {
  __shared__ unsigned long long asked;
  __shared__ int parts[threads / 32];
  const int t = threadIdx.x, b = blockIdx.x;
  int sum = from[b * threads + t];
  for (int i = 0; i < work; ++i) sum = __shfl_xor_sync(~0u, sum, 1 + i % 31);
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (t % 32 == 0) parts[t / 32] = sum;
  __syncthreads();
  const unsigned own = parts[0] + parts[1] + parts[2];
  unsigned long long before = 1ull << 32;
  if (b > 0) do {
      if (t == 0) asked = atomicAdd(state + b - 1, 0ull);
      __syncthreads();  // FOUND: deadlock
      before = asked;
      __syncthreads();
    } while (before == 0);
#ifdef BROKEN
  if (b == 1) return;
#endif
  if (t == 0) atomicExch(state + b, before + own);
  to[b * threads + t] = static_cast<int>(before) + static_cast<int>(own);
}

int main() {
  int host[blocks * threads], *from, *to;
  unsigned long long* state;
  for (int i = 0; i < blocks * threads; ++i) host[i] = i % 11 - 3;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof host), cudaMalloc(&state, blocks * sizeof *state);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemset(state, 0, blocks * sizeof *state);
  chain<<<blocks, threads>>>(from, to, state);
  int got[blocks * threads], sum = 0;
  cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to), cudaFree(state);
  for (int b = 0; b < blocks; ++b) {
    for (int t = 0; t < threads; ++t) sum += host[b * threads + t];
    if (got[b * threads + 5 * b] != sum)
      return std::printf("block %d: %d, not %d\n", b, got[b * threads + 5 * b], sum), 1;
  }
}
