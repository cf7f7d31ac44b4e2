// SPDX-License-Identifier: Apache-2.0
// Loops on antiphase/ring.cuh, each compared with the same loop with hand-written PTX: check_ring.py compares
// their machine code.
#include <antiphase/ring.cuh>
namespace ring = antiphase::ring;

constexpr int stages = 4, threads = 128, unit = 4 * threads;  // floats

__device__ unsigned address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// every thread loads and computes: cp.async
// -----------------------------------------------------------------------------------------------------------
__global__ void copies_by_ring(const float* from, float* to, int steps) {
  __shared__ alignas(16) float tile[stages][unit];
  const int t = static_cast<int>(threadIdx.x);
  float sum = 0;
  ring::async_copies<stages> copies;
  ring::pipeline{copies}.run(
      steps, [&](int i, int slot) { ring::copy_async<16>(&tile[slot][4 * t], from + i * unit + 4 * t, 16); },
      [&](int, int slot) {
        for (int j = 0; j < 4; ++j) sum += tile[slot][j * threads + t];
      });
  to[t] = sum;
}
__global__ void copies_by_hand(const float* from, float* to, int steps) {
  __shared__ alignas(16) float tile[stages][unit];
  const int t = static_cast<int>(threadIdx.x);
  float sum = 0;
  const auto load = [&](int i, int slot) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address(&tile[slot][4 * t])),
                 "l"(from + i * unit + 4 * t), "r"(16)
                 : "memory");
  };
  int slot = 0, next = 0;
  for (int i = 0; i < stages - 1; ++i) {
    if (i < steps) load(i, next);
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (++next == stages) next = 0;
  }
  for (int i = 0; i < steps; ++i) {
    asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
    __syncthreads();
    if (i + stages - 1 < steps) load(i + stages - 1, next);
    for (int j = 0; j < 4; ++j) sum += tile[slot][j * threads + t];
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (++next == stages) next = 0;
    if (++slot == stages) slot = 0;
  }
  for (int i = 0; i < stages - 1; ++i) {
    asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
    __syncthreads();
  }
  to[t] = sum;
}

// every thread loads and computes: registers
// -----------------------------------------------------------------------------------------------------------
__global__ void registers_by_ring(const float* from, float* to, int steps) {
  __shared__ float tile[2][threads];
  const int t = static_cast<int>(threadIdx.x);
  float sum = 0, next = 0;
  const auto store = [&](int slot) { tile[slot][t] = next; };
  ring::staged_copies<2, decltype(store)> copies{store};
  ring::pipeline{copies}.run(
      steps, [&](int i, int) { next = from[i * threads + t]; },
      [&](int, int slot) { sum += tile[slot][threads - 1 - t]; });
  to[t] = sum;
}
__global__ void registers_by_hand(const float* from, float* to, int steps) {
  __shared__ float tile[2][threads];
  const int t = static_cast<int>(threadIdx.x);
  float sum = 0, next = 0;
  int slot = 0, other = 0;
  if (0 < steps) next = from[t];
  tile[other++][t] = next;
  for (int i = 0; i < steps; ++i) {
    __syncthreads();
    if (i + 1 < steps) next = from[(i + 1) * threads + t];
    sum += tile[slot][threads - 1 - t];
    tile[other][t] = next;
    if (++other == 2) other = 0;
    if (++slot == 2) slot = 0;
  }
  __syncthreads();
  to[t] = sum;
}

// a warp loads by bulk copies, the others compute: mbarriers
// -----------------------------------------------------------------------------------------------------------
__global__ void __launch_bounds__(threads + 32) roles_by_ring(const float* from, float* to, int steps) {
  using namespace antiphase::ring;
  __shared__ alignas(128) float tile[stages][unit];
  __shared__ channel<mbarrier, stages, antiphase::ring::threads(1), warps(::threads / 32)> slots;
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) {
    slots.init();
    fence_mbarrier_init();
  }
  block_barrier();
  if (t >= ::threads) {
    if (t > ::threads) return;
    cursor<stages> at;
    for (int i = 0; i < steps; ++i, ++at) {
      slots.acquire(at);
      slots.commit(at, 0, bytes{unit * 4});
      bulk_load(tile[at.index], from + i * unit, unit * 4, slots.barrier[0][at.index]);
    }
  } else {
    float sum = 0;
    cursor<stages> at;
    for (int i = 0; i < steps; ++i, ++at) {
      slots.wait(at);
      for (int j = 0; j < 4; ++j) sum += tile[at.index][j * ::threads + t];
      slots.release(at, by_warp{});
    }
    to[t] = sum;
  }
}
__device__ __forceinline__ void wait_for(const std::uint64_t& barrier, unsigned parity) {
  unsigned ended = 0;
  while (ended == 0)
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(ended)
                 : "r"(address(&barrier)), "r"(parity)
                 : "memory");
}
__global__ void __launch_bounds__(threads + 32) roles_by_hand(const float* from, float* to, int steps) {
  __shared__ alignas(128) float tile[stages][unit];
  __shared__ std::uint64_t barrier[2][stages];
  std::uint64_t *const full = barrier[0], *const empty = barrier[1];
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) {
    for (int i = 0; i < stages; ++i)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&full[i])), "r"(1) : "memory");
    for (int i = 0; i < stages; ++i)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&empty[i])), "r"(threads / 32)
                   : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  int slot = 0;
  unsigned parity = 0;
  if (t >= threads) {
    if (t > threads) return;
    for (int i = 0; i < steps; ++i) {
      wait_for(empty[slot], parity ^ 1);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&full[slot])),
                   "r"(unit * 4)
                   : "memory");
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
              address(tile[slot])),
          "l"(from + i * unit), "r"(unit * 4), "r"(address(&full[slot]))
          : "memory");
      if (++slot == stages) slot = 0, parity ^= 1;
    }
  } else {
    float sum = 0;
    for (int i = 0; i < steps; ++i) {
      wait_for(full[slot], parity);
      for (int j = 0; j < 4; ++j) sum += tile[slot][j * threads + t];
      __syncwarp();
      if (t % 32 == 0)
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(&empty[slot])) : "memory");
      if (++slot == stages) slot = 0, parity ^= 1;
    }
    to[t] = sum;
  }
}
