// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces of one and three dimensions, in arrays. The broken one reads a slice that a kernel on
// another stream writes.
#include <cstdio>

__global__ void slices(cudaSurfaceObject_t to, int depth) {
  for (int z = 0; z < depth; ++z) surf3Dwrite<int>(threadIdx.x + 8 * z, to, threadIdx.x * sizeof(int), 0, z);
}
__global__ void look(cudaTextureObject_t line, cudaTextureObject_t space, cudaSurfaceObject_t one,
                     cudaSurfaceObject_t two, int* to) {
  const int x = threadIdx.x;
  to[x] = tex1D<int>(line, x + 0.5f) + tex3D<int>(space, x + 0.5f, 0.5f, 1.5f);  // FOUND: race
  to[8 + x] = surf1Dread<int>(one, x * sizeof(int)) + surf2Dread<int>(two, x * sizeof(int), 1);
}

int main() {
  int h[16], *to, bad = 0;
  for (int i = 0; i < 16; ++i) h[i] = i;
  const cudaChannelFormatDesc ints = cudaCreateChannelDesc<int>();
  cudaArray_t line, plane, space;
  cudaMallocArray(&line, &ints, 8, 0, cudaArraySurfaceLoadStore);
  cudaMallocArray(&plane, &ints, 8, 2, cudaArraySurfaceLoadStore);
  cudaMalloc3DArray(&space, &ints, make_cudaExtent(8, 1, 2), cudaArraySurfaceLoadStore);
  cudaMemcpyToArray(line, 0, 0, h, 8 * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy2DToArray(plane, 0, 0, h, 8 * sizeof(int), 8 * sizeof(int), 2, cudaMemcpyHostToDevice);
  cudaMalloc(&to, sizeof h), cudaDeviceSynchronize();  // after copies from pageable memory
  cudaTextureDesc how{};
  cudaTextureObject_t lines = 0, spaces = 0;
  cudaSurfaceObject_t one = 0, two = 0, three = 0;
  cudaResourceDesc of{};
  of.resType = cudaResourceTypeArray;
  of.res.array.array = line;
  cudaCreateTextureObject(&lines, &of, &how, nullptr), cudaCreateSurfaceObject(&one, &of);
  of.res.array.array = plane;
  cudaCreateSurfaceObject(&two, &of);
  of.res.array.array = space;
  cudaCreateTextureObject(&spaces, &of, &how, nullptr), cudaCreateSurfaceObject(&three, &of);
  cudaStream_t s, t;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
  slices<<<1, 8, 0, s>>>(three, 2);
#ifndef BROKEN
  cudaStreamSynchronize(s);
#endif
  look<<<1, 8, 0, t>>>(lines, spaces, one, two, to);
  cudaDeviceSynchronize();
  cudaMemcpy(h, to, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 8; ++i) bad += h[i] != i + 8 + i || h[8 + i] != i + 8 + i;
  cudaFreeArray(line), cudaFreeArray(plane), cudaFreeArray(space), cudaFree(to);
  return bad == 0 ? 0 : std::printf("%d wrong\n", bad);
}
