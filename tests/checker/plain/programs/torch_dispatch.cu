// SPDX-License-Identifier: Apache-2.0
// Host code of a PyTorch extension: a dispatch by AT_DISPATCH_V2, and a product by PyTorch's cuBLAS handle on
// the stream of the kernel before it. Broken: the kernel is on another stream.
#include <ATen/Dispatch_v2.h>
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

template <class T, int by> __global__ void scale(T* x, int n) {
  if (const int i = blockIdx.x * blockDim.x + threadIdx.x; i < n) x[i] = static_cast<T>(x[i] * T(by));
}

void scaled(torch::Tensor x, cudaStream_t on) {
  const int n = static_cast<int>(x.numel());
  AT_DISPATCH_V2(x.scalar_type(), "scaled", AT_WRAP([&] {
                   const int threads = 32, blocks = (n + threads - 1) / threads;
                   scale<scalar_t, 2><<<blocks, threads, 0, on>>>(x.data_ptr<scalar_t>(), n);
                 }),
                 torch::kHalf, torch::kBFloat16, AT_EXPAND(AT_ALL_TYPES));
}

torch::Tensor product(torch::Tensor a, torch::Tensor b) {
  const int n = static_cast<int>(a.size(0));
  auto c = torch::empty_like(a);
  const float one = 1, zero = 0;
  const float *pa = a.data_ptr<float>(), *pb = b.data_ptr<float>();
  float* pc = c.data_ptr<float>();
  const cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
  const auto no = CUBLAS_OP_N;
  const auto done = cublasSgemm(handle, no, no, n, n, n, &one, pb, n, pa, n, &zero, pc, n);  // FOUND: race
  TORCH_CUDABLAS_CHECK(done);
  return c;
}

int main() {
  const auto on_device = torch::TensorOptions().device(torch::kCUDA);
  torch::Tensor a = torch::ones({8, 8}, on_device.dtype(torch::kFloat)),
                counts = torch::ones({40}, on_device.dtype(torch::kLong));
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
#ifdef BROKEN
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
#endif
  scaled(a, stream);
  scaled(counts, stream);
  const torch::Tensor c = product(a, a);
  float first = 0;
  long last = 0;
  cudaDeviceSynchronize();
  cudaMemcpy(&first, c.data_ptr<float>(), sizeof first, cudaMemcpyDeviceToHost);
  cudaMemcpy(&last, counts.data_ptr<std::int64_t>() + 39, sizeof last, cudaMemcpyDeviceToHost);
  return first == 32 && last == 2 ? 0 : 1;
}
