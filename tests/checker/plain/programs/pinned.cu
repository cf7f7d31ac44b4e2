// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies to pinned memory; broken: read before the stream has been synchronised.
__global__ void fill(int* x) { x[threadIdx.x] = threadIdx.x; }

int main() {
  int *h, *d;
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaMallocHost(&h, 32 * sizeof(int));
  cudaMalloc(&d, 32 * sizeof(int));
  fill<<<1, 32, 0, s>>>(d);
  cudaMemcpyAsync(h, d, 32 * sizeof(int), cudaMemcpyDeviceToHost, s);
#ifndef BROKEN
  cudaStreamSynchronize(s);
#endif
  const int got = h[31];  // FOUND: race
  cudaStreamSynchronize(s);
  cudaFree(d);
  cudaFreeHost(h);
  cudaStreamDestroy(s);
  return got == 31 ? 0 : 1;
}
