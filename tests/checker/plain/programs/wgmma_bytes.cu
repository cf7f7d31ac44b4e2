// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit numbers by a warpgroup: floating ones of two kinds, and integers with and without a sign.
// Broken: the threads' stores to shared memory are not fenced.
#include <cstdint>
#include <cstdio>

__device__ uint64_t descriptor(const void* p) {  // pieces of 8 x 16 bytes, one after the other
  const uint64_t at = __cvta_generic_to_shared(p) >> 4;
  return at | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32;
}
__device__ int place(int row, int k) { return row / 8 * 256 + k / 16 * 128 + row % 8 * 16 + k % 16; }

__global__ void multiply(const unsigned char* a, const unsigned char* b, float* floats, int* integers) {
  __shared__ alignas(128) unsigned char rows[64 * 32];
  __shared__ alignas(128) unsigned char columns[8 * 32];
  const int t = threadIdx.x;
  for (int i = t; i < 64 * 32; i += 128) rows[place(i / 32, i % 32)] = a[i];
  for (int i = t; i < 8 * 32; i += 128) columns[place(i / 32, i % 32)] = b[i];
#ifndef BROKEN
  asm volatile("fence.proxy.async;" ::: "memory");
#endif
  __syncthreads();
  float f[4] = {1, 1, 1, 1};
  int n[4] = {5, 5, 5, 5};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile(  // FOUND: missing proxy fence
      "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 {%0, %1, %2, %3}, %4, %5, 1, 1, 1;"
      : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
      : "l"(descriptor(rows)), "l"(descriptor(columns)));
  asm volatile(  // FOUND: missing proxy fence
      "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8 {%0, %1, %2, %3}, %4, %5, 1;"
      : "+r"(n[0]), "+r"(n[1]), "+r"(n[2]), "+r"(n[3])
      : "l"(descriptor(rows)), "l"(descriptor(columns)));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i) {
    const int row = t / 32 * 16 + t % 32 / 4 + i / 2 * 8, column = t % 4 * 2 + i % 2;
    floats[row * 8 + column] = f[i], integers[row * 8 + column] = n[i];
  }
}

int main() {
  const unsigned char e4m3[] = {0x38, 0x40, 0xB8, 0x30}, e5m2[] = {0x3C, 0xC0, 0x42};
  const float of_e4m3[] = {1, 2, -1, 0.5f}, of_e5m2[] = {1, -2, 3};
  unsigned char a[64 * 32], b[8 * 32], *rows, *columns;
  float sums[64 * 8], *floats;
  int counts[64 * 8], *integers;
  for (int i = 0; i < 64 * 32; ++i) a[i] = e4m3[i * 7 / 3 % 4];
  for (int i = 0; i < 8 * 32; ++i) b[i] = e5m2[i * 5 / 2 % 3];
  cudaMalloc(&rows, sizeof a), cudaMalloc(&columns, sizeof b);
  cudaMalloc(&floats, sizeof sums), cudaMalloc(&integers, sizeof counts);
  cudaMemcpy(rows, a, sizeof a, cudaMemcpyHostToDevice),
      cudaMemcpy(columns, b, sizeof b, cudaMemcpyHostToDevice);
  multiply<<<1, 128>>>(rows, columns, floats, integers);
  cudaMemcpy(sums, floats, sizeof sums, cudaMemcpyDeviceToHost);
  cudaMemcpy(counts, integers, sizeof counts, cudaMemcpyDeviceToHost);
  cudaFree(rows), cudaFree(columns), cudaFree(floats), cudaFree(integers);
  for (int i = 0; i < 64 * 8; ++i) {
    float sum = 1;
    int count = 5;
    for (int k = 0; k < 32; ++k) {
      const int x = i / 8 * 32 + k, y = i % 8 * 32 + k;
      sum += of_e4m3[x * 7 / 3 % 4] * of_e5m2[y * 5 / 2 % 3];
      count += static_cast<signed char>(a[x]) * b[y];
    }
    if (sums[i] != sum || counts[i] != count)
      return std::printf("%d: %g, %d; expected %g, %d\n", i, sums[i], counts[i], sum, count), 1;
  }
}
