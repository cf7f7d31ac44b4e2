# SPDX-License-Identifier: Apache-2.0
"""A product in tiles; broken: without the barrier after a tile."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

BROKEN = 0

source = """
#include <torch/extension.h>
#define TILE 16
__global__ void matmul_kernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K) {
  __shared__ float As[TILE][TILE];
  __shared__ float Bs[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y;
  int col = blockIdx.x * TILE + threadIdx.x;
  float value = 0.0f;
  for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
    As[threadIdx.y][threadIdx.x] = (row < M && t * TILE + threadIdx.x < K) ? A[row * K + t * TILE + threadIdx.x] : 0.0f;  // FOUND: overwritten in use
    Bs[threadIdx.y][threadIdx.x] = (col < N && t * TILE + threadIdx.y < K) ? B[(t * TILE + threadIdx.y) * N + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i) value += As[threadIdx.y][i] * Bs[i][threadIdx.x];
    
#ifndef BROKEN
    __syncthreads();
#endif
  }
  if (row < M && col < N) C[row * N + col] = value;
}
torch::Tensor matmul_cuda(torch::Tensor A, torch::Tensor B) {
  TORCH_CHECK(A.is_cuda() && B.is_cuda(), "inputs must be CUDA tensors");
  A = A.contiguous(), B = B.contiguous();
  int M = A.size(0), K = A.size(1), N = B.size(1);
  auto C = torch::zeros({M, N}, A.options());
  dim3 blockDim(TILE, TILE);
  dim3 gridDim((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
  matmul_kernel<<<gridDim, blockDim>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
  return C;
}
"""
op = load_inline(
    name="matmul",
    cpp_sources="torch::Tensor matmul_cuda(torch::Tensor A, torch::Tensor B);",
    cuda_sources=source,
    functions=["matmul_cuda"],
    extra_cuda_cflags=["-O3", "-DBROKEN"] if BROKEN else ["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, *inputs):
        return op.matmul_cuda(inputs[0], inputs[1].t())


def get_inputs():
    return [torch.randn(40, 33), torch.randn(20, 33)]


def get_init_inputs():
    return []
