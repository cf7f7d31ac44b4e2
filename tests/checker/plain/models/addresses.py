# SPDX-License-Identifier: Apache-2.0
"""Tensors handed over by their addresses, and half next to numbers; broken: the sum goes where others still read."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

BROKEN = 0

declared = """
#include <cstdint>
void add(uintptr_t a, int64_t b, uintptr_t c, int n);
torch::Tensor leaky(torch::Tensor x);
"""
source = """
#include <torch/extension.h>
__global__ void add_all(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];  // FOUND: race
}
void add(uintptr_t a, int64_t b, uintptr_t c, int n) {
  add_all<<<(n + 127) / 128, 128>>>((const float*)a, (const float*)b, (float*)c, n);
}
template <class T> __global__ void slope(T* p) {
  const T x = p[threadIdx.x];
  p[threadIdx.x] = (x > 0.0) ? T(x * 2) : T(0.5 * x);
}
torch::Tensor leaky(torch::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "leaky", [&] { slope<scalar_t><<<1, 32>>>(x.data_ptr<scalar_t>()); });
  return x;
}
TORCH_LIBRARY(addresses, m) {
  m.def("leaky(Tensor x) -> Tensor");
  m.impl("leaky", torch::dispatch(c10::DispatchKey::CUDA, TORCH_FN(leaky)));
}
"""
op = load_inline(name="addresses", cpp_sources=declared, cuda_sources=source, functions=["add"])


class ModelNew(nn.Module):
    def forward(self, a, b, h):
        c = b.clone()
        op.add(a.data_ptr(), (c if BROKEN else b).data_ptr() + 4, c.data_ptr(), 200)
        torch.ops.addresses.leaky(h)
        return c


class Model(nn.Module):
    def forward(self, a, b, h):
        return torch.tensor([x + y for x, y in zip(a.numpy(), b.numpy()[1:])] + [b.numpy()[-1]])


def get_inputs():
    return [torch.randn(200), torch.randn(201), torch.randn(32).half()]


def get_init_inputs():
    return []
