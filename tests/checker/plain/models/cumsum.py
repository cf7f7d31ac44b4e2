# SPDX-License-Identifier: Apache-2.0
"""Sums up to each element, in shared memory; broken: without the barrier between steps."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

BROKEN = 0

source = """
#include <torch/extension.h>
__global__ void cumsum_kernel(const float* in, float* out, int n) {
  __shared__ float temp[2][512];
  int t = threadIdx.x, p = 0;
  temp[0][t] = t < n ? in[blockIdx.x * n + t] : 0.f;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d <<= 1) {
    temp[1 - p][t] = t >= d ? temp[p][t] + temp[p][t - d] : temp[p][t];  // FOUND: race
    p = 1 - p;
    
#ifndef BROKEN
    __syncthreads();
#endif
  }
  if (t < n) out[blockIdx.x * n + t] = temp[p][t];
}
torch::Tensor cumsum_cuda(torch::Tensor x) {
  auto y = torch::empty_like(x);
  cumsum_kernel<<<x.size(0), 512>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}
"""
op = load_inline(
    name="cumsum",
    cpp_sources="torch::Tensor cumsum_cuda(torch::Tensor x);",
    cuda_sources=source,
    functions=["cumsum_cuda"],
    extra_cuda_cflags=["-O3", "-DBROKEN"] if BROKEN else ["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, *inputs):
        return op.cumsum_cuda(*inputs)


def get_inputs():
    return [torch.randn(2, 400)]


def get_init_inputs():
    return []
