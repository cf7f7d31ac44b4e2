// SPDX-License-Identifier: Apache-2.0
// Blocks that pass numbers on: red.release and ld.acquire as in CUTLASS's barriers. Broken: the flag
// is read without an acquire.
#include <cstdio>

__global__ void hand_on(int* data, int* flag) {
  const int t = threadIdx.x, next = blockIdx.x + 1;
  if (blockIdx.x > 0 && t == 0) {
    int seen = 0;
    while (seen < static_cast<int>(blockIdx.x)) {
#ifdef BROKEN
      asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];\n" : "=r"(seen) : "l"(flag));
#else
      asm volatile("ld.global.acquire.gpu.b32 %0, [%1];\n" : "=r"(seen) : "l"(flag));
#endif
    }
  }
  __syncthreads();
  int mine;
  asm volatile(  // FOUND: race
      "ld.global.L1::no_allocate.s32 %0, [%1 + 0];"
      : "=r"(mine)
      : "l"(data + blockIdx.x * 32 + 31 - t));
  asm volatile("st.global.wt.b32 [%0], %1;" ::"l"(data + next * 32 + t), "r"(mine + 1) : "memory");
  asm volatile("bar.sync 0;" ::: "memory");
  asm volatile("{ .reg .pred p; setp.eq.s32 p, %2, 0; @p red.release.gpu.global.add.s32 [%0], %1; }\n"
               :
               : "l"(flag), "r"(1), "r"(t));
}

int main() {
  int host[4 * 32] = {}, *data, *flag;
  for (int i = 0; i < 32; ++i) host[i] = i;
  cudaMalloc(&data, sizeof host), cudaMalloc(&flag, 4);
  cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice), cudaMemset(flag, 0, 4);
  void* arguments[] = {&data, &flag};
  cudaLaunchCooperativeKernel((void*)hand_on, dim3(3), dim3(32), arguments, 0, 0);
  cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(data), cudaFree(flag);
  for (int i = 0; i < 32; ++i)
    if (host[96 + i] != 31 - i + 3) return std::printf("%d is %d\n", i, host[96 + i]), 1;
}
