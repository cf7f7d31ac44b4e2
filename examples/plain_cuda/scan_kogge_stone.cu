// SPDX-License-Identifier: Apache-2.0
// Prefix sums of Kogge and Stone; broken: a step reads what the same step of another thread writes.
__global__ void scan(int* x, int n) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = t < n ? x[t] : 0;
  for (int by = 1; by < blockDim.x; by *= 2) {
    __syncthreads();
    int v = 0;
    if (t >= by) v = s[t - by];
#ifndef BROKEN
    __syncthreads();
#endif
    if (t >= by) s[t] += v;  // FOUND: overwritten in use
  }
  if (t < n) x[t] = s[t];
}

int main() {
  const int n = 100;
  int h[n], *d;
  for (int i = 0; i < n; ++i) h[i] = i + 1;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  scan<<<1, 128>>>(d, n);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
#ifndef BROKEN
  for (int i = 0; i < n; ++i)
    if (h[i] != (i + 1) * (i + 2) / 2) return 1;
#endif
}
