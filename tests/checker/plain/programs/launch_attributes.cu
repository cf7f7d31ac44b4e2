// SPDX-License-Identifier: Apache-2.0
// Launches with attributes: clusters and cooperative launches; a copy node and memory of three dimensions.
// Broken: an overlapping launch does not wait.
#include <cooperative_groups.h>

constexpr int n = 32;

__global__ void ranks(int* x) {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("barrier.cluster.arrive; barrier.cluster.wait;");
  if (threadIdx.x == 0) x[blockIdx.x] = rank;
  asm volatile("griddepcontrol.launch_dependents;");
}
__global__ void together(int* x) {
#ifndef BROKEN
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  if (threadIdx.x == 0) x[blockIdx.x] += 10;  // FOUND: race
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) x[4 + blockIdx.x] = x[(blockIdx.x + 1) % gridDim.x];
}

int main() {
  cudaPitchedPtr box;
  const cudaExtent extent = make_cudaExtent(n, 2, 2);
  cudaMalloc3D(&box, extent);
  cudaMemset3D(box, 0, extent);
  cudaLaunchAttribute with[2] = {};
  cudaLaunchConfig_t how = {};
  how.gridDim = 4, how.blockDim = n, how.attrs = with, how.numAttrs = 1;
  with[0].id = cudaLaunchAttributeClusterDimension;
  with[0].val.clusterDim.x = 2, with[0].val.clusterDim.y = 1, with[0].val.clusterDim.z = 1;
  int* const x = static_cast<int*>(box.ptr);
  cudaLaunchKernelEx(&how, ranks, x);
  how.numAttrs = 2;
  with[0].id = cudaLaunchAttributeCooperative;
  with[0].val.cooperative = 1;
  with[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  with[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchKernelEx(&how, together, x);

  int all[n] = {}, again[n] = {};
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = box, copy.extent = extent, copy.kind = cudaMemcpyDeviceToHost;
  copy.dstPtr = make_cudaPitchedPtr(all, n, n, 2);
  cudaMemcpy3D(&copy);
  copy.dstPtr.ptr = again;
  cudaGraph_t graph;
  cudaGraphNode_t node;
  cudaGraphExec_t exec;
  cudaGraphCreate(&graph, 0);
  cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, nullptr);
  cudaDeviceSynchronize();
  cudaGraphExecDestroy(exec), cudaGraphDestroy(graph), cudaFree(box.ptr);
  return all[4] == 11 && all[7] == 10 && again[4] == all[4] && again[20] == 0 ? 0 : 1;
}
