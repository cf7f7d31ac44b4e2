// SPDX-License-Identifier: Apache-2.0
// A texture and a surface in inline PTX. Broken: the surface is read on another stream while it is written.
#include <cstdio>

constexpr int width = 7, height = 5;

__global__ void put(cudaTextureObject_t image, cudaSurfaceObject_t out) {
  const int x = threadIdx.x, y = threadIdx.y;
  float v[4];
  asm volatile("tex.2d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
               : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
               : "l"(image), "r"(width - 1 - x), "r"(y));
  asm volatile("sust.b.2d.b32.trap [%0, {%1, %2}], {%3};" ::"l"(out), "r"(x * 4), "r"(y), "f"(v[0])
               : "memory");
}
__global__ void take(cudaSurfaceObject_t from, float* to) {
  const int x = threadIdx.x, y = threadIdx.y;
  float v;
  asm volatile("suld.b.2d.b32.trap {%0}, [%1, {%2, %3}];"  // FOUND: race
               : "=f"(v)
               : "l"(from), "r"(x * 4), "r"(y));
  to[y * width + x] = v;
}

int main() {
  float numbers[width * height], got[width * height], *to;
  for (int i = 0; i < width * height; ++i) numbers[i] = static_cast<float>(3 * i + 1);
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaArray_t image, out;
  cudaMallocArray(&image, &floats, width, height);
  cudaMallocArray(&out, &floats, width, height, cudaArraySurfaceLoadStore);
  cudaMemcpy2DToArray(image, 0, 0, numbers, width * sizeof(float), width * sizeof(float), height,
                      cudaMemcpyHostToDevice);
  cudaMalloc(&to, sizeof got);
  cudaResourceDesc array{};
  array.resType = cudaResourceTypeArray;
  array.res.array.array = image;
  cudaTextureDesc how{};
  how.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture = 0;
  cudaCreateTextureObject(&texture, &array, &how, nullptr);
  array.res.array.array = out;
  cudaSurfaceObject_t surface = 0;
  cudaCreateSurfaceObject(&surface, &array);
  cudaStream_t one, other;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaDeviceSynchronize();  // the copy into the array
  put<<<1, dim3(width, height), 0, one>>>(texture, surface);
#ifndef BROKEN
  cudaStreamSynchronize(one);
#endif
  take<<<1, dim3(width, height), 0, other>>>(surface, to);
  cudaDeviceSynchronize();
  cudaMemcpy(got, to, sizeof got, cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int i = 0; i < width * height; ++i)
    bad += got[i] != numbers[i / width * width + width - 1 - i % width];

  cudaDestroyTextureObject(texture), cudaDestroySurfaceObject(surface);
  cudaFreeArray(image), cudaFreeArray(out);
  cudaFree(to);
  cudaStreamDestroy(one), cudaStreamDestroy(other);
  std::printf("%d wrong\n", bad);
  return bad != 0;
}
