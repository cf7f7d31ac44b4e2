// SPDX-License-Identifier: Apache-2.0
// A kernel gets a pointer; broken: to the host's memory.
__global__ void fill(int* x) {
  x[threadIdx.x] = 1;  // FOUND: access outside memory
}

int main() {
  int h[32], *d;
  cudaMalloc(&d, sizeof h);
#ifdef BROKEN
  fill<<<1, 32>>>(h);
#else
  fill<<<1, 32>>>(d);
#endif
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
}
