# SPDX-License-Identifier: Apache-2.0
"""Functions of tensors in host code, compared with NumPy's; broken: a stream that does not wait for another."""
import numpy as np
import torch
from torch.utils.cpp_extension import load_inline

BROKEN = 0

source = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/all.h>

__global__ void twice(float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= 2;  // FOUND: race
}

std::vector<at::Tensor> functions(at::Tensor a, at::Tensor b) {
  const auto side = at::cuda::getStreamFromPool();
  at::Tensor doubled = a.clone();
  at::cuda::CUDAEvent copied, done;
  copied.record();
#ifndef BROKEN
  copied.block(side);
#endif
  twice<<<1, 64, 0, side>>>(doubled.data_ptr<float>(), doubled.numel());
  done.record(side), done.block(at::cuda::getCurrentCUDAStream());
  const at::Tensor x = a.view({1, 1, 3, 4}), w = b.slice(0, 0, 2).slice(1, 0, 2).reshape({1, 1, 2, 2});
  return {doubled,
          at::matmul(a, b.t()),
          a + b * 3 - 1,
          2 / (b * b + 1),
          a.sum(),
          a.sum({0}),
          a.mean({1}, /*keepdim=*/true),
          a.max(),
          a.amax({-1}),
          at::softmax(a, 1),
          at::cat({a, b}, 1),
          at::stack({a, b}),
          a.view({-1}).reshape({2, 6}).transpose(0, 1),
          a.permute({1, 0}).contiguous().flatten(),
          a.narrow(1, 1, 2).contiguous(),
          a[1].unsqueeze(0).expand({3, 4}).clone(),
          a.clamp(-0.5, 0.5),
          at::relu(a).sqrt(),
          at::constant_pad_nd(a, {1, 2, 0, 1}, 7),
          at::arange(12, a.options()).view_as(a),
          at::full_like(a, 2.5),
          (a > 0).to(at::kFloat),
          a.cumsum(1),
          at::exp(a.to(at::kDouble)).sigmoid().to(at::kFloat),
          a.masked_fill(a < 0, 0),
          at::conv2d(x, w, {}, /*stride=*/1, /*padding=*/1),
          at::conv_transpose2d(x, w, at::full({1}, 4, a.options()), 2)};
}
"""
ext = load_inline(
    name="host_functions",
    cpp_sources="#include <vector>\nstd::vector<at::Tensor> functions(at::Tensor a, at::Tensor b);",
    cuda_sources=[source],
    functions={"functions": "many"},
    extra_cuda_cflags=["-D", "BROKEN"] if BROKEN else None,
)
A, B = torch.randn(3, 4), torch.randn(3, 4)
B.numpy()[...] = B.numpy()[::-1]
found = ext.functions(A, B)
a, b = A.numpy().astype(np.float64), B.numpy().astype(np.float64)
e = np.exp(a - a.max(1, keepdims=True))
expected = [
    2 * a,
    a @ b.T,
    a + 3 * b - 1,
    2 / (b * b + 1),
    a.sum(),
    a.sum(0),
    a.mean(1, keepdims=True),
    a.max(),
    a.max(1),
    e / e.sum(1, keepdims=True),
    np.concatenate([a, b], 1),
    np.stack([a, b]),
    a.reshape(2, 6).T,
    a.T.flatten(),
    a[:, 1:3],
    np.stack([a[1]] * 3),
    np.clip(a, -0.5, 0.5),
    np.sqrt(np.maximum(a, 0)),
    np.pad(a, ((0, 1), (1, 2)), constant_values=7),
    np.arange(12.0).reshape(3, 4),
    np.full((3, 4), 2.5),
    a > 0,
    np.cumsum(a, 1),
    1 / (1 + np.exp(-np.exp(a))),
    np.maximum(a, 0),
    sum(b[k, l] * np.pad(a, 1)[k : k + 4, l : l + 5] for k in (0, 1) for l in (0, 1))[None, None],
    4 + np.kron(a, b[:2, :2])[None, None],
]
assert len(found) == len(expected)
for number, (f, x) in enumerate(zip(found, expected)):
    assert BROKEN or f.numpy().shape == np.shape(x), number
    assert BROKEN or np.allclose(f.numpy(), x, atol=1e-5), (number, f.numpy(), x)
