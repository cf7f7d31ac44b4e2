// SPDX-License-Identifier: Apache-2.0
// Neighbours in a row of a tile; broken: the last thread of a row reads the next row's number, which is still
// within the array.
__global__ void differences(int* x) {
  __shared__ int tile[8][8];
  tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 8 + threadIdx.x];
  __syncthreads();
#ifdef BROKEN
  const int next = tile[threadIdx.y][threadIdx.x + 1];  // FOUND: access outside memory
#else
  const int next = threadIdx.x + 1 < 8 ? tile[threadIdx.y][threadIdx.x + 1] : 0;
#endif
  __syncthreads();
  x[threadIdx.y * 8 + threadIdx.x] = next - tile[threadIdx.y][threadIdx.x];
}

int main() {
  int h[64], *d;
  for (int i = 0; i < 64; ++i) h[i] = i * i;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  differences<<<1, dim3(8, 8)>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
}
