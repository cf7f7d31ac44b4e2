// SPDX-License-Identifier: Apache-2.0
// Every fourth thread stores and reads what the next one of them stored, round after round. The compiler
// moved the barrier of the loop, which stood in a branch, in front of the branch.
#include "buffer.h"

__global__ void rotate(const int* from, int* to) {
  __shared__ int part[32];
  const int t = threadIdx.x, mine = t / 4;
  int sum = 0;
#ifdef BROKEN
  __syncthreads();
  if (t % 4 == 0)
    for (int round = 0; round < 3; ++round) {
      part[mine] = from[mine] + round;
      sum += part[(mine + 9) % 32];  // FOUND: race or uninitialised memory read
    }
#else
  for (int round = 0; round < 3; ++round) {
    if (t % 4 == 0) part[mine] = from[mine] + round;
    __syncthreads();
    if (t % 4 == 0) sum += part[(mine + 9) % 32];
    __syncthreads();
  }
#endif
  if (t % 4 == 0) to[mine] = sum;
}

int main() {
  const buffer<int> from(32, [](int i) { return i; });
  const buffer<int> to(32);
  rotate<<<1, 128>>>(from, to);
  return to.differs([](int i) { return 3 * ((i + 9) % 32) + 3; });
}
