# SPDX-License-Identifier: Apache-2.0
"""Layer norm in half precision, by AT_DISPATCH; broken: a barrier in a branch."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

BROKEN = 0

source = """
#include <torch/extension.h>
template <typename scalar_t>
__global__ void layernorm_kernel(const scalar_t* __restrict__ x, const scalar_t* __restrict__ w, const scalar_t* __restrict__ b, scalar_t* __restrict__ y, int n, float eps) {
  __shared__ float s_sum[256], s_sq[256];
  const int tid = threadIdx.x;
  const scalar_t* row = x + blockIdx.x * n;
  float sum = 0, sq = 0;
  for (int i = tid; i < n; i += blockDim.x) { float v = static_cast<float>(row[i]); sum += v; sq += v * v; }
  s_sum[tid] = sum; s_sq[tid] = sq;
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
    if (tid < stride) { s_sum[tid] += s_sum[tid + stride]; s_sq[tid] += s_sq[tid + stride]; 
#ifdef BROKEN
      __syncthreads();  // FOUND: divergent barrier
#endif
    }
    
#ifndef BROKEN
    __syncthreads();
#endif
  }
  float mean = s_sum[0] / n, var = s_sq[0] / n - mean * mean, inv = rsqrtf(var + eps);
  for (int i = tid; i < n; i += blockDim.x) y[blockIdx.x * n + i] = static_cast<scalar_t>((static_cast<float>(row[i]) - mean) * inv * static_cast<float>(w[i]) + static_cast<float>(b[i]));
}
torch::Tensor layernorm_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps) {
  const auto n = w.numel();
  auto y = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "layernorm_cuda", ([&] {
    layernorm_kernel<scalar_t><<<x.numel() / n, 256>>>(x.data_ptr<scalar_t>(), w.data_ptr<scalar_t>(), b.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n, (float)eps);
  }));
  return y;
}
"""
op = load_inline(
    name="layernorm",
    cpp_sources="torch::Tensor layernorm_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps);",
    cuda_sources=source,
    functions=["layernorm_cuda"],
    extra_cuda_cflags=["-O3", "-DBROKEN"] if BROKEN else ["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, *inputs):
        return op.layernorm_cuda(*inputs, 1e-5)


def get_inputs():
    return [torch.randn(3, 4, 320).half(), torch.randn(320).half(), torch.randn(320).half()]


def get_init_inputs():
    return []
