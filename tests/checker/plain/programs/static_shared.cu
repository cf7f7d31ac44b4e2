// SPDX-License-Identifier: Apache-2.0
// The most that static arrays may have, 48 KiB; broken: more, whatever the attribute for dynamic ones.
#ifdef BROKEN
#define ROWS 13
#else
#define ROWS 12
#endif

__global__ void fill(int* x) {
  __shared__ int s[ROWS][1024];
  for (int row = 0; row < ROWS; ++row) s[row][threadIdx.x] = row;
  x[threadIdx.x] = s[ROWS - 1][threadIdx.x];
}

int main() {
  int* d;
  cudaMalloc(&d, 32 * sizeof(int));
  cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  fill<<<1, 32>>>(d);  // FOUND: bad launch
  cudaDeviceSynchronize();
  cudaFree(d);
}
