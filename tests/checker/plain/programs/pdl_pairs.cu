// SPDX-License-Identifier: Apache-2.0
// Pairs of kernels of which the second may begin before the first has ended (programmatic dependent launch).
// What the first does is visible after the second's own wait only, whenever it triggers.
#include <cuda/atomic>

constexpr int threads = 64, blocks = 3, n = threads * blocks;
#ifdef BROKEN
constexpr bool right = false;
#else
constexpr bool right = true;
#endif

__device__ void wait() { cudaGridDependencySynchronize(); }
__device__ void trigger() { cudaTriggerProgrammaticLaunchCompletion(); }
__device__ int me() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void writes(int* x) { x[me()] = me(); }  // its end is its trigger
__global__ void triggers_first(int* x) {
  trigger();
  x[me()] = me();
}
__global__ void triggers_last(int* x) {
  x[me()] = me();
  __threadfence();
  trigger();
}
__global__ void reads_then(const int* x, int* y) {
  trigger();
  y[me()] = x[me()];
}
__global__ void adds(int* x) {
  trigger();
  atomicAdd(x, 1);
}
__global__ void flags(int* x, int* flag) {
  trigger();
  x[me()] = me();
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::atomic_ref<int, cuda::thread_scope_device> f(flag[blockIdx.x]);
    f.store(1, right ? cuda::memory_order_release : cuda::memory_order_relaxed);
  }
}

__global__ void no_wait(const int* x, int* y) {
  if (right) wait();
  y[me()] = x[me()] + 1;  // FOUND: race
}
__global__ void no_wait_behind_early(const int* x, int* y) {
  if (right) wait();
  y[me()] = x[me()] + 1;  // FOUND: race
}
__global__ void no_wait_behind_fence(const int* x, int* y) {
  if (right) wait();
  y[me()] = x[me()] + 1;  // FOUND: race
}
__global__ void too_late(const int* x, int* y) {
  int v = right ? 0 : x[me()];  // FOUND: race
  wait();
  if (right) v = x[me()];
  y[me()] = v;
}
__global__ void one_thread_waits(const int* x, int* y) {
  if (threadIdx.x == 0) wait();
  if (right) __syncthreads();
  y[me()] = x[me()];  // FOUND: race
}
__global__ void one_warp_waits(const int* x, int* y) {
  if (right || threadIdx.x < 32) asm volatile("griddepcontrol.wait;" ::: "memory");
  y[me()] = x[me()];  // FOUND: race
}
__global__ void one_block_waits(const int* x, int* y) {
  if (right || blockIdx.x == 0) wait();
  y[me()] = x[me()];  // FOUND: race
}
__global__ void writes_over_read(int* x) {
  if (right) wait();
  x[me()] = 7;  // FOUND: overwritten in use
}
__global__ void writes_over_written(int* x) {
  if (right) wait();
  x[me()] = 7;  // FOUND: race
}
__global__ void takes_the_sum(int* x, int* y) {
  if (me() != 0) return;
  atomicAdd(x, 1);  // atomic operations do not race
  if (right) wait();
  *y = *x;  // FOUND: race
}
__global__ void polls(const int* x, int* flag, int* y) {  // waits by other means
  if (threadIdx.x == 0) {
    cuda::atomic_ref<int, cuda::thread_scope_device> f(flag[blockIdx.x]);
    while (f.load(cuda::memory_order_acquire) == 0) {
    }
  }
  __syncthreads();
  y[me()] = x[me()];  // FOUND: race
}
__global__ void has_a_preamble(const int* weights, const int* x, int* y) {
  __shared__ int w[threads];
  w[threadIdx.x] = right ? weights[threadIdx.x] : weights[threadIdx.x] + x[me()];  // FOUND: race
  __syncthreads();
  wait();
  y[me()] = w[threads - 1 - threadIdx.x] + x[me()];
}
__global__ void returns_early(const int* x, int* y, int some) {
  if (me() >= some) return;
  if (right) asm("griddepcontrol.wait;");
  y[me()] = x[me()];  // FOUND: race
}
__global__ void copies_before(const int* x, int* y) {
  __shared__ alignas(16) int tile[threads];
  if (right) wait();
  if (threadIdx.x < threads / 4)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(  // FOUND: race
                     static_cast<unsigned>(__cvta_generic_to_shared(tile + 4 * threadIdx.x))),
                 "l"(x + blockIdx.x * threads + 4 * threadIdx.x));
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  y[me()] = tile[threadIdx.x];
}
template <class T> __global__ void of_type(const T* x, T* y) {
  if (right) wait();
  y[me()] = x[me()];  // FOUND: race
}

