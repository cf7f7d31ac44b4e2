// SPDX-License-Identifier: Apache-2.0
// A kernel says by a flag that it has read pinned memory, or has had the copy engine write it, and the host
// uses the memory again while the kernel goes on; or a later kernel on the stream says so. Broken: the flag
// comes before the reads; before the copy has landed; from a kernel on another stream.
#include <cuda_runtime.h>
#include <cuda/atomic>

using flag_of_system = cuda::atomic_ref<int, cuda::thread_scope_system>;

__global__ void reads(const int* in, int* flag, int* to) {
  const int t = threadIdx.x;
#ifdef BROKEN
  if (t == 0) flag_of_system(*flag).store(1, cuda::memory_order_release);
#endif
  to[t] = in[t];
  __syncthreads();
#ifndef BROKEN
  if (t == 0) flag_of_system(*flag).store(1, cuda::memory_order_release);
#endif
}
__global__ void sends(int* out, int* flag) {
  __shared__ alignas(16) int tile[32];
  tile[threadIdx.x] = threadIdx.x;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncwarp();
  if (threadIdx.x != 0) return;
  const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(out), "r"(from)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#ifdef BROKEN
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#else
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
  __threadfence_system();
  *reinterpret_cast<volatile int*>(flag) = 1;
}
__global__ void turns(int* x) { x[threadIdx.x] = 31 - x[threadIdx.x]; }
__global__ void tells(int* flag) { flag_of_system(*flag).store(1, cuda::memory_order_release); }
void wait_for(int* flag) {
  while (flag_of_system(*flag).load(cuda::memory_order_acquire) == 0) {
  }
}

int main() {
  int *pinned, *flag, *to, sum = 0;
  cudaHostAlloc(&pinned, 128, cudaHostAllocMapped), cudaHostAlloc(&flag, 4, cudaHostAllocMapped);
  cudaMalloc(&to, 128);
  for (int i = 0; i < 32; ++i) pinned[i] = i;
  *flag = 0;
  reads<<<1, 32>>>(pinned, flag, to);
  wait_for(flag);
  for (int i = 0; i < 32; ++i) pinned[i] = -1;  // FOUND: overwritten in use
  cudaDeviceSynchronize();
  *flag = 0;
  sends<<<1, 32>>>(pinned, flag);
  while (*reinterpret_cast<volatile int*>(flag) == 0) {
  }
  for (int i = 0; i < 32; ++i) sum += pinned[i];  // FOUND: race
  cudaDeviceSynchronize();
  cudaStream_t s, other;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking),
      cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  *flag = 0;
  turns<<<1, 32, 0, s>>>(pinned);
#ifdef BROKEN
  tells<<<1, 1, 0, other>>>(flag);
#else
  tells<<<1, 1, 0, s>>>(flag);
#endif
  wait_for(flag);
  for (int i = 0; i < 32; ++i) sum += pinned[i] == 31 - i ? 0 : 1;  // FOUND: race
  cudaDeviceSynchronize();
  cudaStreamDestroy(s), cudaStreamDestroy(other);
  cudaFreeHost(pinned), cudaFreeHost(flag), cudaFree(to);
  return sum == 31 * 16 ? 0 : 1;
}
