// SPDX-License-Identifier: Apache-2.0
// A map with a function of the caller, templates and lambdas; broken: a block reads what another one
// writes.
#include <vector>

template <typename T, typename F> __global__ void map(T* x, int n, F f) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BROKEN
  if (i < n) x[i] = f(x[(i + 1) % n]);  // FOUND: race or overwritten in use
#else
  if (i < n) x[i] = f(x[i]);
#endif
}

struct twice {
  template <typename T> __host__ __device__ T operator()(T v) const { return v + v; }
};

template <typename T> T* to_device(const std::vector<T>& h) {
  T* d = nullptr;
  cudaMalloc(&d, h.size() * sizeof(T));
  cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice);
  return d;
}

int main() {
  std::vector<double> h(100, 1.5);
  double* d = to_device(h);
  map<double, twice><<<(100 + 31) / 32, 32>>>(d, 100, twice());
  const double by = 3;
  map<<<4, 32>>>(d, 100, [=] __device__(double v) { return v * by; });
  cudaMemcpy(h.data(), d, h.size() * sizeof(double), cudaMemcpyDeviceToHost);
  cudaFree(d);
  return h[99] == 9 ? 0 : 1;
}
