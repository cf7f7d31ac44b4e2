// SPDX-License-Identifier: Apache-2.0
// Functions for host and device that differ by __CUDA_ARCH__, in every form: bodies, members, tables,
// constants, functions of one side, lambdas. The host runs its own side, and the device its own. Broken: the
// device's side of one lacks a barrier, and the host's is right.
#include <cmath>
#include <cstdio>
#ifndef __CUDA_ARCH__
#include <map>
static int asked_on_host = 0;
#endif

constexpr int threads = 32;
static const int squares_on_host[4] = {0, 1, 4, 9};
__constant__ int squares_on_device[4] = {0, 1, 4, 9};
#ifdef __CUDA_ARCH__
#define SQUARES squares_on_device
#define EXPECT(condition) \
  if (!(condition)) __trap()
constexpr int side = 1;
enum { other_side = 0 };
__device__ inline float root(float x) { return __fsqrt_rn(x); }
#else
#define SQUARES squares_on_host
#define EXPECT(condition) \
  if (!(condition)) std::fprintf(stderr, "not so\n")
constexpr int side = 0;
enum { other_side = 1 };
inline float root(float x) { return ++asked_on_host, std::sqrt(x); }
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ inline int rank_of_warp() { return threadIdx.x / 32; }
#endif

__host__ __device__ inline int square(int i) {
  EXPECT(i < 4);
  return SQUARES[i];
}
__host__ __device__ inline bool both(int i) { return side == i && other_side == 1 - i; }
__host__ __device__ inline float length(float x, float y) { return root(x * x + y * y); }
__host__ __device__ constexpr int lanes() {
#ifdef __CUDA_ARCH__
  return 32;
#else
  return 1;
#endif
}
__host__ __device__ inline long long time_now() {
#ifdef __CUDA_ARCH__
  return clock64() + rank_of_warp();
#else
  return -1;
#endif
}
__host__ __device__ int later(int n);

template <class T> struct sum_of {
  T value;
  __host__ __device__ explicit sum_of(T v) : value{v} {
#ifdef __CUDA_ARCH__
    value += threadIdx.x;
#endif
  }
  __host__ __device__ T add(T n) {
#ifdef __CUDA_ARCH__
    return (value += n) - n;
#else
    const T before = value;
    value += n;
    return before;
#endif
  }
  __host__ __device__ bool operator==(const sum_of& o) const {
#if !defined(__CUDA_ARCH__)
    std::map<int, T> all{{0, value}, {1, o.value}};
    return all[0] == all[1];
#else
    return __shfl_sync(~0u, value, 0) == o.value;
#endif
  }
  __host__ __device__ T from_first(T v) const;
};
template <class T> __host__ __device__ T sum_of<T>::from_first(T v) const {
#ifdef __CUDA_ARCH__
  return __shfl_sync(~0u, v, 0);
#else
  return v;
#endif
}

struct seeded {
  int value, other;
  __host__ __device__ explicit seeded(int n) : value(n + SQUARES[1] * side), other{SQUARES[n]} {}
};

// Of the neighbor in the block; of the host, its own.
__host__ __device__ inline int of_neighbor(int* place, int i, int v) {
#ifdef __CUDA_ARCH__
  place[i] = v;
#ifndef BROKEN
  __syncthreads();
#endif
  return place[(i + 1) % threads];  // FOUND: race or uninitialised memory read
#else
  return place[i] = v;
#endif
}

__global__ void on_device(int* to) {
  __shared__ int place[threads];
  const int i = threadIdx.x;
  sum_of<int> mine(0);
  int good = both(1) && lanes() == 32 && square(i % 4) == (i % 4) * (i % 4) && length(3, 4) == 5;
  good += seeded(2).value == 3 && seeded(2).other == 4 && time_now() > 0 && later(1) == 2;
  good += mine.value == i && mine.add(2) == i && mine.from_first(i) == 0;
  to[i] = 1000 * good + of_neighbor(place, i, i);
}
template <class F> __global__ void for_each(int* to, F f) { to[threadIdx.x] = f(threadIdx.x); }

__host__ __device__ int later(int n) {
#ifdef __CUDA_ARCH__
  int next = 0;
  asm("add.s32 %0, %1, 1;" : "=r"(next) : "r"(n));
  return next;
#else
  return n + 10;
#endif
}

int main() {
  int *to, got[threads], place[1];
  cudaMalloc(&to, sizeof got);
  on_device<<<1, threads>>>(to);
  cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost);
  for (int i = 0; i < threads; ++i)
    if (got[i] != 3000 + (i + 1) % threads) return 1;
  for_each<<<1, threads>>>(to, [=] __host__ __device__(int i) {
#ifdef __CUDA_ARCH__
    return i + 1;
#else
    return -1;
#endif
  });
  for_each<<<1, threads>>>(to + 0, [=] __device__(int i) {
    EXPECT(i >= 0);
    return i + side;
  });
  cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(to);
  for (int i = 0; i < threads; ++i)
    if (got[i] != i + 1) return 2;
  sum_of<int> mine(3);
  if (!both(0) || lanes() != 1 || square(3) != 9 || length(3, 4) != 5 || time_now() != -1 || later(1) != 11)
    return 3;
  if (seeded(2).value != 2 || seeded(3).other != 9) return 6;
  if (mine.add(2) != 3 || mine.value != 5 || !(mine == sum_of<int>(5)) || mine.from_first(7) != 7) return 4;
#ifndef __CUDA_ARCH__
  if (asked_on_host != 1) return 5;
#endif
  return of_neighbor(place, 0, 6) != 6;
}
