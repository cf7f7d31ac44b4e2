// SPDX-License-Identifier: Apache-2.0
// A stream waits for the default one, unless it is non-blocking, and frees its memory in stream order.
// Broken: it does not wait, not even for work that was queued before it was created, nor for a copy from
// pageable memory, whose call returns when the host's memory has been read.
__global__ void fill(int* p, int v) { p[threadIdx.x] = v; }
__global__ void move(const int* a, int* b) { b[threadIdx.x] = a[threadIdx.x]; }  // FOUND: race
__global__ void take(const int* a, int* b) { b[threadIdx.x] = a[threadIdx.x]; }  // FOUND: race
__global__ void twice(int* a) { a[threadIdx.x] *= 2; }                           // FOUND: race

int main() {
  int *a, *b, *c, *d, h[32] = {};
  cudaMalloc(&c, 384), cudaMalloc(&d, 128);
  fill<<<1, 32>>>(c, 6);
  fill<<<1, 32>>>(c + 64, 6);  // the launch before it is not ordered, either
  cudaStream_t s;
#ifdef BROKEN
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
#else
  cudaStreamCreate(&s);
#endif
  cudaMallocAsync(&a, 128, s), cudaMalloc(&b, 128);
  take<<<1, 32, 0, s>>>(c, c + 32);
  cudaMemcpy(d, h, 128, cudaMemcpyHostToDevice);
  twice<<<1, 32, 0, s>>>(d);
  fill<<<1, 32, 0, s>>>(a, 5);
  move<<<1, 32>>>(a, b);
  cudaFreeAsync(a, s);
  cudaMemcpy(h, b, 128, cudaMemcpyDeviceToHost);
  cudaFree(b), cudaFree(c), cudaFree(d), cudaStreamDestroy(s);
  return h[7] == 5 ? 0 : 1;
}
