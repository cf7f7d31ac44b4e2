// SPDX-License-Identifier: Apache-2.0
// Shared variables whose declaration defines their type or is aligned as one, and pointers to arrays and
// functions. Broken: no barrier after what one thread sets.
#include <cstdio>

constexpr int threads = 32;

__shared__ struct {
  int number[threads];
  int count;
} of_file;

__device__ int twice(int x) { return 2 * x; }

template <int n> __global__ void declared(int* x) {
  __shared__ struct pair { int a, b; } pairs[n];
  __shared__ union {
    int whole;
    char byte[4];
  } word, *place;
  __shared__ int(*rows)[n];
  __shared__ int (*function)(int);
  __shared__ alignas(double2) char as_type[16];
  const int t = threadIdx.x;
  pairs[t] = pair{x[t], t};
  of_file.number[t] = t;
  if (t == 0) {
    of_file.count = n;
    word.whole = 3;
    place = &word;
    rows = reinterpret_cast<int(*)[n]>(x);
    function = twice;
  }
#ifndef BROKEN
  __syncthreads();
#endif
  const int other = pairs[n - 1 - t].b +     // FOUND: race or uninitialised memory read
                    of_file.number[t ^ 1] +  // FOUND: race or uninitialised memory read
                    of_file.count;
  if (t == 0) *reinterpret_cast<double2*>(as_type) = {1, 2};
  const int all = other + place->byte[0] + function(t) + rows[1][t];
  __syncthreads();
  x[t] = all;
}

int main() {
  int h[2 * threads], *x;
  for (int i = 0; i < 2 * threads; ++i) h[i] = i;
  cudaMalloc(&x, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  declared<threads><<<1, threads>>>(x);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x);
  for (int t = 0; t < threads; ++t)
    if (h[t] != threads - 1 - t + (t ^ 1) + threads + 3 + 2 * t + threads + t)
      return std::printf("%d: %d\n", t, h[t]), 1;
}
