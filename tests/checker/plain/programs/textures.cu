// SPDX-License-Identifier: Apache-2.0
// Textures of linear memory and of an array, and a surface. In the broken one, a kernel on another stream
// fills what the texture reads.
#include <cstdio>

__global__ void fill(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = static_cast<float>(i);
}
__global__ void gather(cudaTextureObject_t from, float* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = tex1Dfetch<float>(from, n - 1 - i);  // FOUND: race
}
__global__ void between(cudaTextureObject_t image, cudaSurfaceObject_t out, int width, int height) {
  const int x = threadIdx.x, y = threadIdx.y;
  if (x < width && y < height) {
    const float v = tex2D<float>(image, x + 1.0f, y + 0.5f);  // halfway to the right
    surf2Dwrite(v, out, x * static_cast<int>(sizeof(float)), y);
  }
}

int main() {
  const int n = 100, width = 7, height = 5;
  int bad = 0;
  float *x, *y, h[n];
  cudaMalloc(&x, n * sizeof(float)), cudaMalloc(&y, n * sizeof(float));
  cudaStream_t one, other;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaResourceDesc linear{};
  linear.resType = cudaResourceTypeLinear;
  linear.res.linear.devPtr = x;
  linear.res.linear.desc = cudaCreateChannelDesc<float>();
  linear.res.linear.sizeInBytes = n * sizeof(float);
  cudaTextureDesc how{};
  how.readMode = cudaReadModeElementType;
  cudaTextureObject_t object = 0;
  cudaCreateTextureObject(&object, &linear, &how, nullptr);
  fill<<<2, 64, 0, one>>>(x, n);
#ifndef BROKEN
  cudaStreamSynchronize(one);
#endif
  gather<<<2, 64, 0, other>>>(object, y, n);
  cudaDeviceSynchronize();
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) bad += h[i] != n - 1 - i;

  cudaArray_t image, out;
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaMallocArray(&image, &floats, width, height);
  cudaMallocArray(&out, &floats, width, height, cudaArraySurfaceLoadStore);
  for (int i = 0; i < n; ++i) h[i] = static_cast<float>(i);
  cudaMemcpy2DToArray(image, 0, 0, h, width * sizeof(float), width * sizeof(float), height,
                      cudaMemcpyHostToDevice);
  cudaResourceDesc array{};
  array.resType = cudaResourceTypeArray;
  array.res.array.array = image;
  how.filterMode = cudaFilterModeLinear;
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  cudaTextureObject_t smooth = 0;
  cudaSurfaceObject_t surface = 0;
  cudaCreateTextureObject(&smooth, &array, &how, nullptr);
  array.res.array.array = out;
  cudaCreateSurfaceObject(&surface, &array);
  between<<<1, dim3(8, 8)>>>(smooth, surface, width, height);
  cudaMemcpy2DFromArray(h, width * sizeof(float), out, 0, 0, width * sizeof(float), height,
                        cudaMemcpyDeviceToHost);
  for (int r = 0; r < height; ++r)
    for (int c = 0; c < width; ++c) bad += h[r * width + c] != r * width + c + (c + 1 < width ? 0.5f : 0);
  cudaDestroyTextureObject(object), cudaDestroyTextureObject(smooth), cudaDestroySurfaceObject(surface);
  cudaFreeArray(image), cudaFreeArray(out), cudaFree(x), cudaFree(y);
  return bad == 0 ? 0 : std::printf("%d wrong\n", bad);
}
