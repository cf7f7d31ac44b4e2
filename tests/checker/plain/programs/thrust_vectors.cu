// SPDX-License-Identifier: Apache-2.0
// Vectors and algorithms of Thrust together with kernels. The broken one sorts on a stream that nothing
// orders after the kernel's.
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/merge.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#include <cstdio>

struct times {
  int by;
  __host__ __device__ int operator()(int x) const { return x * by; }
};
struct move_on {
  __host__ __device__ void operator()(thrust::tuple<int&, const int&> t) const {
    thrust::get<0>(t) += thrust::get<1>(t);
  }
};
struct put_tens {
  int* to;
  __device__ void operator()(int i) const { to[i] = i / 10; }
};

__global__ void turn(int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = n - 1 - i;
}

int main() {
  const int n = 200;
  int bad = 0;
  cudaStream_t first, second;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  thrust::device_vector<int> x(n), y(n, 3);
  int* raw = thrust::raw_pointer_cast(x.data());
  turn<<<(n + 63) / 64, 64, 0, first>>>(raw, n);
#ifdef BROKEN
  cudaStream_t here = second;
#else
  cudaStream_t here = first;
#endif
  thrust::sort(thrust::cuda::par.on(here), x.begin(), x.end());  // FOUND: race or overwritten in use
  cudaDeviceSynchronize();

  thrust::host_vector<int> h = x;
  for (int i = 0; i < n; ++i) bad += h[i] != i;
  bad += x[7] != 7;
  x[7] = 8;
  bad += thrust::reduce(x.begin(), x.end()) != n * (n - 1) / 2 + 1;
  x[7] = 7;
  thrust::transform(x.begin(), x.end(), y.begin(), x.begin(), thrust::plus<int>());
  bad += thrust::transform_reduce(x.begin(), x.end(), times{2}, 0, thrust::maximum<int>()) != 2 * (n + 2);
  thrust::for_each(thrust::make_zip_iterator(thrust::make_tuple(x.begin(), y.begin())),
                   thrust::make_zip_iterator(thrust::make_tuple(x.end(), y.end())), move_on());
  thrust::exclusive_scan(y.begin(), y.end(), y.begin());
  bad += y[n - 1] != 3 * (n - 1) || x[1] != 7;
  thrust::device_ptr<int> p = thrust::device_pointer_cast(raw);
  thrust::for_each(thrust::device, thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(n),
                   put_tens{raw});
  bad += thrust::unique(p, p + n) - p != n / 10;

  // Ranges of two types: multiples of 3 and of 5, with the shorter numbers first and last.
  thrust::device_vector<short> threes(7);
  thrust::device_vector<long> fives(5), all(12, -1);
  thrust::sequence(threes.begin(), threes.end(), 0, 3);
  thrust::sequence(fives.begin(), fives.end(), 0L, 5L);
  auto end = thrust::merge(threes.begin(), threes.end(), fives.begin(), fives.end(), all.begin());
  bad += end - all.begin() != 12 || all[2] != 3 || all[10] != 18 || all[11] != 20;
  end = thrust::merge(fives.begin(), fives.end(), threes.begin(), threes.end(), all.begin(),
                      [](long a, long b) { return a < b; });
  bad += end - all.begin() != 12 || all[4] != 6 || all[5] != 9;
  end = thrust::set_union(threes.begin(), threes.end(), fives.begin(), fives.end(), all.begin());
  bad += end - all.begin() != 10 || all[9] != 20;
  end = thrust::set_intersection(fives.begin(), fives.end(), threes.begin(), threes.end(), all.begin());
  bad += end - all.begin() != 2 || all[1] != 15;
  end = thrust::set_difference(thrust::device, threes.begin(), threes.end(), fives.begin(), fives.end(),
                               all.begin());
  bad += end - all.begin() != 5 || all[4] != 18;
  end =
      thrust::set_symmetric_difference(fives.begin(), fives.end(), threes.begin(), threes.end(), all.begin());
  bad += end - all.begin() != 8 || all[7] != 20;
  return bad == 0 ? 0 : std::printf("%d wrong\n", bad);
}
