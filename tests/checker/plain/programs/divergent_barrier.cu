// SPDX-License-Identifier: Apache-2.0
// A barrier that some threads never reach; correct: all reach it or have returned before.
__global__ void halves(int* x, int n) {
  const int t = threadIdx.x;
  if (t >= n) return;
#ifdef BROKEN
  if (t < n / 2) {
    x[t] += 1;
    __syncthreads();
  } else {
    x[t] += 2;
    __syncthreads();  // FOUND: divergent barrier
  }
#else
  x[t] += t < n / 2 ? 1 : 2;
  __syncthreads();
#endif
  if (t == 0) x[1] += x[2];
}

int main() {
  int h[48] = {}, *d;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  halves<<<1, 64>>>(d, 48);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
}
