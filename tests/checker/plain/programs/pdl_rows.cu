// SPDX-License-Identifier: Apache-2.0
// Rows of kernels that overlap. A kernel's end implies the end of those before it only if it has waited, and
// its beginning only if the kernel before it waited before it triggered.
constexpr int threads = 32, blocks = 2, n = threads * blocks;
#ifdef BROKEN
constexpr bool right = false;
#else
constexpr bool right = true;
#endif

__device__ void wait() { cudaGridDependencySynchronize(); }
__device__ void trigger() { cudaTriggerProgrammaticLaunchCompletion(); }
__device__ int me() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void first(int* x) {
  trigger();
  x[me()] = me();
}
__global__ void first_without_trigger(int* x) { x[me()] = me(); }
__global__ void between(int* z) {  // has nothing to do with x
  if (right) wait();
  z[me()] = 0;
}
__global__ void triggers_between(int* z) {
  trigger();
  if (right) wait();
  z[me()] = 0;
}
__global__ void gate(int* z) {
  if (!right) trigger();
  wait();
  if (right) trigger();
  z[me()] = 0;
}
__global__ void gate_of_one_warp(int* z) {
  if (threadIdx.x < 32) wait();
  if (right) __syncthreads();
  if (threadIdx.x == blockDim.x - 1) trigger();
  z[me()] = 0;
}
__global__ void third(const int* x, int* y) {
  wait();
  y[me()] = x[me()];  // FOUND: race
}
__global__ void third_behind_trigger(const int* x, int* y) {
  wait();
  y[me()] = x[me()];  // FOUND: race
}
__global__ void third_behind_end(const int* x, int* y) {
  wait();
  y[me()] = x[me()];  // FOUND: race
}
__global__ void third_behind_gate(const int* x, int* y, const int* z) {
  const int v = x[me()];  // FOUND: race
  wait();
  y[me()] = v + z[me()];
}
__global__ void third_behind_one_warp(const int* x, int* y, const int* z) {
  const int v = x[me()];  // FOUND: race
  wait();
  y[me()] = v + z[me()];
}
__global__ void third_that_does_not_wait(const int* z, int* y) {
  if (right) wait();
  y[me()] = z[me()];  // FOUND: race
}
__global__ void fourth(const int* x, int* y) {
  wait();
  y[me()] = x[me()];  // FOUND: race
}
__global__ void not_overlapping(const int* x, int* y) { y[me()] = x[me()]; }
__global__ void step(const int* from, int* to) {  // back and forth between two arrays
  if (right) wait();
  trigger();
  to[me()] = from[me()] + 1;  // FOUND: race or overwritten in use
  if (!right) wait();
}

template <class... P> void overlapping(cudaStream_t s, int threads_of, void (*kernel)(P...), P... arguments) {
  cudaLaunchConfig_t how = {0};
  how.gridDim = dim3(blocks), how.blockDim = dim3(threads_of), how.stream = s;
  cudaLaunchAttribute with;
  with.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  with.val.programmaticStreamSerializationAllowed = 1;
  how.attrs = &with, how.numAttrs = 1;
  cudaLaunchKernelEx(&how, kernel, arguments...);
}

int main() {
  int *x, *y, *z, last = 0;
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaMalloc(&x, 2 * n * sizeof last), cudaMalloc(&y, 2 * n * sizeof last);
  cudaMalloc(&z, 2 * n * sizeof last);
  cudaMemset(x, 0, 2 * n * sizeof last), cudaMemset(y, 0, 2 * n * sizeof last);
  cudaDeviceSynchronize();
  const int* const in = x;
  const auto row = [&] { cudaStreamSynchronize(s); };

  row(), first<<<blocks, threads, 0, s>>>(x), overlapping(s, threads, between, z);
  overlapping(s, threads, third, in, y);
  row(), first<<<blocks, threads, 0, s>>>(x), overlapping(s, threads, triggers_between, z);
  overlapping(s, threads, third_behind_trigger, in, y);
  // pedantic also where the first does not trigger: its writes need not be visible yet
  row(), first_without_trigger<<<blocks, threads, 0, s>>>(x), overlapping(s, threads, between, z);
  overlapping(s, threads, third_behind_end, in, y);
  row(), first<<<blocks, threads, 0, s>>>(x), overlapping(s, threads, gate, z);
  overlapping(s, threads, third_behind_gate, in, y, (const int*)z);
  row(), first<<<blocks, threads, 0, s>>>(x), overlapping(s, 2 * threads, gate_of_one_warp, z);
  overlapping(s, threads, third_behind_one_warp, in, y, (const int*)z);
  row(), first<<<blocks, threads, 0, s>>>(x), overlapping(s, threads, gate, z);
  overlapping(s, threads, third_that_does_not_wait, (const int*)z, y);
  row(), first<<<blocks, threads, 0, s>>>(x), overlapping(s, threads, between, z);
  overlapping(s, threads, between, z + n), overlapping(s, threads, fourth, in, y);
  // a launch that does not overlap comes after the whole row
  row(), first<<<blocks, threads, 0, s>>>(x), overlapping(s, threads, between, z);
  not_overlapping<<<blocks, threads, 0, s>>>(x, y);
  row(), first<<<blocks, threads, 0, s>>>(x), overlapping(s, threads, between, z);
  cudaMemcpyAsync(y, x, n * sizeof last, cudaMemcpyDeviceToDevice, s);
  for (int i = 0; i < 4; ++i) overlapping(s, threads, step, i % 2 ? (const int*)y : in, i % 2 ? x : y);

  cudaMemcpyAsync(&last, x + n - 1, sizeof last, cudaMemcpyDeviceToHost, s);
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
  cudaFree(x), cudaFree(y), cudaFree(z);
  return right && last != n + 3 ? 1 : 0;
}
