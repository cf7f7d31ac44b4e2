// SPDX-License-Identifier: Apache-2.0
// Loaded by loaded.py.
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

__global__ void add_rows(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> x,
                         const torch::PackedTensorAccessor32<float, 1> b, float* sums) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
  if (j >= x.size(1)) return;
  x[i][j] += b[j];
#ifdef BROKEN
  sums[j] += x[i][j];  // FOUND: race
#else
  atomicAdd(&sums[j], x[i][j]);
#endif
}

std::tuple<at::Tensor, int64_t> add_rows_(at::Tensor x, const at::Tensor& b, const std::string& what) {
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  TORCH_CHECK(x.dim() == 2 && what == "add", "expected a matrix, not ", x.sizes());
  auto sums = at::zeros({x.size(1)}, x.options());
  add_rows<<<dim3((x.size(1) + 63) / 64, x.size(0)), 64, 0, at::cuda::getCurrentCUDAStream()>>>(
      x.packed_accessor32<float, 2, torch::RestrictPtrTraits>(), b.packed_accessor32<float, 1>(),
      sums.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return {sums, x.numel()};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("add_rows_", &add_rows_, py::arg("x"), py::arg("b"), py::arg("what") = "add");
}
