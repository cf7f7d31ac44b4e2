# SPDX-License-Identifier: Apache-2.0
"""Sums up to each element, in shared memory; broken: without the barrier between steps."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

BROKEN = 0

source = """
#include <torch/extension.h>
template <class T> __global__ void cumsum_kernel(const T* in, T* out, int n) {
  __shared__ T temp[2][512];
  int t = threadIdx.x, p = 0;
  temp[0][t] = t < n ? in[blockIdx.x * n + t] : T(0);
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
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "cumsum_cuda", [&] {
    cumsum_kernel<<<x.size(0), 512>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.size(1));
  });
  return y;
}
TORCH_LIBRARY(sums, m) { m.def("cumsum(Tensor x) -> Tensor", &cumsum_cuda); }
"""
load_inline(
    name="cumsum",
    cpp_sources="",
    cuda_sources=source,
    is_python_module=False,
    extra_cuda_cflags=["-O3", "-DBROKEN"] if BROKEN else ["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, *inputs):
        return torch.ops.sums.cumsum(*inputs)


def get_inputs():
    return [torch.randn(2, 400)]


def get_init_inputs():
    return []
