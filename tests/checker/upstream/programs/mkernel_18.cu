// SPDX-License-Identifier: Apache-2.0
// A tile of shared memory holds first an input, then the result, which a bulk store takes away. The wait for
// that store comes at a fixed place of a pipeline, too late for the next task's load into the tile.
#include <cstdint>

#include "buffer.h"

constexpr int tile = 64, tasks = 4;

__global__ void doubled(const int* from, int* to) {
  __shared__ alignas(128) int slot[tile];
  __shared__ uint64_t full;
  const auto at = [](const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); };
  const int t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&full)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  for (int i = 0; i < tasks; ++i) {
    if (t == 0) {
#ifndef BROKEN
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&full)), "n"(tile * 4)
                   : "memory");
      asm volatile(  // FOUND: overwritten in use
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
              at(slot)),
          "l"(from + i * tile), "n"(tile * 4), "r"(at(&full))
          : "memory");
#ifdef BROKEN
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
    }
    asm volatile(
        "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra "
        "again;\n}" ::"r"(at(&full)),
        "r"(i % 2)
        : "memory");
    slot[t] *= 2;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to + i * tile),
                   "r"(at(slot)), "n"(tile * 4)
                   : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }
  if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

int main() {
  const buffer<int> from(tile * tasks, [](int i) { return i; }), to(tile * tasks);
  doubled<<<1, tile>>>(from, to);
  return to.differs([](int i) { return 2 * i; });
}
