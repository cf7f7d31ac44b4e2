// SPDX-License-Identifier: Apache-2.0
// One warp waits for another's flag; broken: the flag is a plain variable, so the compiler reads it only
// once.
__device__ int flag_storage;

__global__ void hand_over(int* value, int* result) {
#ifdef BROKEN
  int* flag = &flag_storage;
#else
  volatile int* flag = &flag_storage;
#endif
  if (threadIdx.x == 0) {
    if (value[1] == 1) *value = 42;
    __threadfence();
    *flag = 1;
  } else if (threadIdx.x == 32) {
    if (*flag == 0)  // FOUND: deadlock
      while (*flag == 0) {
      }
    __threadfence();
    *result = *value;
  }
}

int main() {
  int *value, *result, seen = 0, start[2] = {0, 1};
  cudaMalloc(&value, sizeof start), cudaMalloc(&result, sizeof(int));
  cudaMemcpy(value, start, sizeof start, cudaMemcpyHostToDevice);
  hand_over<<<1, 64>>>(value, result);
  cudaMemcpy(&seen, result, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(value), cudaFree(result);
  return seen != 42;
}
