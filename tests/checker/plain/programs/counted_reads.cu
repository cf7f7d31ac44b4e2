// SPDX-License-Identifier: Apache-2.0
// Threads count how often they read a word that does not change, and go on. Broken: they count until it
// changes.
__global__ void count(const volatile int* word, int* reads) {
  int n = 0;
#ifdef BROKEN
  while (*word == 0) ++n;  // FOUND: deadlock
#else
  while (*word == 0 && n < 8000) ++n;
#endif
  reads[threadIdx.x] = n;
}

int main() {
  int *word, *reads, first = 0;
  cudaMalloc(&word, sizeof(int)), cudaMalloc(&reads, 64 * sizeof(int));
  cudaMemset(word, 0, sizeof(int));
  count<<<1, 64>>>(word, reads);
  cudaMemcpy(&first, reads, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(word), cudaFree(reads);
  return first != 8000;
}
