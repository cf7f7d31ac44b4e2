// SPDX-License-Identifier: Apache-2.0
// A kernel of a PyTorch extension: divides each row of a matrix by its largest magnitude. There is no main:
// the kernel is called from Python.
#include <torch/extension.h>

__global__ void scale_rows(const float* from, float* to, int columns) {
  __shared__ float largest[64];
  const int t = threadIdx.x;
  const float* row = from + blockIdx.x * columns;
  float mine = 0;
  for (int i = t; i < columns; i += blockDim.x) mine = fmaxf(mine, fabsf(row[i]));
  largest[t] = mine;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) largest[t] = fmaxf(largest[t], largest[t + half]);
  }
#ifndef FORGOTTEN
  __syncthreads();
#endif
  for (int i = t; i < columns; i += blockDim.x) to[blockIdx.x * columns + i] = row[i] / largest[0];
}

torch::Tensor scale(torch::Tensor x) {
  auto y = torch::empty_like(x);
  scale_rows<<<x.size(0), 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale", &scale); }
