// SPDX-License-Identifier: Apache-2.0
// cuda::std in kernels. The broken one reads the other threads' parts of an array without a barrier.
#include <cuda/std/array>
#include <cuda/std/cmath>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/variant>

#include <cstdio>

__device__ cuda::std::tuple<int, float> halves(int i) { return cuda::std::make_tuple(i / 2, 0.5f * i); }
template <class T> __device__ T lowest() {
  static_assert(cuda::std::is_arithmetic_v<T>);
  return cuda::std::numeric_limits<T>::lowest();
}

__global__ void compute(float* to, int n) {
  const int t = threadIdx.x;
  __shared__ cuda::std::array<float, 64> part;
  cuda::std::span<float> all(to, n);
  cuda::std::optional<float> odd;
  const auto [whole, exact] = halves(t);
  if (whole + whole != t) odd = exact;
  cuda::std::variant<int, float> either = exact;
  part[t] = odd.value_or(lowest<float>());
#ifndef BROKEN
  __syncthreads();
#endif
  const float other = part[63 - t];  // FOUND: race or uninitialised memory read
  all[t] = cuda::std::fabs(other) < 100 ? other : cuda::std::get<float>(either);
}

int main() {
  float *x, h[64];
  cudaMalloc(&x, sizeof h);
  compute<<<1, 64>>>(x, 64);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x);
  int bad = 0;
  for (int t = 0; t < 64; ++t) bad += h[t] != (t % 2 == 0 ? (63 - t) * 0.5f : t * 0.5f);
  return bad == 0 ? 0 : std::printf("%d wrong\n", bad);
}
