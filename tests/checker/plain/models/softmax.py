# SPDX-License-Identifier: Apache-2.0
"""Softmax of rows; broken: a buffer used again without a barrier."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

BROKEN = 0

source = """
#include <torch/extension.h>
__global__ void softmax_kernel(const float* __restrict__ input, float* __restrict__ output, int dim) {
  extern __shared__ float sdata[];
  const float* x = input + blockIdx.x * dim;
  float* y = output + blockIdx.x * dim;
  int tid = threadIdx.x;
  float max_val = -INFINITY;
  for (int i = tid; i < dim; i += blockDim.x) max_val = fmaxf(max_val, x[i]);
  sdata[tid] = max_val;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) sdata[tid] = fmaxf(sdata[tid], sdata[tid + s]);
    __syncthreads();
  }
  max_val = sdata[0];
  
#ifndef BROKEN
  __syncthreads();
#endif
  float sum = 0.0f;
  for (int i = tid; i < dim; i += blockDim.x) { float e = __expf(x[i] - max_val); y[i] = e; sum += e; }
  sdata[tid] = sum;  // FOUND: overwritten in use
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  sum = sdata[0];
  for (int i = tid; i < dim; i += blockDim.x) y[i] /= sum;
}
torch::Tensor softmax_cuda(torch::Tensor input) {
  auto output = torch::empty_like(input);
  int threads = 128;
  softmax_kernel<<<input.size(0), threads, threads * sizeof(float)>>>(input.data_ptr<float>(), output.data_ptr<float>(), input.size(1));
  return output;
}
"""
op = load_inline(
    name="softmax",
    cpp_sources="torch::Tensor softmax_cuda(torch::Tensor input);",
    cuda_sources=source,
    functions=["softmax_cuda"],
    extra_cuda_cflags=["-O3", "-DBROKEN"] if BROKEN else ["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, *inputs):
        return op.softmax_cuda(inputs[0])


def get_inputs():
    return [torch.randn(5, 300)]


def get_init_inputs():
    return []
