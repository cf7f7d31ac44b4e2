// SPDX-License-Identifier: Apache-2.0
// Threads with 400 KB of local variables, and a recursion of 200 KB: a GPU gives a thread 512 KB. Broken: a
// recursion that takes more than there is.
constexpr int threads = 40, numbers = 100'000;

__global__ void gather(int* to, int n) {
  int own[numbers];
  for (int i = threadIdx.x; i < n; i += 1000) own[i] = i;
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += 1000) sum += own[i] - i + 1;
  to[threadIdx.x] = sum;
}
__device__ __noinline__ int deep(int n, const int* before) {  // FOUND SOMEWHERE: access outside memory
  int own[50];
  for (int i = 0; i < 50; ++i) own[i] = before[i] + 1;
  return n == 0 ? own[7] : deep(n - 1, own) + own[8] - before[8];
}
__global__ void descend(int* to, int n) {
  const int zeros[50] = {};
  to[threadIdx.x] = deep(n, zeros);
}

int main() {
  int *to, got[threads];
  cudaDeviceSetLimit(cudaLimitStackSize, 512 << 10);
  cudaMalloc(&to, sizeof got);
  gather<<<1, threads>>>(to, numbers);
  cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost);
  for (int i = 0; i < threads; ++i)
    if (got[i] != 100) return 1;
#ifdef BROKEN
  constexpr int levels = 100'000;
#else
  constexpr int levels = 800;
#endif
  descend<<<1, threads>>>(to, levels);
  cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(to);
  for (int i = 0; i < threads; ++i)
    if (got[i] != 2 * levels + 1) return 2;
  return 0;
}
