// SPDX-License-Identifier: Apache-2.0
// Blocks pass their running sums on by volatile words, which do not race. Broken: no fence between
// the sum and the flag, so a block that has seen the flag may still read the old sum.
struct told {
  int flag, sum;
};
__global__ void scan(const int* from, int* to, volatile told* by) {
  __shared__ int before;
  const int b = blockIdx.x, x = from[b * 32 + threadIdx.x];
  int sum = x;
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(~0u, sum, step);
    if (threadIdx.x >= step) sum += other;
  }
  const int all = __shfl_sync(~0u, sum, 31);
  if (threadIdx.x == 0) {
    before = 0;
    if (b > 0) {
      while (by[b - 1].flag == 0) {
      }
      __threadfence();
      before = by[b - 1].sum;
    }
    by[b].sum = before + all;
#ifndef BROKEN
    __threadfence();
#endif
    by[b].flag = 1;
  }
  __syncthreads();
  to[b * 32 + threadIdx.x] = before + sum;
}

int main() {
  int h[128], *from, *to;
  told* by;
  for (int i = 0; i < 128; ++i) h[i] = i;
  cudaMalloc(&from, sizeof h), cudaMalloc(&to, sizeof h), cudaMalloc(&by, 4 * sizeof(told));
  cudaMemcpy(from, h, sizeof h, cudaMemcpyHostToDevice), cudaMemset(by, 0, 4 * sizeof(told));
  scan<<<4, 32>>>(from, to, by);
  cudaMemcpy(h, to, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to), cudaFree(by);
  for (int i = 0; i < 128; ++i)
    if (h[i] != i * (i + 1) / 2) return 1;
  return 0;  // FOUND SOMEWHERE: wrong result
}
