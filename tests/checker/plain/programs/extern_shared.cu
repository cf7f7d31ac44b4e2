// SPDX-License-Identifier: Apache-2.0
// Two arrays in dynamic shared memory; broken: the launch allocates only one of them.
extern __shared__ float memory[];

__global__ void swap_halves(float* x) {
  float* const left = memory;
  float* const right = &memory[blockDim.x];
  left[threadIdx.x] = x[threadIdx.x];
  right[threadIdx.x] = x[threadIdx.x + blockDim.x];  // FOUND: access outside memory
  __syncthreads();
  x[threadIdx.x] = right[blockDim.x - 1 - threadIdx.x];
  x[threadIdx.x + blockDim.x] = left[blockDim.x - 1 - threadIdx.x];
}

int main() {
  const int threads = 48;
  float h[2 * threads], *d;
  for (int i = 0; i < 2 * threads; ++i) h[i] = i;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
#ifdef BROKEN
  const std::size_t bytes = threads * sizeof(float);
#else
  const std::size_t bytes = 2 * threads * sizeof(float);
#endif
  swap_halves<<<1, threads, bytes>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
}
