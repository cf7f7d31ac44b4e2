// SPDX-License-Identifier: Apache-2.0
// Threads 1 to 32 take the else of a branch, store there, and read what another stored. The compiler looked
// at the other condition only, and moved the barrier in front of both.
#include "buffer.h"

__global__ void mirror(int* to) {
  __shared__ int part[64];
  const int t = threadIdx.x;
#ifdef BROKEN
  __syncthreads();
#endif
  if (t == 0 || t >= 33) {
    to[t] = 0;
  } else {
    part[t] = t;
#ifndef BROKEN
    asm volatile("barrier.sync 1, 64;" ::: "memory");  // of two warps, partly
#endif
    to[t] = part[33 - t];  // FOUND: race or uninitialised memory read
  }
#ifndef BROKEN
  if (t == 0 || (t >= 33 && t < 64)) asm volatile("barrier.sync 1, 64;" ::: "memory");
#endif
}

int main() {
  const buffer<int> to(128);
  mirror<<<1, 128>>>(to);
  return to.differs([](int i) { return i == 0 || i >= 33 ? 0 : 33 - i; });
}
