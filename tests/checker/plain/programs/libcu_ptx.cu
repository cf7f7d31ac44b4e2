// SPDX-License-Identifier: Apache-2.0
// Bulk copies by cuda::ptx and cuda::device, as the CUDA guide shows them, and blocks of a cluster that send
// each other numbers by st_async, by a bulk copy, and by arrivals at each other's mbarriers. Broken: no proxy
// fence before a tile is stored; a tile that is written again while it is read; sent numbers are read before
// the phase that counts them has ended.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>

#include <cstdint>
#include <cstdio>
#include <utility>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
namespace cde = cuda::device::experimental;
using barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int size = 256, threads = 64;

__global__ void add_one(int* x) {
  __shared__ alignas(16) int tile[size];
  __shared__ barrier landed;
  if (threadIdx.x == 0) {
    init(&landed, blockDim.x);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  barrier::arrival_token token;
  if (ptx::get_sreg_tid_x() == 0) {
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, x, sizeof tile,
                       cuda::device::barrier_native_handle(landed));
    token = cuda::device::barrier_arrive_tx(landed, 1, sizeof tile);
  } else {
    token = landed.arrive();
  }
  landed.wait(std::move(token));
  for (int i = threadIdx.x; i < size; i += blockDim.x) tile[i] += 1;
#ifndef BROKEN
  ptx::fence_proxy_async(ptx::space_shared);
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared,  // FOUND: missing proxy fence
                       x, tile, sizeof tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
  }
}

__global__ void add_two(int* x) {
  __shared__ alignas(16) int tile[size];
  __shared__ barrier landed;
  if (threadIdx.x == 0) {
    init(&landed, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(tile, x, cuda::aligned_size_t<16>(sizeof tile), landed);
    cuda::device::barrier_expect_tx(landed, sizeof tile);
  }
  (void)landed.arrive();
  landed.wait_parity(false);
  for (int i = threadIdx.x; i < size; i += blockDim.x) tile[i] += 2;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_shared_to_global(x, tile, sizeof tile);
    cde::cp_async_bulk_commit_group();
#ifndef BROKEN
    cde::cp_async_bulk_wait_group_read<0>();
#endif
    tile[0] = 0;  // FOUND: overwritten in use
  }
}

// Each block sends its numbers to the next one.
__global__ void __cluster_dims__(2, 1, 1) sent_on(const int* from, int* to) {
  __shared__ alignas(16) int mine[threads], got[threads], all[threads];
  __shared__ uint64_t landed;
  const cg::cluster_group cluster = cg::this_cluster();
  const int t = threadIdx.x;
  mine[t] = from[blockIdx.x * threads + t];
  if (t == 0) {
    ptx::mbarrier_init(&landed, 2);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &landed,
                                   sizeof got + sizeof all);
  }
  ptx::fence_proxy_async();
  ptx::barrier_cluster_arrive(ptx::sem_release);
  ptx::barrier_cluster_wait(ptx::sem_acquire);
  const int other = cluster.block_rank() ^ 1;
  uint64_t* const their = cluster.map_shared_rank(&landed, other);
  ptx::st_async(cluster.map_shared_rank(&got[t], other), mine[t], their);
  if (t == 0) {
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, cluster.map_shared_rank(all, other), mine,
                       sizeof all, their);
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, their);
  }
#ifndef BROKEN
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &landed, 0)) {
  }
#endif
  to[blockIdx.x * threads + t] =
      got[t] + all[threads - 1 - t];  // FOUND: read before landing or race or uninitialised memory read
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &landed, 0)) {
  }
  cluster.sync();
}

// The same instructions as inline PTX: each block gets two numbers from the other; a thread leaves the
// mbarrier.
__global__ void __cluster_dims__(2, 1, 1) by_instructions(int* to) {
  __shared__ alignas(8) int got[2];
  __shared__ uint64_t landed;
  const cg::cluster_group cluster = cg::this_cluster();
  const auto address = [](const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); };
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&landed, 2);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &landed, sizeof got);
  }
  cluster.sync();
  const unsigned other = cluster.block_rank() ^ 1, there = address(cluster.map_shared_rank(got, other)),
                 their = address(cluster.map_shared_rank(&landed, other));
  unsigned rank = 0;
  if (threadIdx.x == 0) {
    asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(rank) : "r"(there));
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(
            there),
        "r"(blockIdx.x), "r"(rank), "r"(their)
        : "memory");
  }
  if (threadIdx.x == 1)
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" ::"r"(address(&landed)) : "memory");
  while (!ptx::mbarrier_try_wait_parity(&landed, 0)) {
  }
  if (threadIdx.x < 2) to[2 * blockIdx.x + threadIdx.x] = got[threadIdx.x];
  cluster.sync();
}

int main() {
  int h[size], *x, *y;
  for (int i = 0; i < size; ++i) h[i] = i;
  cudaMalloc(&x, sizeof h), cudaMalloc(&y, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  sent_on<<<4, threads>>>(x, y);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  bool good = true;
  for (int i = 0; i < size; ++i) {
    const int block = i / threads ^ 1, t = i % threads;
    good &= h[i] == 2 * block * threads + t + threads - 1 - t;
  }
  by_instructions<<<2, 32>>>(y);
  int got[4];
  cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost);
  good &= got[0] == 1 && got[1] == 0 && got[2] == 0 && got[3] == 1;
  add_one<<<1, threads>>>(x);
  add_two<<<1, threads>>>(x);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(y);
  for (int i = 0; i < size; ++i) good &= h[i] == i + 3;
  return good ? 0 : 1;
}
