// SPDX-License-Identifier: Apache-2.0
// cuda::std in kernels, and hints and views of libcu++. The broken one reads the other threads' parts of an
// array without a barrier, and writes after a matrix.
#include <thrust/limits.h>
#include <cuda/annotated_ptr>
#include <cuda/discard_memory>
#include <cuda/std/array>
#include <cuda/std/cmath>
#include <cuda/std/limits>
#include <cuda/std/mdspan>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/variant>
#include <cuda/stream_ref>

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

using two_rows = cuda::std::extents<int, 2, cuda::std::dynamic_extent>;

// The numbers of a matrix of two rows, column by column; no thread needs the matrix after that.
__global__ void by_columns(float* from, float* to, int columns) {
  const float* const kept = cuda::associate_access_property(from, cuda::access_property::persisting());
  const cuda::std::mdspan rows(kept, two_rows(columns));
  const cuda::std::mdspan<float, cuda::std::dextents<int, 2>, cuda::std::layout_left> turned(to, 2, columns);
  const cuda::annotated_ptr<float, cuda::access_property::streaming> scale(to + 2 * columns);
  const int row = threadIdx.x / columns, column = threadIdx.x % columns;
#ifndef BROKEN
  turned(row, column) = rows(row, column) * *scale;
#else
  turned(row, column + columns) = rows(row, column) * *scale;  // FOUND: access outside memory
#endif
  __syncthreads();
  if (threadIdx.x == 0) cuda::discard_memory(from, 2 * columns * sizeof(float));
}

bool columns_are_right() {
  constexpr int columns = 5;
  float *x, *y, h[2 * columns + 1], back[2 * columns];
  cudaStream_t made;
  cudaStreamCreate(&made);
  const cuda::stream_ref stream(made);
  cudaMalloc(&x, 2 * columns * sizeof(float));
  cudaMalloc(&y, sizeof h);
  for (int i = 0; i < 2 * columns; ++i) h[i] = i;
  h[2 * columns] = 3;
  cudaMemcpyAsync(x, h, 2 * columns * sizeof(float), cudaMemcpyHostToDevice, stream.get());
  cudaMemcpyAsync(y, h, sizeof h, cudaMemcpyHostToDevice, stream.get());
  by_columns<<<1, 2 * columns, 0, stream.get()>>>(x, y, columns);
  cudaMemcpyAsync(back, y, sizeof back, cudaMemcpyDeviceToHost, stream.get());
  stream.sync();
  cudaFree(x);
  cudaFree(y);
  cudaStreamDestroy(made);
  bool right = stream == cuda::stream_ref(made);
  for (int i = 0; i < 2 * columns; ++i) right = right && back[i] == 3 * (i % 2 * columns + i / 2);
  return right;
}

int main() {
  float *x, h[64];
  cudaMalloc(&x, sizeof h);
  compute<<<1, 64>>>(x, 64);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x);
  int bad = columns_are_right() ? 0 : 1;
  for (int t = 0; t < 64; ++t) bad += h[t] != (t % 2 == 0 ? (63 - t) * 0.5f : t * 0.5f);
  return bad == 0 ? 0 : std::printf("%d wrong\n", bad);
}
