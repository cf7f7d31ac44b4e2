// SPDX-License-Identifier: Apache-2.0
// Every block decides from the box's volume whether a move is accepted (1000 at most); then the first one
// stores the new box. Blocks that begin later decide by the new box.
#include "buffer.h"

constexpr int n = 256;

__global__ void prepare(const int* box, int* volume) { *volume = box[0] * box[1] * box[2]; }

__global__ void decide(const int* volume_before, const int* new_box, const int* new_x, int* box, int* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BROKEN
  const int volume = box[0] * box[1] * box[2];
#else
  const int volume = *volume_before;
#endif
  if (volume > 1000) return;
  if (i < 3) box[i] = new_box[i];  // FOUND: overwritten in use
  x[i] = new_x[i];
}

int main() {
  const buffer<int> box(3, [](int) { return 10; }), new_box(3, [](int) { return 11; }), volume(1);
  const buffer<int> x(n), new_x(n, [](int i) { return i; });
  prepare<<<1, 1>>>(box, volume);
  decide<<<n / 64, 64>>>(volume, new_box, new_x, box, x);
  return x.differs([](int i) { return i; });
}
