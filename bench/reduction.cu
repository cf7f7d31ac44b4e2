// SPDX-License-Identifier: Apache-2.0
// The sum of 2^20 numbers: each thread adds its own, then the block halves them in shared memory.
__global__ void sum(const float* from, float* to, int n) {
  __shared__ float part[256];
  const int t = threadIdx.x;
  float mine = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) mine += from[i];
  part[t] = mine;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) part[t] += part[t + half];
  }
  if (t == 0) to[blockIdx.x] = part[0];
}

int main() {
  const int n = 1 << 20, blocks = 64;
  float *from, *to;
  cudaMalloc(&from, n * 4), cudaMalloc(&to, blocks * 4);
  cudaMemset(from, 0, n * 4);
  for (int i = 0; i < 4; ++i) sum<<<blocks, 256>>>(from, to, n);
  cudaFree(from), cudaFree(to);
}
