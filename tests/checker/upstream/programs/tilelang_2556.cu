// SPDX-License-Identifier: Apache-2.0
// A branch of 48 threads stores, and each reads what another stored. A barrier for a part of a block wants
// whole warps, so the compiler left it out.
#include "buffer.h"

__global__ void swap(const int* from, int* to) {
  __shared__ int part[48];
  const int t = threadIdx.x;
#ifdef BROKEN
  if (t < 48) {
    part[t] = from[t];
    to[t] = part[47 - t];  // FOUND: race or uninitialised memory read
  }
#else
  if (t < 48) part[t] = from[t];
  __syncthreads();
  if (t < 48) to[t] = part[47 - t];
#endif
}

int main() {
  const buffer<int> from(48, [](int i) { return i; });
  const buffer<int> to(48);
  swap<<<1, 64>>>(from, to);
  return to.differs([](int i) { return 47 - i; });
}
