// SPDX-License-Identifier: Apache-2.0
// Maxima of a block; broken: threads past the end do not initialise their words.
__global__ void largest(const int* x, int n, int* to) {
  __shared__ int s[64];
  const int t = threadIdx.x;
#ifdef BROKEN
  if (t < n) s[t] = x[t];
#else
  s[t] = t < n ? x[t] : -1;
#endif
  __syncthreads();
  if (t == 0) {
    int most = -1;
    for (int i = 0; i < 64; ++i) most = max(most, s[i]);  // FOUND: uninitialised memory read
    *to = most;
  }
}

int main() {
  int h[50], *d, *to, got;
  for (int i = 0; i < 50; ++i) h[i] = i * 7 % 50;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&to, sizeof(int));
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  largest<<<1, 64>>>(d, 50, to);
  cudaMemcpy(&got, to, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(d);
  cudaFree(to);
  return 0;
}
