// SPDX-License-Identifier: Apache-2.0
// Lab 9: a scan over a ring: one thread loads tiles ahead, two warps scan them.
#include <cstdio>
#include <vector>

struct mbarrier {
  unsigned long long word;
  __device__ unsigned address() { return static_cast<unsigned>(__cvta_generic_to_shared(&word)); }
  // A phase ends when so many have arrived, and the bytes that were announced have landed.
  __device__ void init(int parties) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(parties) : "memory");
  }
  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address()) : "memory");
  }
  // Arrives, and announces bytes of bulk copies.
  __device__ void expect(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
  }
  // Until the phase of that parity has ended: 0 is the first, 1 the second, 0 the third. A new barrier counts
  // as one whose phase of parity 1 has ended.
  __device__ void wait(int parity) {
    unsigned ended = 0;
    while (ended == 0)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(ended)
                   : "r"(address()), "r"(parity)
                   : "memory");
  }
};
// The initialisation of mbarriers becomes known to the copy engine.
__device__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// Copies of 16 bytes or a multiple, aligned to 16, by the copy engine. One thread starts them.
__device__ void bulk_load(void* to, const void* from, int bytes, mbarrier& full) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(from), "r"(bytes), "r"(full.address())
      : "memory");
}

constexpr int tile = 64;               // numbers in a slot, and scanning threads
constexpr int block_size = tile + 32;  // the last warp loads

// The sum of the values of threads 0 to t; `all` becomes that of all scanning threads. `sums` takes turns, so
// that one barrier of these threads suffices.
__device__ int scan_tile(int value, int t, int (&sums)[tile / 32], int& all) {
  for (int stride = 1; stride < 32; stride *= 2) {
    const int other = __shfl_up_sync(0xffffffff, value, stride);
    if (t % 32 >= stride) value += other;
  }
  if (t % 32 == 31) sums[t / 32] = value;
  asm volatile("bar.sync 1, %0;" ::"n"(tile) : "memory");
  all = sums[0] + sums[1];
  return t < 32 ? value : value + sums[0];
}

// to[i] = from[0] + ... + from[i] for n numbers, n a multiple of 4. One block.
template <int stages> __global__ void scan(const int* from, int* to, int n) {
  __shared__ alignas(128) int slot[stages][tile];
  __shared__ mbarrier full[stages], empty[stages];
  __shared__ int sums[2][tile / 32];
  const int t = threadIdx.x, tiles = (n + tile - 1) / tile;
  if (t == 0) {
    for (int s = 0; s < stages; ++s) full[s].init(1), empty[s].init(tile);
    fence_init();
  }
  __syncthreads();
  if (t >= tile) {
    for (int i = 0; t == tile && i < tiles; ++i) {
      const int s = i % stages, bytes = min(tile, n - i * tile) * 4;
      empty[s].wait(i / stages % 2 ^ 1);
      full[s].expect(bytes);
      bulk_load(slot[s], from + i * tile, bytes, full[s]);
    }
    return;
  }
  int before = 0;  // sum of all tiles before
  for (int i = 0; i < tiles; ++i) {
    const int s = i % stages;
    const bool in = i * tile + t < n;
    full[s].wait(i / stages % 2);
    const int value = in ? slot[s][t] : 0;
    empty[s].arrive();
    int all;
    const int sum = before + scan_tile(value, t, sums[i % 2], all);
    if (in) to[i * tile + t] = sum;
    before += all;
  }
}

int main() {
  const int n = 1000;
  std::vector<int> host(n, 1);
  int *from, *to;
  cudaMalloc(&from, n * sizeof(int)), cudaMalloc(&to, n * sizeof(int));
  cudaMemcpy(from, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  scan<4><<<1, block_size>>>(from, to, n);
  cudaMemcpy(host.data(), to, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += host[i] != i + 1;
  std::printf("%d of %d sums are wrong\n", wrong, n);
  return wrong != 0;
}
