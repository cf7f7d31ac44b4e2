// SPDX-License-Identifier: Apache-2.0
// Lab 12: how many blocks fit, and how many buffers a block should have.
#include <cstdio>
#include <vector>

// A multiprocessor's resources for its blocks, those of an H200.
struct machine {
  int threads = 2048, blocks = 32, registers = 65536;
  int shared = 233472,
      reserved = 1024;  // bytes of shared memory; of them, what each block takes besides its own
};

// A block's threads, the registers of each, and its bytes of shared memory.
struct block {
  int threads, registers, shared;
};

// The blocks that run on a multiprocessor at the same time; 0: none fits. Warps have 32 threads, and get
// registers by multiples of 256, from the quarter of the multiprocessor that runs them.
int resident(const machine& m, const block& b) {
  // YOUR PART: threads are not the only limit.
  return m.threads / b.threads;
}

// The number of buffers of `slot` bytes, 1 to 4, with which a multiprocessor has the most bytes in flight; of
// several the least. `b.shared` is what a block has besides. A block with one buffer has that in flight
// while others compute; with more, all but one.
int best_stages(const machine& m, const block& b, int slot) {
  // YOUR PART: are two better than one?
  return 2;
}

constexpr int threads = 128, slot = 48 * 1024 / 4;  // numbers of a slot

// to[i] = the sum of the i-th slot. `stages` slots of dynamic shared memory; nothing to do here.
__global__ void sums(const float* from, float* to, int slots, int stages) {
  extern __shared__ float held[];
  const auto load = [&](int i) {
    for (int x = threadIdx.x; i < slots && x < slot; x += threads)
      held[i / gridDim.x % stages * slot + x] = from[i * slot + x];
  };
  for (int s = 0; s + 1 < stages; ++s) load(blockIdx.x + s * gridDim.x);
  for (int i = blockIdx.x; i < slots; i += gridDim.x) {
    load(i + (stages - 1) * gridDim.x);
    __syncthreads();
    if (threadIdx.x == 0) {
      float sum = 0;
      for (int x = 0; x < slot; x += 64) sum += held[i / gridDim.x % stages * slot + x];
      to[i] = sum;
    }
    __syncthreads();
  }
}

// Launches it with the best number of buffers.
void launch(const float* from, float* to, int slots, int blocks) {
  const int stages = best_stages(machine{}, {threads, 32, 0}, slot * 4);
  // YOUR PART: more than 48 KiB must be asked for.
  sums<<<blocks, threads, stages * slot * 4>>>(from, to, slots, stages);
}

int main() {
  const int slots = 3;
  std::vector<float> host(slots * slot, 1.0f);
  float *from, *to, back[slots];
  cudaMalloc(&from, host.size() * 4), cudaMalloc(&to, sizeof back);
  cudaMemcpy(from, host.data(), host.size() * 4, cudaMemcpyHostToDevice);
  launch(from, to, slots, 2);
  cudaMemcpy(back, to, sizeof back, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  int wrong = 0;
  for (const float one : back) wrong += one != slot / 64;
  std::printf("%d of %d sums are wrong\n", wrong, slots);
  return wrong != 0;
}
