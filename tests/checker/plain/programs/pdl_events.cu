// SPDX-License-Identifier: Apache-2.0
// Overlapping launches on two streams, by programmatic events, and by bulk copies that read what the launch
// before writes. Broken: kernels and copies that do not wait.
#include <cstdint>

constexpr int n = 64;
#ifdef BROKEN
constexpr bool right = false;
#else
constexpr bool right = true;
#endif

__global__ void writes(int* x) {
  cudaTriggerProgrammaticLaunchCompletion();
  x[threadIdx.x] = 1;
}
__global__ void waits(const int* x, int* y) {
  if (right) cudaGridDependencySynchronize();
  y[threadIdx.x] = x[threadIdx.x];  // FOUND: race
}
__global__ void waits_at_block_start(const int* x, int* y) {
  if (right) cudaGridDependencySynchronize();
  y[threadIdx.x] = x[threadIdx.x];  // FOUND: race
}
__global__ void begins_behind(const int* x, int* y) { y[threadIdx.x] = x[threadIdx.x]; }  // FOUND: race
__global__ void loads(const int* x, int* y) {
  __shared__ alignas(128) int tile[n];
  __shared__ alignas(8) std::uint64_t bar;
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(&bar));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at));
    asm volatile("fence.mbarrier_init.release.cluster;");
    if (right) asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(n * 4));
    asm volatile(  // FOUND: race
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            static_cast<unsigned>(__cvta_generic_to_shared(tile))),
        "l"(x), "r"(n * 4), "r"(at)
        : "memory");
  }
  __syncthreads();
  unsigned done = 0;
  while (done == 0)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(at)
                 : "memory");
  y[threadIdx.x] = tile[threadIdx.x];
}

int main() {
  int *x, *y;
  cudaMalloc(&x, n * sizeof(int)), cudaMalloc(&y, n * sizeof(int));
  cudaStream_t s, t;
  cudaStreamCreate(&s), cudaStreamCreate(&t);
  cudaEvent_t begun, ended;
  cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&ended, cudaEventDisableTiming);
  cudaLaunchAttribute with{};
  cudaLaunchConfig_t how{};
  how.gridDim = 1, how.blockDim = n, how.stream = s, how.attrs = &with, how.numAttrs = 1;
  with.id = cudaLaunchAttributeProgrammaticEvent;
  with.val.programmaticEvent.event = begun;

  cudaLaunchKernelEx(&how, writes, x);
  cudaStreamWaitEvent(t, begun, 0);
  waits<<<1, n, 0, t>>>(x, y);
  cudaMemcpyAsync(y, x, n * sizeof(int), cudaMemcpyDeviceToDevice, t);
  cudaDeviceSynchronize();

  with.val.programmaticEvent.triggerAtBlockStart = 1;
  cudaLaunchKernelEx(&how, writes, x);
  cudaStreamWaitEvent(t, begun, 0);
  waits_at_block_start<<<1, n, 0, t>>>(x, y);
  cudaDeviceSynchronize();

  with.id = cudaLaunchAttributeLaunchCompletionEvent;  // all blocks have begun: no order of what they do
  with.val.launchCompletionEvent.event = begun;
  with.val.launchCompletionEvent.flags = 0;
  cudaLaunchKernelEx(&how, writes, x);
  cudaEventRecord(ended, s);
  cudaStreamWaitEvent(t, right ? ended : begun, 0);
  begins_behind<<<1, n, 0, t>>>(x, y);
  cudaDeviceSynchronize();

  writes<<<1, n, 0, s>>>(x);
  with.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  with.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchKernelEx(&how, loads, static_cast<const int*>(x), y);
  int last = 0;
  cudaMemcpyAsync(&last, y + n - 1, sizeof last, cudaMemcpyDeviceToHost, s);
  cudaStreamSynchronize(s);
  cudaEventDestroy(begun), cudaEventDestroy(ended);
  cudaStreamDestroy(s), cudaStreamDestroy(t);
  cudaFree(x), cudaFree(y);
  return last == 1 ? 0 : 1;
}
