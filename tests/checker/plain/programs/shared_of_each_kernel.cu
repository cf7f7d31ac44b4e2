// SPDX-License-Identifier: Apache-2.0
// Each kernel has 48 KiB for its own __shared__ variables and those of its callees, whatever other kernels
// have. Broken: one has more, another too much in addition to its launch's dynamic size.
constexpr int bytes = 40 * 1024;

template <int N> __device__ void turn(char* x) {
  __shared__ char part[N];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x] + 1;
  __syncthreads();
}
template <int N> __global__ void own(char* x) { turn<N>(x); }
__global__ void two(char* x) {
  turn<20000>(x);
#ifdef BROKEN
  turn<30000>(x);
#endif
}
__global__ void dynamic(char* x) {
  extern __shared__ char part[];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
  turn<1000>(x);
}

int main() {
  char *x, all[32];
  cudaMalloc(&x, sizeof all);
  cudaMemset(x, 0, sizeof all);
  own<bytes><<<1, 32>>>(x);
  own<bytes + 1><<<1, 32>>>(x);
  own<bytes + 2><<<1, 32>>>(x);
  own<bytes + 3><<<1, 32>>>(x);
  own<bytes + 4><<<1, 32>>>(x);
  own<bytes + 5><<<1, 32>>>(x);
  own<48 * 1024><<<1, 32>>>(x);
  two<<<1, 32>>>(x);  // FOUND: bad launch
  dynamic<<<1, 32, 48000>>>(x);
#ifndef BROKEN
  cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 226 * 1024);
  dynamic<<<1, 32, 226 * 1024>>>(x);
#endif
  dynamic<<<1, 32, 48500>>>(x);  // FOUND: bad launch
  cudaMemcpy(all, x, sizeof all, cudaMemcpyDeviceToHost);
  cudaFree(x);
}
