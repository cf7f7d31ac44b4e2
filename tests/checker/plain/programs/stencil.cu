// SPDX-License-Identifier: Apache-2.0
// Sums of seven neighbours with a halo in shared memory; broken: the right halo exceeds the input.
#include <vector>
#define RADIUS 3
#define BLOCK 64

__global__ void stencil(const int* in, int* out, int n) {
  __shared__ int tile[BLOCK + 2 * RADIUS];
  const int i = threadIdx.x + blockIdx.x * blockDim.x, l = threadIdx.x + RADIUS;
  tile[l] = i < n ? in[i] : 0;
  if (threadIdx.x < RADIUS) {
    tile[l - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0;
#ifdef BROKEN
    tile[l + BLOCK] = in[i + BLOCK];  // FOUND: access outside memory
#else
    tile[l + BLOCK] = i + BLOCK < n ? in[i + BLOCK] : 0;
#endif
  }
  __syncthreads();
  int sum = 0;
  for (int d = -RADIUS; d <= RADIUS; ++d) sum += tile[l + d];
  if (i < n) out[i] = sum;
}

int main() {
  const int n = 150;
  std::vector<int> h(n, 1);
  int *in, *out;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  stencil<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, n);
  cudaMemcpy(h.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  return h[RADIUS] == 7 && h[0] == 4 ? 0 : 1;
}
