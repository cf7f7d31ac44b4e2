// SPDX-License-Identifier: Apache-2.0
// Read-only loads of what an earlier launch has written. What a thread writes after a load by itself alone
// is a pedantic race. Broken: of what the same launch writes, before or after the load.
#include <cstdio>

__global__ void fill(int* x) { x[threadIdx.x] = 3 * threadIdx.x; }
__global__ void behind_a_barrier(int* x, int* to) {
  const int t = threadIdx.x;
#ifdef BROKEN
  x[t] = 3 * t;
  __syncthreads();
#endif
  to[t] = __ldg(&x[63 - t]);  // FOUND: race
}
__global__ void by_the_instruction(int4* x, int* to) {
  const int t = threadIdx.x;
#ifdef BROKEN
  x[t] = make_int4(12 * t, 12 * t + 3, 12 * t + 6, 12 * t + 9);
#endif
  int a, b, c, d;
  asm volatile("ld.global.nc.L1::no_allocate.v4.s32 {%0, %1, %2, %3}, [%4];"  // FOUND: race
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "l"(&x[t]));
  to[t] = a + b + c + d;
}
__global__ void in_place(int* x, int* to) {
  const int t = threadIdx.x;
  const int v = __ldg(&x[t]) + __ldg(x);
  __syncthreads();
#ifdef BROKEN
  atomicAdd(&x[t], v);  // FOUND: race
#else
  atomicAdd(&to[t], v);
#endif
}
__global__ void own_alone(int* x) {
  const int t = threadIdx.x;
  const int v = __ldg(&x[t]);
  x[t] = v + 1;  // LETTER: race
}
__global__ void own_last(int* x, int* to) {
  const int t = threadIdx.x;
  int sum = 0;
  for (int i = 1; i >= 0; --i) {
    sum += __ldg(&x[t ^ i]);
    __syncwarp();
  }
#ifdef BROKEN
  x[t] = sum;  // FOUND: race
#else
  to[t] = sum;
#endif
}
__global__ void by_another_block(int* x, int* to) {
  if (blockIdx.x == 0) to[threadIdx.x] = __ldg(&x[threadIdx.x]);
#ifdef BROKEN
  if (blockIdx.x == 1 && threadIdx.x == 5) x[5] = 1;  // FOUND: race
#endif
}

int main() {
  int *x, *to, result[64];
  cudaMalloc(&x, sizeof result), cudaMalloc(&to, 2 * sizeof result);
  fill<<<1, 64>>>(x);
  behind_a_barrier<<<1, 64>>>(x, to);
  by_the_instruction<<<1, 16>>>(reinterpret_cast<int4*>(x), to);
  in_place<<<1, 64>>>(x, to);
  own_last<<<1, 64>>>(x, to + 64);
  own_alone<<<1, 64>>>(x);
  fill<<<1, 64>>>(x);  // a later launch may write it
  by_another_block<<<2, 64>>>(x, to);
  cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(to);
  return result[20] == 60 ? 0 : 1;
}
