# SPDX-License-Identifier: Apache-2.0
"""Work on a stream of PyTorch's pool, and a tensor that is kept; broken: the result is returned too early."""
import torch
from torch.utils.cpp_extension import load_inline

BROKEN = 0

source = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

__global__ void square(const float* x, float* part, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) part[i] = x[i], y[i] = part[i] * part[i];
}

at::Tensor squares(at::Tensor x) {
  static at::Tensor kept = at::empty_like(x);
  static const auto side = at::cuda::getStreamFromPool();
  const auto main = at::cuda::getCurrentCUDAStream();
  at::cuda::CUDAEvent made, done;
  made.record(main), made.block(side);
  auto y = at::empty_like(x), copy = x.clone();
  made.record(main), made.block(side);
  square<<<2, 32, 0, side>>>(copy.data_ptr<float>(), kept.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  copy.record_stream(side);
  done.record(side);
  if (!BROKEN) done.block(main);
  return y;
}
"""
squares = load_inline(
    name="side_stream",
    cpp_sources="at::Tensor squares(at::Tensor x);",
    cuda_sources=source,
    functions="squares",
    extra_cuda_cflags=[f"-DBROKEN={BROKEN}"],
).squares
for _ in range(3):
    assert BROKEN or squares(torch.tensor([1, 2, 3])).numpy().tolist() == [1, 4, 9]
if BROKEN:
    squares(torch.tensor([1, 2, 3]))
