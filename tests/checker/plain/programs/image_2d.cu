// SPDX-License-Identifier: Apache-2.0
// An image flipped vertically, in two dimensions with a pitch; broken: blocks of 64 x 32 threads.
__global__ void flip(const unsigned char* in, unsigned char* out, std::size_t pitch, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[(height - 1 - y) * pitch + x] = in[y * pitch + x];
}

int main() {
  const int width = 37, height = 19;
  unsigned char h[height][width], *in, *out;
  std::size_t pitch;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) h[y][x] = y * 7 + x;
  cudaMallocPitch(&in, &pitch, width, height);
  cudaMallocPitch(&out, &pitch, width, height);
  cudaMemcpy2D(in, pitch, h, width, width, height, cudaMemcpyHostToDevice);
#ifdef BROKEN
  const dim3 block(64, 32);
#else
  const dim3 block(16, 8);
#endif
  const dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
  flip<<<grid, block>>>(in, out, pitch, width, height);  // FOUND: bad launch
  cudaMemcpy2D(h, width, out, pitch, width, height, cudaMemcpyDeviceToHost);
  cudaFree(in), cudaFree(out);
#ifndef BROKEN
  return h[0][3] == 18 * 7 + 3 ? 0 : 1;
#endif
}
