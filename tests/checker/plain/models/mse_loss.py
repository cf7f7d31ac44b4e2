# SPDX-License-Identifier: Apache-2.0
"""A loss added up by atomicAdd; broken: into memory that was never set to zero."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

BROKEN = 0

source = """
#include <torch/extension.h>
#ifdef BROKEN
#define SUMS torch::empty
#else
#define SUMS torch::zeros
#endif
__global__ void mse_kernel(const float* a, const float* b, float* out, int n) {
  __shared__ float sdata[256];
  int tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
  float d = i < n ? a[i] - b[i] : 0.0f;
  sdata[tid] = d * d;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) { if (tid < s) sdata[tid] += sdata[tid + s]; __syncthreads(); }
  if (tid == 0) atomicAdd(out, sdata[0]);  // FOUND: uninitialised memory read
}
torch::Tensor mse_cuda(torch::Tensor a, torch::Tensor b) {
  auto out = SUMS({1}, a.options());
  int n = a.numel();
  mse_kernel<<<(n + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), n);
  return (out / n).squeeze();
}
"""
op = load_inline(
    name="mse_loss",
    cpp_sources="torch::Tensor mse_cuda(torch::Tensor a, torch::Tensor b);",
    cuda_sources=source,
    functions=["mse_cuda"],
    extra_cuda_cflags=["-O3", "-DBROKEN"] if BROKEN else ["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, *inputs):
        return op.mse_cuda(*inputs)


def get_inputs():
    return [torch.randn(30, 40), torch.randn(30, 40)]


def get_init_inputs():
    return []
