// SPDX-License-Identifier: Apache-2.0
// Sums of two vectors; broken: one element too many.
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                          \
  do {                                                                                       \
    const cudaError_t e = (call);                                                            \
    if (e != cudaSuccess) std::fprintf(stderr, "%s\n", cudaGetErrorString(e)), std::exit(1); \
  } while (0)

#ifdef BROKEN
#define IS_INSIDE i <= n
#else
#define IS_INSIDE i < n
#endif

__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (IS_INSIDE) c[i] = a[i] + b[i];  // FOUND: access outside memory
}

int main() {
  const int n = 301;
  float *a, *b, *c, h[n];
  for (int i = 0; i < n; ++i) h[i] = i;
  CHECK(cudaMalloc(&a, n * sizeof(float)));
  CHECK(cudaMalloc(&b, n * sizeof(float)));
  CHECK(cudaMalloc((void**)&c, n * sizeof(float)));
  CHECK(cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(b, h, sizeof h, cudaMemcpyHostToDevice));
  add<<<(n + 127) / 128, 128>>>(a, b, c, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(h, c, sizeof h, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i)
    if (h[i] != 2 * i) return 1;
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
}
