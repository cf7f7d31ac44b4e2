// SPDX-License-Identifier: Apache-2.0
// Sums of a block by a tree. Threads that return early are not waited for, so the others' barrier is correct.
// Broken: the barrier is inside the branch, and threads that do not take it run on to the end of the
// kernel.
__global__ void sum(const int* from, int* to, int n) {
  __shared__ int part[64];
  const int t = threadIdx.x;
  if (blockIdx.x * 64 + t >= n) {
    part[t] = 0;
  } else {
    part[t] = from[blockIdx.x * 64 + t];
  }
  __syncthreads();
#ifndef BROKEN
  if (t >= 32) return;
#endif
  for (int half = 32; half > 0; half /= 2) {
    if (t < half) {
      part[t] += part[t + half];
#ifdef BROKEN
      __syncthreads();  // FOUND: divergent barrier
#endif
    }
#ifndef BROKEN
    __syncthreads();
#endif
  }
  if (t != 0) return;
  to[blockIdx.x] = part[0];
}

int main() {
  int h[100], sums[2], *from, *to;
  for (int i = 0; i < 100; ++i) h[i] = i;
  cudaMalloc(&from, sizeof h), cudaMalloc(&to, sizeof sums);
  cudaMemcpy(from, h, sizeof h, cudaMemcpyHostToDevice);
  sum<<<2, 64>>>(from, to, 100);
  cudaMemcpy(sums, to, sizeof sums, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  return sums[0] + sums[1] == 99 * 50 ? 0 : 1;
}
