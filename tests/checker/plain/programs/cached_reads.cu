// SPDX-License-Identifier: Apache-2.0
// Textures, surfaces and constants of what an earlier launch has written, and surfaces updated in place.
// Broken: read through these caches what the same launch has written, be it by the same thread. And memory
// that a kernel has discarded is written before it is read; broken: it is read.
#include <cuda_runtime.h>
#include <cuda/annotated_ptr>
#include <vector>

constexpr int n = 32;
__constant__ int table[n];

__global__ void fill(cudaSurfaceObject_t s, int* linear, int* constants) {
  surf2Dwrite(int(threadIdx.x), s, threadIdx.x * 4, 0);
  linear[threadIdx.x] = constants[threadIdx.x] = threadIdx.x;
}
__global__ void surfaces(cudaSurfaceObject_t s, int* to) {
  const int t = threadIdx.x;
#ifdef BROKEN
  surf2Dwrite(t, s, t * 4, 0);
  __syncthreads();
#endif
  to[t] = surf2Dread<int>(s, (n - 1 - t) * 4, 0);  // FOUND: race
}
__global__ void in_place(cudaSurfaceObject_t s) {
  int v;
  surf2Dread(&v, s, threadIdx.x * 4, 0);
  surf2Dwrite(v + 1, s, threadIdx.x * 4, 0);
}
__global__ void linear_texture(cudaTextureObject_t lines, int* linear, int* to) {
  const int t = threadIdx.x;
#ifdef BROKEN
  linear[t] = t;
#endif
  to[t] = tex1Dfetch<int>(lines, t);  // FOUND: race
}
__global__ void array_texture(cudaSurfaceObject_t s, cudaTextureObject_t array, int* to) {
  const int t = threadIdx.x;
#ifdef BROKEN
  surf2Dwrite(t, s, t * 4, 0);
  __syncthreads();
#endif
  to[t] = tex2D<int>(array, t + 0.5f, 0.5f);  // FOUND: race
}
__global__ void constants(int* written, int* to) {
  const int t = threadIdx.x;
#ifdef BROKEN
  written[t] = t;
  __syncthreads();
#endif
  to[t] = table[n - 1 - t];  // FOUND: race
}
__global__ void discards(int* x) {
  if (threadIdx.x == 0) cuda::discard_memory(x, 128);
  if (threadIdx.x == 1) asm volatile("discard.global.L2 [%0], 128;" ::"l"(x + 32) : "memory");
}
__global__ void again(int* x, int* to) {
  const int t = threadIdx.x;
#ifndef BROKEN
  x[t] = x[32 + t] = t;
#endif
  to[t] = x[t];        // FOUND: uninitialised memory read
  to[t] += x[32 + t];  // FOUND: uninitialised memory read
}

int main() {
  int *linear, *to, *symbol, *x, result[6 * n];
  cudaArray_t a;
  const cudaChannelFormatDesc d = cudaCreateChannelDesc<int>();
  cudaMallocArray(&a, &d, n, 1, cudaArraySurfaceLoadStore);
  cudaMalloc(&linear, n * 4), cudaMalloc(&to, sizeof result), cudaMalloc(&x, 256), cudaMemset(x, 0, 256);
  cudaGetSymbolAddress((void**)&symbol, table);
  cudaResourceDesc of_array{}, of_lines{};
  of_array.resType = cudaResourceTypeArray, of_array.res.array.array = a;
  of_lines.resType = cudaResourceTypeLinear, of_lines.res.linear.devPtr = linear;
  of_lines.res.linear.desc = d, of_lines.res.linear.sizeInBytes = n * 4;
  cudaTextureDesc how{};
  how.readMode = cudaReadModeElementType;
  cudaTextureObject_t array, lines;
  cudaSurfaceObject_t s;
  cudaCreateTextureObject(&array, &of_array, &how, nullptr);
  cudaCreateTextureObject(&lines, &of_lines, &how, nullptr);
  cudaCreateSurfaceObject(&s, &of_array);
  fill<<<1, n>>>(s, linear, symbol);
  surfaces<<<1, n>>>(s, to);
  linear_texture<<<1, n>>>(lines, linear, to + n);
  array_texture<<<1, n>>>(s, array, to + 2 * n);
  constants<<<1, n>>>(symbol, to + 3 * n);
  in_place<<<1, n>>>(s);
  array_texture<<<1, n>>>(s, array, to + 4 * n);
  discards<<<1, n>>>(x);
  again<<<1, n>>>(x, to + 5 * n);
  cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
  cudaDestroyTextureObject(array), cudaDestroyTextureObject(lines), cudaDestroySurfaceObject(s);
  cudaFreeArray(a), cudaFree(linear), cudaFree(to), cudaFree(x);
#ifndef BROKEN
  for (int i = 0; i < n; ++i)
    if (result[i] != n - 1 - i || result[n + i] != i || result[2 * n + i] != i ||
        result[3 * n + i] != n - 1 - i || result[4 * n + i] != i + 1 || result[5 * n + i] != 2 * i)
      return 1;
#endif
  return 0;
}
