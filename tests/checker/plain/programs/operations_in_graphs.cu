// SPDX-License-Identifier: Apache-2.0
// Allocations in stream order, and operations of libraries in a captured stream. Broken: another stream uses
// the memory, a branch of the graph reads what an operation in it writes, and one is captured whose result is
// the host's.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <curand.h>
#include <cub/cub.cuh>

#include <cstdio>
#include <cstring>

#ifdef BROKEN
constexpr bool right = false;
#else
constexpr bool right = true;
#endif
constexpr int n = 64;

__global__ void fill(float* x, float v) { x[threadIdx.x] = v; }                        // FOUND: race
__global__ void add(const float* x, float* to) { to[threadIdx.x] += x[threadIdx.x]; }  // FOUND: race

int main() {
  cudaStream_t s, t;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
  unsigned flags = 0;
  char bus[16];
  cudaStreamGetFlags(s, &flags), cudaDeviceGetPCIBusId(bus, sizeof bus, 0);
  if (flags != cudaStreamNonBlocking || std::strlen(bus) != 12) return 1;
  cudaEvent_t there, fork, join;
  cudaEventCreate(&there), cudaEventCreate(&fork), cudaEventCreate(&join);
  float *x, *y, *sum;
  cudaMallocAsync(&x, n * sizeof(float), s), cudaMallocAsync(&y, n * sizeof(float), s);
  cudaMallocAsync(&sum, sizeof(float), s);
  cudaEventRecord(there, s);
  if (right) cudaStreamWaitEvent(t, there, 0);
  fill<<<1, n, 0, t>>>(y, 1);
  cudaEventRecord(join, t), cudaStreamWaitEvent(s, join, 0);
  fill<<<1, n, 0, s>>>(x, 1);

  void* temp = nullptr;
  std::size_t bytes = 0;
  cub::DeviceReduce::Sum(temp, bytes, x, sum, n, s);
  cudaMallocAsync(&temp, bytes, s);
  cublasHandle_t library;
  cublasCreate(&library), cublasSetStream(library, s);
  curandGenerator_t numbers;
  curandCreateGenerator(&numbers, CURAND_RNG_PSEUDO_DEFAULT), curandSetStream(numbers, s);
  cudaStreamSynchronize(s);

  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, s);
  {
    const float two = 2;  // gone when the graph is launched
    cublasSscal(library, n, &two, x, 1);
  }
  if (right) cudaEventRecord(fork, s);
  cudaStreamWaitEvent(t, fork, 0);
  add<<<1, n, 0, t>>>(x, y);
  cub::DeviceReduce::Sum(temp, bytes, x, sum, n, s);
  cudaEventRecord(join, t), cudaStreamWaitEvent(s, join, 0);
  if (!right) {
    float length;
    cublasSnrm2(library, n, x, 1, &length);  // FOUND: bad launch
  }
  cudaStreamEndCapture(s, &graph);
  float hx = 0, hy = 0, hs = 0;
  cudaMemcpy(&hx, x, sizeof hx, cudaMemcpyDeviceToHost);
  if (hx != 1) return 1;  // nothing has run yet
  cudaGraphInstantiate(&exec, graph, 0);
  for (int i = 0; i < 3; ++i) cudaGraphLaunch(exec, s);
  cudaStreamSynchronize(s);
  cudaMemcpy(&hx, x + n - 1, sizeof hx, cudaMemcpyDeviceToHost);
  cudaMemcpy(&hy, y + n - 1, sizeof hy, cudaMemcpyDeviceToHost);
  cudaMemcpy(&hs, sum, sizeof hs, cudaMemcpyDeviceToHost);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  curandGenerateUniform(numbers, x, n);
  cudaGraph_t more;
  cudaStreamEndCapture(s, &more);
  cudaFreeAsync(temp, s), cudaFreeAsync(sum, s), cudaFreeAsync(y, s), cudaFreeAsync(x, s);
  cudaStreamSynchronize(s);
  cublasDestroy(library), curandDestroyGenerator(numbers);
  cudaGraphDestroy(graph), cudaGraphDestroy(more), cudaGraphExecDestroy(exec);
  return right && (hx != 8 || hy != 15 || hs != 8 * n) ? std::printf("%g %g %g\n", hx, hy, hs) : 0;
}
