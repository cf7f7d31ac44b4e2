// SPDX-License-Identifier: Apache-2.0
// One stream produces what another uses; broken: no wait for the event between them.
__global__ void make(int* x) { x[threadIdx.x] = threadIdx.x; }
__global__ void use(const int* x, int* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }  // FOUND: race

int main() {
  int *x, *y, h[32];
  cudaStream_t one, two;
  cudaEvent_t made;
  cudaStreamCreate(&one), cudaStreamCreate(&two);
  cudaEventCreate(&made);
  cudaMalloc(&x, sizeof h), cudaMalloc(&y, sizeof h);
  cudaMemset(x, 0, sizeof h);
  make<<<1, 32, 0, one>>>(x);
  cudaEventRecord(made, one);
#ifndef BROKEN
  cudaStreamWaitEvent(two, made, 0);
#endif
  use<<<1, 32, 0, two>>>(x, y);
  cudaMemcpyAsync(h, y, sizeof h, cudaMemcpyDeviceToHost, two);
  cudaStreamSynchronize(two);
  cudaStreamSynchronize(one);
  cudaFree(x), cudaFree(y);
  cudaEventDestroy(made);
  cudaStreamDestroy(one), cudaStreamDestroy(two);
  return h[31] == 62 ? 0 : 1;
}
