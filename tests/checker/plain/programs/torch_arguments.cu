// SPDX-License-Identifier: Apache-2.0
// PyTorch's checks of arguments, reductions along an axis, and indices of tensors in kernels; broken: without
// the check of the types, as floats read as doubles.
#include <ATen/TensorUtils.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>
#include <ATen/cuda/detail/IndexUtils.cuh>
#include <ATen/cuda/detail/TensorInfo.cuh>

using at::cuda::detail::TensorInfo;
template <class T> __global__ void copy(TensorInfo<T, int> from, T* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int offset = at::cuda::detail::IndexToOffset<T, int, -1>::get(i, from);
  to[i] = from.data[offset];  // FOUND: access outside memory
}

at::Tensor contiguous(const at::Tensor& x, const at::Tensor& like) {
  at::TensorArg x_arg{x, "x", 1}, like_arg{like, "like", 2};
  at::CheckedFrom c = "contiguous";
#ifndef BROKEN
  at::checkAllSameType(c, {x_arg, like_arg});
#endif
  at::checkAllSameGPU(c, {x_arg, like_arg});
  c10::cuda::MaybeSetDevice(x.get_device());
  at::Tensor to = at::empty(x.sizes(), like.options());
  TORCH_CHECK(at::cuda::detail::canUse32BitIndexMath(x));
  AT_DISPATCH_FLOATING_TYPES(like.scalar_type(), "copy", [&] {
    copy<scalar_t><<<2, 32>>>(at::cuda::detail::getTensorInfo<scalar_t, int>(x), to.data_ptr<scalar_t>(),
                              static_cast<int>(x.numel()));
  });
  return to;
}
bool same(const at::Tensor& a, std::initializer_list<double> b) {
  return a.values() == std::vector<double>(b);
}

int main() {
  const at::Tensor x = at::arange(60, at::kFloat).reshape({5, 3, 4}).to(at::kCUDA).permute({2, 0, 1});
#ifdef BROKEN
  contiguous(x, at::zeros({1}, x.options().dtype(at::kDouble)));
#else
  bool refused = false;
  try {
    contiguous(x, at::zeros({1}, x.options().dtype(at::kDouble)));
  } catch (const c10::Error& e) {
    refused = std::string(e.what()).find("argument #2 'like'") != std::string::npos;
  }
  if (!refused) return 1;
  const at::Tensor y = contiguous(x, x);
  if (!y.is_contiguous() || y.values() != x.values()) return 2;
  const at::Tensor m = at::tensor({3.0, 1.0, 2.0, 3.0, 0.0, 5.0}).reshape({2, 3});
  const auto [largest, at_largest] = m.max(1);
  const auto [least, at_least] = torch::min(m, 0, true);
  if (!same(largest, {3, 5}) || !same(at_largest, {0, 2}) || largest.dim() != 1) return 3;
  if (!same(least, {3, 0, 2}) || !same(at_least, {0, 1, 0}) || least.dim() != 2) return 4;
  if (!same(torch::prod(m, 1), {6, 0}) || !same(m.argmax(0), {0, 0, 1})) return 5;
  const auto [once, places] = at::_unique(m, true, true);
  if (!same(once, {0, 1, 2, 3, 5}) || !same(places, {3, 1, 2, 3, 0, 4})) return 6;
  const at::Tensor coins = at::bernoulli(at::full({64}, 0.25));
  const double heads = coins.sum().item<double>();
  if (heads < 4 || heads > 32 || !same(at::bernoulli(at::zeros({2})), {0, 0})) return 7;
#endif
  return 0;
}
