// SPDX-License-Identifier: Apache-2.0
// Streams captured into graphs, which are launched, launched again and updated. The order within a graph is
// that of the captured streams; broken: branches that use the same memory, and nodes that were not joined.
#include <cstdio>

constexpr int n = 64;
#ifdef BROKEN
constexpr bool right = false;
#else
constexpr bool right = true;
#endif

__global__ void fill(int* x, int v) { x[threadIdx.x] = v; }
__global__ void twice(const int* x, int* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }  // FOUND: race
__global__ void sum(const int* x, const int* y, int* z) { z[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x]; }
__global__ void count(int* all) { *all += 1; }  // FOUND: race
__global__ void waits(const int* x, int* y) {
  if (right) cudaGridDependencySynchronize();
  y[threadIdx.x] = x[threadIdx.x] + 1;  // FOUND: race
}

int main() {
  int *x, *y, *z, *all, *h, calls = 0;
  cudaStream_t s, t, u;
  cudaEvent_t fork, join, filled;
  cudaStreamCreate(&s), cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking), cudaStreamCreate(&u);
  cudaEventCreate(&fork), cudaEventCreate(&join), cudaEventCreate(&filled);
  cudaMalloc(&x, n * sizeof(int)), cudaMalloc(&y, n * sizeof(int)), cudaMalloc(&z, n * sizeof(int));
  cudaMalloc(&all, sizeof(int)), cudaMallocHost(&h, n * sizeof(int));
  cudaMemset(all, 0, sizeof(int));
  cudaDeviceSynchronize();

  // fill x -> twice y  (t)
  //   \ --- fill z ---> sum, copy  (s)
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, s), cudaStreamWaitEvent(t, fork, 0);
  fill<<<1, n, 0, s>>>(x, 3);
  cudaEventRecord(filled, s);
  if (right) cudaStreamWaitEvent(t, filled, 0);
  twice<<<1, n, 0, t>>>(x, y);
  fill<<<1, n, 0, s>>>(z, 0);
  cudaEventRecord(join, t), cudaStreamWaitEvent(s, join, 0);
  sum<<<1, n, 0, s>>>(x, y, z);
  cudaMemcpyAsync(h, z, n * sizeof(int), cudaMemcpyDeviceToHost, s);
  cudaLaunchHostFunc(
      s, [](void* c) { ++*static_cast<int*>(c); }, &calls);
  count<<<1, 1, 0, s>>>(all);
  cudaStreamCaptureStatus is;
  cudaStreamIsCapturing(t, &is);
  if (is != cudaStreamCaptureStatusActive) return 1;
  cudaStreamEndCapture(s, &graph);
  if (calls != 0) return 1;  // nothing has run yet
  cudaGraphInstantiate(&exec, graph, 0);
  for (int i = 0; i < 3; ++i) cudaGraphLaunch(exec, s);
  cudaGraphLaunch(exec, u);  // launches of one graph follow each other
  cudaStreamSynchronize(u);
  if (right && (h[n - 1] != 9 || calls != 4)) return 1;

  // two graphs at the same time
  cudaGraph_t other;
  cudaGraphExec_t run_other;
  cudaStreamBeginCapture(u, cudaStreamCaptureModeRelaxed);
  count<<<1, 1, 0, u>>>(all);
  cudaStreamEndCapture(u, &other);
  cudaGraphInstantiateWithFlags(&run_other, other, 0);
  cudaGraphLaunch(exec, s);
  if (right) cudaStreamSynchronize(s);
  cudaGraphLaunch(run_other, u);
  cudaDeviceSynchronize();

  // a graph of the same form takes the place of the first
  cudaGraph_t changed;
  cudaStreamBeginCapture(u, cudaStreamCaptureModeThreadLocal);
  count<<<1, 1, 0, u>>>(all + 0);
  cudaStreamEndCapture(u, &changed);
  cudaGraphExecUpdateResultInfo how;
  if (cudaGraphExecUpdate(run_other, changed, &how) != cudaSuccess) return 1;
  if (cudaGraphExecUpdate(run_other, graph, &how) == cudaSuccess ||
      how.result != cudaGraphExecUpdateErrorTopologyChanged)
    return 1;
  cudaGetLastError();
  cudaGraphLaunch(run_other, u);

  // overlapping launches become programmatic edges
  cudaGraph_t row;
  cudaGraphExec_t run_row;
  cudaStreamBeginCapture(u, cudaStreamCaptureModeGlobal);
  fill<<<1, n, 0, u>>>(x, 1);
  cudaLaunchConfig_t config = {0};
  cudaLaunchAttribute with;
  with.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  with.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = 1, config.blockDim = n, config.stream = u, config.attrs = &with, config.numAttrs = 1;
  cudaLaunchKernelEx(&config, waits, static_cast<const int*>(x), y);
  cudaStreamEndCapture(u, &row);
  cudaGraphInstantiate(&run_row, row, 0);
  cudaGraphLaunch(run_row, u);
  cudaMemcpyAsync(h, y, n * sizeof(int), cudaMemcpyDeviceToHost, u);
  cudaStreamSynchronize(u);
  if (right && h[0] != 2) return 1;

  // work that is not joined
  cudaGraph_t unjoined;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, s), cudaStreamWaitEvent(t, fork, 0);
  fill<<<1, n, 0, t>>>(x, 3);
  cudaEventRecord(join, t);
  if (right) cudaStreamWaitEvent(s, join, 0);
  if (cudaStreamEndCapture(s, &unjoined) == cudaSuccess) cudaGraphDestroy(unjoined);  // FOUND: bad launch

  for (cudaGraph_t g : {graph, other, changed, row}) cudaGraphDestroy(g);
  for (cudaGraphExec_t e : {exec, run_other, run_row}) cudaGraphExecDestroy(e);
  cudaStreamDestroy(s), cudaStreamDestroy(t), cudaStreamDestroy(u);
  cudaEventDestroy(fork), cudaEventDestroy(join), cudaEventDestroy(filled);
  cudaFree(x), cudaFree(y), cudaFree(z), cudaFree(all), cudaFreeHost(h);
  return 0;
}
