// SPDX-License-Identifier: Apache-2.0
// An array on the device: filled by a function of the index, compared with another, freed at the end.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

template <class T> struct buffer {
  T* at = nullptr;
  int count;

  explicit buffer(int n) : count(n) {
    cudaMalloc(&at, n * sizeof(T));
    cudaMemset(at, 0, n * sizeof(T));
  }
  template <class F> buffer(int n, F value) : buffer(n) {
    std::vector<T> host(n);
    for (int i = 0; i < n; ++i) host[i] = static_cast<T>(value(i));
    cudaMemcpy(at, host.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  }
  buffer(const buffer&) = delete;
  ~buffer() { cudaFree(at); }
  operator T*() const { return at; }

  // 1 if an element is not the expected one: what main returns.
  template <class F> int differs(F expected) const {
    std::vector<T> host(count);
    const cudaError_t status = cudaMemcpy(host.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost);
    if (status != cudaSuccess) return std::printf("%s\n", cudaGetErrorString(status)), 2;
    for (int i = 0; i < count; ++i)
      if (host[i] != static_cast<T>(expected(i)))
        return std::printf("%d is %g, expected %g\n", i, static_cast<double>(host[i]),
                           static_cast<double>(expected(i))),
               1;
    return 0;
  }
};
