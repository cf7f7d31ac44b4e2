// SPDX-License-Identifier: Apache-2.0
// An assertion in a kernel; broken: it fails.
#include <cassert>
#include <cstdio>

__global__ void check(int n) {
  if (threadIdx.x == 7) std::printf("seven of %d\n", n);
  assert(threadIdx.x < n);  // FOUND: kernel gave up
}

int main() {
#ifdef BROKEN
  check<<<1, 32>>>(20);
#else
  check<<<1, 32>>>(32);
#endif
  cudaDeviceSynchronize();
}
