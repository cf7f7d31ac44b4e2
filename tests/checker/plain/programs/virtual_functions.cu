// SPDX-License-Identifier: Apache-2.0
// Kernels call virtual functions of objects that a kernel has constructed. Broken: the host has constructed
// them, in ordinary memory that it copies and in managed memory, so they have the addresses of its functions.
#include <new>

struct shape {
  int size;
  __host__ __device__ explicit shape(int s) : size(s) {}
  __host__ __device__ virtual int area() const { return 0; }
};
struct square : shape {
  using shape::shape;
  __host__ __device__ int area() const override { return size * size; }
};
namespace {
struct line : shape {
  using shape::shape;
  __host__ __device__ int area() const override { return size; }
};
}  // namespace
__global__ void make(square* a, line* b) { new (a) square(3), new (b) line(4); }
__global__ void copied(const shape* a, int* to) {
  to[0] = a->area();  // FOUND: access outside memory
}
__global__ void managed(const shape* b, int* to) {
  to[1] = b->area();  // FOUND: access outside memory
}

int main() {
  square* a;
  line* b;
  int *to, h[2];
  cudaMalloc(&a, sizeof *a), cudaMallocManaged(&b, sizeof *b), cudaMalloc(&to, sizeof h);
#ifdef BROKEN
  const square mine(3);
  cudaMemcpy(a, &mine, sizeof mine, cudaMemcpyHostToDevice);
  new (b) line(4);
#else
  make<<<1, 1>>>(a, b);
#endif
  copied<<<1, 1>>>(a, to);
  managed<<<1, 1>>>(b, to);
  cudaMemcpy(h, to, sizeof h, cudaMemcpyDeviceToHost);
  const int size = b->size;
  cudaFree(a), cudaFree(b), cudaFree(to);
  return h[0] != 9 || h[1] != 4 || size != 4;
}
