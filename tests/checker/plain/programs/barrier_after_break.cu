// SPDX-License-Identifier: Apache-2.0
// Each thread adds its neighbour's number until the sum is large. Broken: a thread breaks out alone
// and returns after the loop, while the others wait.
__global__ void grow(int* x, int n) {
  __shared__ int s[32];
  const int t = threadIdx.x;
  s[t] = t;
  for (int k = 0; k < 8; ++k) {
    __syncthreads();
    const int other = s[(t + 1) % 32];
#ifdef BROKEN
    if (other > 20) break;
#else
    if (__syncthreads_or(other > 1000)) break;
#endif
    __syncthreads();  // FOUND: divergent barrier
    s[t] += other;
  }
  if (t >= n) {
    return;
  }
  x[t] = s[t];
  if (t == 0) return;
}

int main() {
  int* x;
  cudaMalloc(&x, 128);
  grow<<<1, 32>>>(x, 30);
  const int result = cudaDeviceSynchronize();
  cudaFree(x);
  return result;
}
