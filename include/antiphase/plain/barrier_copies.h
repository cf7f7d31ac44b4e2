// SPDX-License-Identifier: Apache-2.0
// Bulk copies that a cuda::barrier counts: functions of cuda::device. Plain CUDA under the checker; included
// by cuda/barrier.
#pragma once
#include "async_copies.h"

#include "letters.h"

namespace cuda::device {
namespace ap = antiphase::plain;
namespace machine = antiphase::machine;
using block_barrier = barrier<thread_scope_block>;

inline unsigned long* barrier_native_handle(block_barrier& b) { return b.ap_word(); }
AP_VERB void barrier_expect_tx(block_barrier& b, long bytes, AP_AT) {
  machine::mbarrier_expect(b.ap_word(), static_cast<int>(bytes), ap_at);
}
AP_VERB block_barrier::arrival_token barrier_arrive_tx(block_barrier& b, long arrivals, long bytes, AP_AT) {
  barrier_expect_tx(b, bytes, ap_at);
  return b.arrive(arrivals, ap_at);
}
template <class Size>
AP_VERB void memcpy_async_tx(void* to, const void* from, Size bytes, block_barrier& b, AP_AT) {
  machine::bulk_load(to, from, static_cast<unsigned>(static_cast<std::size_t>(bytes)), b.ap_word(), ap_at);
}

namespace experimental {
AP_VERB void cp_async_bulk_global_to_shared(void* to, const void* from, unsigned bytes, block_barrier& b,
                                            AP_AT) {
  machine::bulk_load(to, from, bytes, b.ap_word(), ap_at);
}
AP_VERB void cp_async_bulk_shared_to_global(void* to, const void* from, unsigned bytes, AP_AT) {
  machine::bulk_store(to, from, bytes, ap_at);
}
#define AP_TENSOR(count, ints, places)                                                                     \
  AP_VERB void cp_async_bulk_tensor_##count##d_global_to_shared(void* to, const CUtensorMap* map, ints,    \
                                                                block_barrier& b, AP_AT) {                 \
    ap::ptx::tensor_load(to, reinterpret_cast<unsigned long>(map), {{places}}, count, b.ap_word(), ap_at); \
  }                                                                                                        \
  AP_VERB void cp_async_bulk_tensor_##count##d_shared_to_global(const CUtensorMap* map, ints,              \
                                                                const void* from, AP_AT) {                 \
    ap::ptx::tensor_store(reinterpret_cast<unsigned long>(map), from, {{places}}, count, ap_at);           \
  }
#define AP_LIST(...) __VA_ARGS__
AP_TENSOR(2, AP_LIST(int x, int y), AP_LIST(x, y))
AP_TENSOR(3, AP_LIST(int x, int y, int z), AP_LIST(x, y, z))
AP_TENSOR(4, AP_LIST(int x, int y, int z, int w), AP_LIST(x, y, z, w))
AP_TENSOR(5, AP_LIST(int x, int y, int z, int w, int v), AP_LIST(x, y, z, w, v))
#undef AP_LIST
#undef AP_TENSOR
AP_VERB void fence_proxy_async_shared_cta() { machine::proxy_fence(machine::proxy::shared); }
AP_VERB void cp_async_bulk_commit_group() { machine::bulk_commit(); }
template <int Left> AP_VERB void cp_async_bulk_wait_group(AP_AT) {
  machine::bulk_wait(Left, machine::bulk_done::written, ap_at);
}
template <int Left> AP_VERB void cp_async_bulk_wait_group_read(AP_AT) {
  machine::bulk_wait(Left, machine::bulk_done::read, ap_at);
}
}  // namespace experimental

}  // namespace cuda::device

#include "letters.h"
