# SPDX-License-Identifier: Apache-2.0
"""A histogram in shared memory; broken: read before all have added."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

BROKEN = 0

source = """
#include <torch/extension.h>
__global__ void hist(const int* x, int* h, int n) {
  __shared__ int local[64];
  if (threadIdx.x < 64) local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&local[x[i]], 1);
  
#ifndef BROKEN
  __syncthreads();
#endif
  if (threadIdx.x < 64) atomicAdd(&h[threadIdx.x], local[threadIdx.x]);  // FOUND: race
}
torch::Tensor hist_cuda(torch::Tensor x) {
  auto h = torch::zeros({64}, x.options());
  hist<<<4, 128>>>(x.data_ptr<int>(), h.data_ptr<int>(), x.numel());
  return h;
}
"""
op = load_inline(
    name="histogram",
    cpp_sources="torch::Tensor hist_cuda(torch::Tensor x);",
    cuda_sources=source,
    functions=["hist_cuda"],
    extra_cuda_cflags=["-O3", "-DBROKEN"] if BROKEN else ["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, *inputs):
        return op.hist_cuda(*inputs)


def get_inputs():
    return [torch.randint(0, 64, (900,), dtype=torch.int32)]


def get_init_inputs():
    return []
