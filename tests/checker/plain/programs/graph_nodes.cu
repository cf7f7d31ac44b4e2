// SPDX-License-Identifier: Apache-2.0
// A graph made of nodes: its edges are the only order between them. Broken: an edge is missing, and a kernel
// after a programmatic edge does not wait.
constexpr int n = 64;
#ifdef BROKEN
constexpr bool right = false;
#else
constexpr bool right = true;
#endif

__global__ void add(const int* x, int* y, int v) { y[threadIdx.x] = x[threadIdx.x] + v; }  // FOUND: race
template <class T> __global__ void sum_up(const T* x, const T* y, T* z) {
  z[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x];  // FOUND: race
}
__global__ void depends(const int* z, int* y) {
  if (right) cudaGridDependencySynchronize();
  y[threadIdx.x] = z[threadIdx.x];  // FOUND: race
}
struct totals {
  const int* of;
  int sum = 0;
};
void CUDART_CB total(void* data) {
  auto* const t = static_cast<totals*>(data);
  for (int i = 0; i < n; ++i) t->sum += t->of[i];
}

int main() {
  int *x, *y, *z, *h;
  cudaMalloc(&x, n * sizeof(int)), cudaMalloc(&y, n * sizeof(int)), cudaMalloc(&z, n * sizeof(int));
  cudaMallocHost(&h, n * sizeof(int));
  totals all{h};
  cudaGraph_t graph;
  cudaGraphNode_t set, first, second, joined, sum, out, host;
  cudaGraphCreate(&graph, 0);

  cudaMemsetParams zeros{};
  zeros.dst = x, zeros.value = 1, zeros.elementSize = 4, zeros.width = n, zeros.height = 1;
  cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &zeros);
  int one = 1, two = 2;
  void* of_first[] = {&x, &y, &one};
  cudaKernelNodeParams kernel{};
  kernel.func = (void*)add, kernel.gridDim = dim3(1), kernel.blockDim = dim3(n);
  kernel.kernelParams = of_first;
  cudaGraphAddKernelNode(&first, graph, right ? &set : nullptr, right ? 1 : 0, &kernel);
  void* of_second[] = {&x, &z, &two};
  kernel.kernelParams = of_second;
  cudaGraphAddKernelNode(&second, graph, &set, 1, &kernel);
  two = 50;  // arguments have been copied
  cudaGraphNode_t both[] = {first, second};
  cudaGraphAddEmptyNode(&joined, graph, both, right ? 2 : 1);
  void* of_sum[] = {&y, &z, &z};
  kernel.func = reinterpret_cast<void*>(&sum_up<int>), kernel.kernelParams = of_sum;
  cudaGraphAddKernelNode(&sum, graph, nullptr, 0, &kernel);
#if CUDART_VERSION >= 13000
  cudaGraphAddDependencies(graph, &joined, &sum, nullptr, 1);
#else
  cudaGraphAddDependencies(graph, &joined, &sum, 1);
#endif
  cudaGraphAddMemcpyNode1D(&out, graph, &sum, 1, h, z, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaHostNodeParams call{};
  call.fn = total, call.userData = &all;
  cudaGraphAddHostNode(&host, graph, &out, 1, &call);

  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, graph, 0);
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaGraphLaunch(exec, s);
  cudaStreamSynchronize(s);
  if (right && all.sum != n * 5) return 1;
  one = 10;
  kernel.func = (void*)&add, kernel.kernelParams = of_first;
  cudaGraphExecKernelNodeSetParams(exec, first, &kernel);
  cudaGraphLaunch(exec, s);
  cudaStreamSynchronize(s);
  if (right && all.sum != n * 5 + n * 14) return 1;

  std::size_t count = 0;
  cudaGraphGetNodes(graph, nullptr, &count);
  if (count != 7) return 1;

  // a graph within a graph, and a programmatic edge
  cudaGraph_t outer;
  cudaGraphNode_t inner, waits, before;
  cudaGraphCreate(&outer, 0);
  cudaGraphAddChildGraphNode(&inner, outer, nullptr, 0, graph);
  kernel.kernelParams = of_second;
  cudaGraphAddKernelNode(&before, outer, &inner, 1, &kernel);
  void* of_last[] = {&z, &y};
  cudaGraphNodeParams last = {cudaGraphNodeTypeKernel};
  last.kernel.func = (void*)depends, last.kernel.gridDim = dim3(1), last.kernel.blockDim = dim3(n);
  last.kernel.kernelParams = of_last;
  cudaGraphEdgeData edge = {};
  edge.type = cudaGraphDependencyTypeProgrammatic, edge.from_port = cudaGraphKernelNodePortProgrammatic;
  cudaGraphAddNode(&waits, outer, &before, &edge, 1, &last);
  cudaGraphExec_t run_outer;
  cudaGraphInstantiate(&run_outer, outer, 0);
  cudaGraphLaunch(run_outer, s);
  cudaMemcpyAsync(h, y, n * sizeof(int), cudaMemcpyDeviceToHost, s);
  cudaStreamSynchronize(s);
  if (right && h[3] != 51) return 1;

  cudaGraphExecDestroy(exec), cudaGraphExecDestroy(run_outer);
  cudaGraphDestroy(graph), cudaGraphDestroy(outer);
  cudaStreamDestroy(s);
  cudaFree(x), cudaFree(y), cudaFree(z), cudaFreeHost(h);
  return 0;
}
