// SPDX-License-Identifier: Apache-2.0
// A lock in global memory, taken by a thread of each block, or by each lane of a warp. Broken: no fence
// orders the data that it guards; lanes wait for each other while one of them has it.
__device__ int lock;
__device__ int total;

__global__ void add(int n) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
#ifndef BROKEN
  __threadfence();
#endif
  total += n;  // FOUND: race
#ifndef BROKEN
  __threadfence();
#endif
  atomicExch(&lock, 0);
}

__global__ void add_by_lanes() {
  for (bool done = false; !done;) {
    if (atomicCAS(&lock, 0, 1) != 0) continue;  // FOUND: deadlock
    __threadfence();
    total += 1;
#ifdef BROKEN
    __syncwarp();
#endif
    __threadfence();
    atomicExch(&lock, 0);
    done = true;
  }
}

__global__ void take_and_leave() {
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  atomicExch(&lock, 0);
}

// A loop that works, though its warp meets each time without news.
__global__ void count(int* last) {
  for (int i = 0; i < 1200; ++i) {
    if (threadIdx.x == 0) *last = i;
    __syncwarp();
  }
}

int main() {
  int* last;
  cudaMalloc(&last, sizeof *last);
  count<<<1, 32>>>(last);
  cudaFree(last);
  for (int blocks = 3; blocks < 14; ++blocks) take_and_leave<<<blocks, 1>>>();
  add<<<5, 32>>>(3);
#ifdef BROKEN
  add_by_lanes<<<1, 32>>>();
#else
  add_by_lanes<<<2, 64>>>();
#endif
  int got = 0;
  cudaMemcpyFromSymbol(&got, total, sizeof got);
  return got == 143 ? 0 : 1;
}
