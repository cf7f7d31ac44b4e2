// SPDX-License-Identifier: Apache-2.0
// Loads of what a kernel writes that this one overlaps, after the wait for it: ordinary ones, and, pedantic,
// read-only ones of what was written before that kernel let this one begin. Broken: it writes later, so that
// a read-only load may find what was there before the wait.
constexpr int threads = 48, blocks = 3, n = threads * blocks;

__device__ int me() { return blockIdx.x * blockDim.x + threadIdx.x; }
__global__ void early(int* x) {
  cudaTriggerProgrammaticLaunchCompletion();
  x[me()] = 5 * me();
}
__global__ void late(int* x) {
  x[me()] = 5 * me();
  cudaTriggerProgrammaticLaunchCompletion();
}
__global__ void never(int* x) { x[me()] = 5 * me(); }

__global__ void by_intrinsic(const int* x, int* y) {
  cudaGridDependencySynchronize();
#ifdef BROKEN
  y[me()] = __ldg(x + n - 1 - me());  // FOUND: race
#else
  y[me()] = x[n - 1 - me()];
#endif
}
__global__ void by_instruction(const int* x, int* y) {
  int v;
  cudaGridDependencySynchronize();
#ifdef BROKEN
  asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(v) : "l"(x + n - 1 - me()));  // FOUND: race
#else
  asm volatile("ld.global.s32 %0, [%1];" : "=r"(v) : "l"(x + n - 1 - me()));
#endif
  y[me()] = v;
}
__global__ void by_parameter(const int* __restrict__ x, int* __restrict__ y) {
  int v;
  cudaGridDependencySynchronize();
#ifdef BROKEN
  v = x[n - 1 - me()];  // FOUND: race
#else
  v = me() % 2 ? __ldcg(x + n - 1 - me()) : 0;
  if (me() % 2 == 0) asm volatile("ld.global.s32 %0, [%1];" : "=r"(v) : "l"(x + n - 1 - me()));
#endif
  y[me()] = v;
}
__global__ void as_it_was(const int* __restrict__ x, const int* __restrict__ weights, int* __restrict__ y) {
  const int weight = weights[me()];  // no kernel before writes these
  cudaGridDependencySynchronize();
  const int own = __ldg(x + me());    // LETTER: race
  const int other = x[n - 1 - me()];  // LETTER: race
  y[me()] = weight * own + other;
}

template <class... P, class... A> void launch(void (*kernel)(P...), A... a) {
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t c{};
  c.gridDim = dim3(blocks), c.blockDim = dim3(threads), c.attrs = &overlap, c.numAttrs = 1;
  cudaLaunchKernelEx(&c, kernel, static_cast<P>(a)...);
}

int main() {
  int *x, *y, *weights, h[n];
  cudaMalloc(&x, sizeof h), cudaMalloc(&y, sizeof h), cudaMalloc(&weights, sizeof h);
  for (int& one : h) one = 2;
  cudaMemcpy(weights, h, sizeof h, cudaMemcpyHostToDevice);
  bool right = true;
  const auto check = [&](auto expected) {
    cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i) right &= h[i] == expected(i);
  };
  const auto reversed = [](int i) { return 5 * (n - 1 - i); };
  early<<<blocks, threads>>>(x), launch(by_intrinsic, x, y), check(reversed);
  early<<<blocks, threads>>>(x), launch(by_instruction, x, y), check(reversed);
  early<<<blocks, threads>>>(x), launch(by_parameter, x, y), check(reversed);
  const auto weighted = [&](int i) { return 10 * i + reversed(i); };
  late<<<blocks, threads>>>(x), launch(as_it_was, x, weights, y), check(weighted);
  never<<<blocks, threads>>>(x), launch(as_it_was, x, weights, y), check(weighted);
  never<<<blocks, threads>>>(x), by_parameter<<<blocks, threads>>>(x, y), check(reversed);
  cudaFree(x), cudaFree(y), cudaFree(weights);
  return right ? 0 : 1;
}
