// SPDX-License-Identifier: Apache-2.0
// The last block to finish adds up the others' sums; broken: no fence publishes these sums.
__device__ unsigned finished = 0;

__global__ void sum(const int* x, int* parts, int* to) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    int mine = 0;
    for (int i = 0; i < 32; ++i) mine += x[blockIdx.x * 32 + i];
    parts[blockIdx.x] = mine;
#ifndef BROKEN
    __threadfence();
#endif
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
#ifndef BROKEN
    __threadfence();
#endif
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  int all = 0;
  for (int i = 0; i < gridDim.x; ++i) all += parts[i];  // FOUND: race
  *to = all;
}

int main() {
  int h[128], *x, *parts, *to, got = 0;
  for (int i = 0; i < 128; ++i) h[i] = i;
  cudaMalloc(&x, sizeof h), cudaMalloc(&parts, 16), cudaMalloc(&to, 4);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  sum<<<4, 32>>>(x, parts, to);
  cudaMemcpy(&got, to, 4, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(parts), cudaFree(to);
  return got == 127 * 64 ? 0 : 1;
}
