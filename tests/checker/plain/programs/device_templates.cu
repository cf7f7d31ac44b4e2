// SPDX-License-Identifier: Apache-2.0
// Variables of the device that templates and inline functions have. Broken: one is counted up without an
// atomic operation.
#include <cstdio>

constexpr int threads = 32;

template <class T> struct counters {
  static __device__ T of_all;
  static inline __device__ T in_line = 3;
  static __device__ int next() {
    static __device__ int local[2] = {10, 20};
    return atomicAdd(&local[1], 1);
  }
};
template <class T> __device__ T counters<T>::of_all = 5;
template <class T> __device__ T of_type = 7;
inline __device__ int shared_by_sources = 9;
__device__ int plain = 11;
inline __device__ int count() {
  static __device__ int plain = 0;
  return atomicAdd(&plain, 1);
}
template <class T> __device__ int count_of() {
  static __device__ int local = 30;
#ifdef BROKEN
  return local++;  // FOUND: race or overwritten in use
#else
  return atomicAdd(&local, 1);
#endif
}

__global__ void add(int* to) {
  atomicAdd(&counters<int>::of_all, 1);
  atomicAdd(&counters<int>::in_line, 1);
  atomicAdd(&of_type<int>, 1);
  atomicAdd(&shared_by_sources, 1);
  atomicAdd(&plain, 1);
  to[threadIdx.x] = counters<int>::next() + count() + count_of<int>();
}
__global__ void sum(int* to) {
  *to = counters<int>::of_all + counters<int>::in_line + of_type<int> + shared_by_sources + plain +
        counters<int>::next() + count() + count_of<int>();
}

int main() {
  int *to, all = 0, of_host = 0;
  cudaMalloc(&to, threads * sizeof(int));
  add<<<1, threads>>>(to);
  sum<<<1, 1>>>(to);
  cudaMemcpy(&all, to, sizeof all, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&of_host, of_type<int>, sizeof of_host);
  cudaFree(to);
  return all != 5 + 3 + 7 + 9 + 11 + 20 + 0 + 30 + 8 * threads || of_host != 7 + threads;
}
