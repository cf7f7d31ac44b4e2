// SPDX-License-Identifier: Apache-2.0
// Kogge and Stone's scan with two buffers and one barrier per step; broken: threads below the stride do not
// copy their value.
constexpr int N = 96, NONE = 0;
#define OP(a, b) ((a) + (b))

__global__ void scan(const int* from, int* to) {
  __shared__ int part[2][N];
  const int t = threadIdx.x;
  int now = 0;
  part[now][t] = from[t];
  for (int stride = 1; stride < N; stride *= 2) {
    __syncthreads();
    if (t >= stride)
      part[1 - now][t] = part[now][t] + part[now][t - stride];  // FOUND: uninitialised memory read
#ifndef BROKEN
    else
      part[1 - now][t] = part[now][t];
#endif
    now = 1 - now;
  }
  to[t] = part[now][t];
}

int main() {
  int numbers[N], sums[N], *from, *to;
  for (int i = 0; i < N; ++i) numbers[i] = i * i % 13 - 20;
  cudaMalloc(&from, sizeof numbers), cudaMalloc(&to, sizeof sums);
  cudaMemcpy(from, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  scan<<<1, N>>>(from, to);
  cudaMemcpy(sums, to, sizeof sums, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  for (int i = 0, so_far = NONE; i < N; ++i)
    if (so_far = OP(so_far, numbers[i]); sums[i] != so_far) return 1;
}