template <class... P, class... A> void overlapping(void (*kernel)(P...), cudaStream_t s, A... arguments) {
  cudaLaunchConfig_t how = {0};
  how.gridDim = dim3(blocks);
  how.blockDim = dim3(threads);
  how.stream = s;
  cudaLaunchAttribute with[2];
  with[0].id = cudaLaunchAttributePriority;
  with[0].val.priority = 0;
  with[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  with[1].val.programmaticStreamSerializationAllowed = 1;
  how.attrs = with;
  how.numAttrs = 2;
  cudaLaunchKernelEx(&how, kernel, static_cast<P>(arguments)...);
}

int main() {
  int *x, *y, *weights, *flag;
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaMalloc(&x, n * sizeof(int)), cudaMalloc(&y, n * sizeof(int));
  cudaMalloc(&weights, n * sizeof(int)), cudaMalloc(&flag, n * sizeof(int));
  cudaMemset(x, 0, n * sizeof(int)), cudaMemset(weights, 0, n * sizeof(int));
  cudaMemset(flag, 0, n * sizeof(int));
  cudaDeviceSynchronize();
  const auto pair = [&] { cudaStreamSynchronize(s); };

  pair(), writes<<<blocks, threads, 0, s>>>(x), overlapping(no_wait, s, x, y);
  pair(), triggers_first<<<blocks, threads, 0, s>>>(x), overlapping(no_wait_behind_early, s, x, y);
  pair(), triggers_last<<<blocks, threads, 0, s>>>(x), overlapping(no_wait_behind_fence, s, x, y);
  pair(), triggers_first<<<blocks, threads, 0, s>>>(x), overlapping(too_late, s, x, y);
  pair(), triggers_last<<<blocks, threads, 0, s>>>(x), overlapping(one_thread_waits, s, x, y);
  pair(), writes<<<blocks, threads, 0, s>>>(x), overlapping(one_warp_waits, s, x, y);
  pair(), writes<<<blocks, threads, 0, s>>>(x), overlapping(one_block_waits, s, x, y);
  pair(), reads_then<<<blocks, threads, 0, s>>>(x, y), overlapping(writes_over_read, s, x);
  pair(), triggers_first<<<blocks, threads, 0, s>>>(x), overlapping(writes_over_written, s, x);
  pair(), adds<<<blocks, threads, 0, s>>>(x), overlapping(takes_the_sum, s, x, y);
  pair(), flags<<<blocks, threads, 0, s>>>(x, flag), overlapping(polls, s, x, flag, y);
  pair(), writes<<<blocks, threads, 0, s>>>(x), overlapping(has_a_preamble, s, weights, x, y);
  pair(), writes<<<blocks, threads, 0, s>>>(x), overlapping(returns_early, s, x, y, n - 5);
  pair(), triggers_first<<<blocks, threads, 0, s>>>(x), overlapping(copies_before, s, x, y);
  pair(), writes<<<blocks, threads, 0, s>>>(x), overlapping(of_type<int>, s, x, y);

  // an address, and arguments by addresses
  pair(), writes<<<blocks, threads, 0, s>>>(x);
  cudaLaunchAttribute with{};
  with.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  with.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how{};
  how.gridDim = blocks, how.blockDim = threads, how.stream = s, how.attrs = &with, how.numAttrs = 1;
  void* arguments[] = {&x, &y};
  cudaLaunchKernelExC(&how, reinterpret_cast<const void*>(no_wait), arguments);

  // without the attribute, or after something that is no kernel, launches do not overlap
  pair(), writes<<<blocks, threads, 0, s>>>(x);
  with.val.programmaticStreamSerializationAllowed = 0;
  cudaLaunchKernelEx(&how, reads_then, static_cast<const int*>(x), y);
  with.val.programmaticStreamSerializationAllowed = 1;
  pair(), writes<<<blocks, threads, 0, s>>>(x), cudaMemsetAsync(flag, 0, sizeof(int), s);
  cudaLaunchKernelEx(&how, reads_then, static_cast<const int*>(x), y);
  // a kernel that does not trigger has read everything when the next begins
  pair(), no_wait<<<blocks, threads, 0, s>>>(x, y), overlapping(triggers_first, s, x);

  int last = 0;
  cudaMemcpyAsync(&last, y + n - 1, sizeof last, cudaMemcpyDeviceToHost, s);
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
  cudaFree(x), cudaFree(y), cudaFree(weights), cudaFree(flag);
  return right && last != n ? 1 : 0;
}
