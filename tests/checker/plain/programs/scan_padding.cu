// SPDX-License-Identifier: Apache-2.0
// A scan of maxima in blocks of 32, the last one partial; broken: it is padded with zeros, the identity only
// of sums.
// FOUND SOMEWHERE: wrong result
constexpr int N = 45, NONE = -1000;
#define OP(a, b) ((a) < (b) ? (b) : (a))

__global__ void scan(const int* from, int* to) {
  __shared__ int part[64];
  const int t = threadIdx.x;
#ifdef BROKEN
  const int fill = 0;
#else
  const int fill = NONE;
#endif
  part[t] = from[t];
  if (t + N < 64) part[t + N] = fill;
  for (int stride = 1; stride < 64; stride *= 2) {
    __syncthreads();
    const int mine = part[63 - t], other = 63 - t >= stride ? part[63 - t - stride] : NONE;
    const int low = t < 64 - N ? part[t] : NONE, before = t < 64 - N && t >= stride ? part[t - stride] : NONE;
    __syncthreads();
    part[63 - t] = OP(mine, other);
    if (t < 64 - N) part[t] = OP(low, before);
  }
  __syncthreads();
  to[t] = OP(part[t], fill);
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
