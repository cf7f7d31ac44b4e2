// SPDX-License-Identifier: Apache-2.0
// The same scan, read by a neighbour; broken: the result is read from the input buffer of the last step,
// without a barrier.
constexpr int N = 64, NONE = 0;
#define OP(a, b) ((a) + (b))

__global__ void scan(const int* from, int* to) {
  __shared__ int part[2][N];
  const int t = threadIdx.x;
  int now = 0;
  part[now][t] = from[t];
  for (int stride = 1; stride < N; stride *= 2) {
    __syncthreads();
    part[1 - now][t] = part[now][t] + (t >= stride ? part[now][t - stride] : 0);
    now = 1 - now;
  }
#ifndef BROKEN
  __syncthreads();
#endif
  to[N - 1 - t] = part[now][N - 1 - t];  // FOUND: race
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
