// SPDX-License-Identifier: Apache-2.0
// A scan over states. The same shared memory takes two loads without a barrier between them, and the next
// step's inputs are stored while others still read this step's.
#include "buffer.h"

constexpr int threads = 64, states = 16, steps = 4;

__global__ void scan(const int* a, const int* s, const int* inputs, int* to) {
  __shared__ int passed[threads], input[states];
  const int t = threadIdx.x;
  passed[t] = a[t];
  __syncthreads();
  const int factor = passed[t ^ 32];  // FOUND: race
#ifndef BROKEN
  __syncthreads();
#endif
  passed[t] = s[t];
  __syncthreads();
  int state = passed[t ^ 32];
  for (int i = 0; i < steps; ++i) {
    if (t < states) input[t] = inputs[i * states + t];
    __syncthreads();
    for (int n = 0; n < states; ++n) state += factor * input[n];
    to[i * threads + t] = state;
#ifndef BROKEN
    __syncthreads();
#endif
  }
}

int main() {
  const buffer<int> a(threads, [](int) { return 1; }), s(threads, [](int i) { return i; });
  const buffer<int> inputs(states * steps, [](int i) { return i / states; }), to(threads * steps);
  scan<<<1, threads>>>(a, s, inputs, to);
  return to.differs([](int i) {
    const int step = i / threads;
    return (i % threads ^ 32) + states * step * (step + 1) / 2;
  });
}
