# SPDX-License-Identifier: Apache-2.0
"""A convolution with an optional bias; broken: reads beyond the image."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

BROKEN = 0

source = """
#include <torch/extension.h>
#ifdef BROKEN
#define INSIDE h >= 0 && x >= 0
#else
#define INSIDE h >= 0 && h < H && x >= 0 && x < W
#endif
__global__ void conv2d_kernel(const float* in, const float* w, const float* bias, float* out, int N, int C, int H, int W, int OC, int K, int OH, int OW, int stride, int pad) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx >= N * OC * OH * OW) return;
  int ow = idx % OW, oh = idx / OW % OH, oc = idx / (OW * OH) % OC, n = idx / (OW * OH * OC);
  float v = bias ? bias[oc] : 0.f;
  for (int c = 0; c < C; ++c) for (int i = 0; i < K; ++i) for (int j = 0; j < K; ++j) {
    int h = oh * stride - pad + i, x = ow * stride - pad + j;
    if (INSIDE) v += in[((n * C + c) * H + h) * W + x] * w[((oc * C + c) * K + i) * K + j];  // FOUND: access outside memory
  }
  out[idx] = v;
}
torch::Tensor conv2d_cuda(torch::Tensor input, torch::Tensor weight, c10::optional<torch::Tensor> bias, int stride, int padding) {
  const int N = input.size(0), C = input.size(1), H = input.size(2), W = input.size(3), OC = weight.size(0), K = weight.size(2);
  const int OH = (H + 2 * padding - K) / stride + 1, OW = (W + 2 * padding - K) / stride + 1;
  auto out = torch::empty({N, OC, OH, OW}, input.options());
  const float* b = bias.has_value() ? bias->data_ptr<float>() : nullptr;
  conv2d_kernel<<<(out.numel() + 255) / 256, 256>>>(input.data_ptr<float>(), weight.data_ptr<float>(), b, out.data_ptr<float>(), N, C, H, W, OC, K, OH, OW, stride, padding);
  return out;
}
"""
op = load_inline(
    name="conv2d",
    cpp_sources="torch::Tensor conv2d_cuda(torch::Tensor input, torch::Tensor weight, c10::optional<torch::Tensor> bias, int stride, int padding);",
    cuda_sources=source,
    functions=["conv2d_cuda"],
    extra_cuda_cflags=["-O3", "-DBROKEN"] if BROKEN else ["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, *inputs):
        return op.conv2d_cuda(*inputs, None, 1, 1)


def get_inputs():
    return [torch.randn(1, 2, 9, 9), torch.randn(3, 2, 3, 3)]


def get_init_inputs():
    return []
