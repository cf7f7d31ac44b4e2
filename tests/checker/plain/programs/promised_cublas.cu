// SPDX-License-Identifier: Apache-2.0
// Operations of cuBLAS, normal numbers of cuRAND, and Thrust. Broken: a leading dimension that is too large.
#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <curand.h>
#include <curand_kernel.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/scan.h>

#include <cmath>
#include <cstdio>
#include <vector>

#if !defined CUBLAS_API_H_ || !defined CURAND_H_
#error "helper_cuda.h of the samples has names for errors of the libraries whose headers say so"
#endif
static_assert(cudaMemAttachSingle == 4);

template <class T> T* device(const std::vector<T>& from) {
  T* p;
  cudaMalloc(&p, from.size() * sizeof(T));
  cudaMemcpy(p, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice);
  return p;
}
template <class T> std::vector<T> host(const T* p, int n) {
  std::vector<T> h(n);
  cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
  return h;
}
__global__ void draw(float* to) {
  curandState state;
  curand_init(1, threadIdx.x, 0, &state);
  to[threadIdx.x] = curand_normal(&state);
}

int main() {
  cublasHandle_t h;
  cublasCreate(&h);
  const cublasOperation_t N = CUBLAS_OP_N;
  // in columns: (1 3; 2 4) and the identity
  const std::vector<float> numbers{1, 2, 3, 4}, unit{1, 0, 0, 1};
  float *a = device(numbers), *e = device(unit), *c = device(std::vector<float>(4)), one = 1, zero = 0,
        two = 2;
  int bad = 0, line = 0;
  const auto is = [&](const float* p, std::vector<float> want) {
    ++line;
    if (host(p, static_cast<int>(want.size())) != want) std::printf("%d is wrong\n", line), ++bad;
  };
  cublasSgemv(h, N, 2, 2, &one, a, 2, e, 1, &zero, c, 1), is(c, {1, 2});
  cublasScopy(h, 4, a, 1, c, 1), cublasSaxpy(h, 4, &two, e, 1, c, 1), is(c, {3, 2, 3, 6});
  cublasSger(h, 2, 2, &one, e, 1, e, 1, c, 2), is(c, {4, 2, 3, 6});
  cublasSgeam(h, CUBLAS_OP_T, N, 2, 2, &one, a, 2, &two, e, 2, c, 2), is(c, {3, 3, 2, 6});
  cublasSdgmm(h, CUBLAS_SIDE_LEFT, 2, 2, a, 2, a, 1, c, 2), is(c, {1, 4, 3, 8});
  cublasStrsm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, N, CUBLAS_DIAG_NON_UNIT, 2, 2, &one, a, 2, c, 2);
  is(c, {-2, 1, -3, 2});
  float dot = 0, length = 0;
  int largest = 0;
  cublasSdot(h, 4, a, 1, e, 1, &dot), cublasSnrm2(h, 2, a + 2, 1, &length),
      cublasIsamax(h, 4, a, 1, &largest);
  bad += dot != 5 || length != 5 || largest != 4;
  cublasGemmEx(h, N, N, 2, 2, 2, &one, a, CUDA_R_32F, 2, e, CUDA_R_32F, 2, &zero, c, CUDA_R_32F, 2,
               CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  is(c, numbers);
  cublasSgemmStridedBatched(h, N, N, 1, 1, 2, &one, a, 1, 2, a, 2, 2, &zero, c, 1, 1, 2), is(c, {5, 25});
  const float **as = device(std::vector<const float*>{a, e}), **es = device(std::vector<const float*>{e, e});
  float** cs = device(std::vector<float*>{c});
  cublasSgemmBatched(h, N, N, 2, 2, 2, &two, as, 2, es, 2, &zero, cs, 2, 1), is(c, {2, 4, 6, 8});
  double *d = device(std::vector<double>{3, 0}), ones = 1, none = 0;
#ifdef BROKEN
  cublasDgemm(h, N, N, 1, 1, 2, &ones, d, 2, d, 2, &none, d + 1, 1);  // FOUND: access outside memory
#else
  cublasDgemm(h, N, N, 1, 1, 1, &ones, d, 1, d, 1, &none, d + 1, 1);
  bad += host(d, 2)[1] != 9;
#endif
  const __half half_one = __float2half(1), half_zero = __float2half(0);
  __half* x = device(std::vector<__half>{half_one, half_one, half_zero});
  cublasHgemm(h, N, N, 1, 1, 2, &half_one, x, 1, x, 2, &half_zero, x + 2, 1);
  bad += __half2float(host(x, 3)[2]) != 2;
  cublasDestroy(h);

  curandGenerator_t g;
  curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT), curandGenerateNormal(g, c, 4, 0, 1);
  curandDestroyGenerator(g);
  draw<<<1, 4>>>(a);
  for (const float v : host(c, 4)) bad += !(std::fabs(v) < 7);
  for (const float v : host(a, 4)) bad += !(std::fabs(v) < 7);
  thrust::device_vector<int> from(4, 1), to(4);
  thrust::inclusive_scan(from.begin(), from.end(), to.begin());
  thrust::copy(to.begin() + 3, to.end(), from.begin());
  bad += from[0] != 4;
  cudaFree(a), cudaFree(e), cudaFree(c), cudaFree(d), cudaFree(x), cudaFree(as), cudaFree(es), cudaFree(cs);
  return bad == 0 ? 0 : std::printf("%d wrong\n", bad);
}
