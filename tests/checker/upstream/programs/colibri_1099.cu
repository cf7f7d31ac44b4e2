// SPDX-License-Identifier: Apache-2.0
// A warp stores a fragment of a Tensor Core's sum to shared memory, and its lanes read what others have
// stored, without a __syncwarp().
#include <cuda_fp16.h>
#include <mma.h>

#include "buffer.h"

__global__ void product(const __half* a, const __half* b, float* c) {
  using namespace nvcuda;
  __shared__ float out[256];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
#ifndef BROKEN
  __syncwarp();
#endif
  for (int i = threadIdx.x; i < 256; i += 32) c[i] = out[i] + 1;  // FOUND: uninitialised memory read or race
}

int main() {
  const buffer<__half> a(256, [](int i) { return static_cast<float>(i / 16); });
  const buffer<__half> b(256, [](int) { return 1.0f; });
  const buffer<float> c(256);
  product<<<1, 32>>>(a, b, c);
  return c.differs([](int i) { return 16 * (i / 16) + 1; });
}
