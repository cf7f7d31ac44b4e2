// SPDX-License-Identifier: Apache-2.0
// Functions of the host that streams call, in their order. Broken: one that is not ordered after the copy it
// reads, one that writes what a kernel reads on another stream, a result read by main too early, and one that
// calls CUDA.
constexpr int n = 32;
#ifdef BROKEN
constexpr bool right = false;
#else
constexpr bool right = true;
#endif

__global__ void fill(int* x, int v) { x[threadIdx.x] = v; }
__global__ void twice(const int* x, int* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }  // FOUND: race

struct task {
  int *from, *to;
};
void CUDART_CB add_one(void* data) {
  const task& t = *static_cast<task*>(data);
  for (int i = 0; i < n; ++i) t.to[i] = t.from[i] + 1;  // FOUND: race
}
void CUDART_CB done(cudaStream_t, cudaError_t, void* data) {
  *static_cast<int*>(data) = 1;
  if (!right) cudaDeviceSynchronize();  // FOUND: bad launch
}

int main() {
  int *x, *y, *in, *out, flag = 0;
  cudaStream_t s, t;
  cudaEvent_t copied, added;
  cudaStreamCreate(&s), cudaStreamCreate(&t);
  cudaEventCreate(&copied), cudaEventCreate(&added);
  cudaMalloc(&x, n * sizeof(int)), cudaMalloc(&y, n * sizeof(int));
  cudaMallocHost(&in, n * sizeof(int)), cudaMallocHost(&out, n * sizeof(int));
  task one{in, out};
  fill<<<1, n, 0, s>>>(x, 4);
  cudaMemcpyAsync(in, x, n * sizeof(int), cudaMemcpyDeviceToHost, s);
  cudaEventRecord(copied, s);
  if (right) cudaStreamWaitEvent(t, copied, 0);
  cudaLaunchHostFunc(t, add_one, &one);
  cudaEventRecord(added, t);
  if (right) cudaStreamWaitEvent(s, added, 0);
  twice<<<1, n, 0, s>>>(out, y);
  cudaMemcpyAsync(in, y, n * sizeof(int), cudaMemcpyDeviceToHost, s);
  cudaStreamAddCallback(s, done, &flag, 0);
  if (right) cudaStreamSynchronize(s);
  const int last = in[n - 1];  // FOUND: race
  cudaDeviceSynchronize();
  cudaEventDestroy(copied), cudaEventDestroy(added);
  cudaStreamDestroy(s), cudaStreamDestroy(t);
  cudaFree(x), cudaFree(y), cudaFreeHost(in), cudaFreeHost(out);
  return last == -1 || (right && (last != 10 || flag != 1)) ? 1 : 0;
}
