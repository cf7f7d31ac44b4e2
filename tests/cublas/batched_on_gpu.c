// SPDX-License-Identifier: Apache-2.0
// cublasSgemmBatched with arrays of pointers from a small C program, every value checked; for
// bench/clients/clients_on_gpu.py. Compiled without CUDA's headers, linked with libcublas and libcudart.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int cublasCreate_v2(void**);
int cublasSgemmBatched(void*, int, int, int, int, int, const float*, const float* const*, int,
                       const float* const*, int, const float*, float* const*, int, int);
int cudaMalloc(void**, size_t);
int cudaMemcpy(void*, const void*, size_t, int);

enum { MEMBERS = 64, M = 96, N = 112, K = 128, TO_DEVICE = 1, TO_HOST = 2 };

static void require(int status, const char* what) {
  if (status == 0) return;
  printf("%s returned %d\n", what, status);
  exit(1);
}
static float* on_device(const void* from, size_t bytes) {
  void* memory = NULL;
  require(cudaMalloc(&memory, bytes), "cudaMalloc");
  require(cudaMemcpy(memory, from, bytes, TO_DEVICE), "cudaMemcpy to the device");
  return memory;
}
static float a_of(int l, int i, int p) { return (float)((l * 17 + i * 7 + p * 13) % 31 - 15) / 8; }
static float b_of(int l, int p, int j) { return (float)((l * 19 + p * 11 + j * 5) % 29 - 14) / 8; }

int main(void) {
  static float a[MEMBERS][K][M], b[MEMBERS][N][K], c[MEMBERS][N][M];  // columns
  float *in_a[MEMBERS], *in_b[MEMBERS], *in_c[MEMBERS];
  for (int l = 0; l < MEMBERS; ++l) {
    for (int p = 0; p < K; ++p)
      for (int i = 0; i < M; ++i) a[l][p][i] = a_of(l, i, p);
    for (int j = 0; j < N; ++j)
      for (int p = 0; p < K; ++p) b[l][j][p] = b_of(l, p, j);
    for (int j = 0; j < N; ++j)
      for (int i = 0; i < M; ++i) c[l][j][i] = (float)(i % 5);
    const int at = (l * 37) % MEMBERS;  // in another order than in memory
    in_a[at] = on_device(a[l], sizeof a[l]), in_b[at] = on_device(b[l], sizeof b[l]),
    in_c[at] = on_device(c[l], sizeof c[l]);
  }
  void* handle = NULL;
  require(cublasCreate_v2(&handle), "cublasCreate");
  const float alpha = -2, beta = 0.5f;
  void *const all_a = on_device(in_a, sizeof in_a), *const all_b = on_device(in_b, sizeof in_b),
              *const all_c = on_device(in_c, sizeof in_c);
  require(cublasSgemmBatched(handle, 0, 0, M, N, K, &alpha, all_a, M, all_b, K, &beta, all_c, M, MEMBERS),
          "cublasSgemmBatched");
  double worst = 0;
  for (int l = 0; l < MEMBERS; ++l) {
    require(cudaMemcpy(c[l], in_c[(l * 37) % MEMBERS], sizeof c[l], TO_HOST), "cudaMemcpy to the host");
    for (int j = 0; j < N; ++j)
      for (int i = 0; i < M; ++i) {
        double sum = 0;
        for (int p = 0; p < K; ++p) sum += (double)a_of(l, i, p) * b_of(l, p, j);
        worst = fmax(worst, fabs(c[l][j][i] - (alpha * sum + (double)beta * (i % 5))));
      }
  }
  printf("worst error %g\n", worst);
  return !(worst <= 1e-3);
}
