// SPDX-License-Identifier: Apache-2.0
// Fences next to fence() of atomic.cuh and fence_async() of mbarrier.cuh.
#pragma once
#include <antiphase/core/scope.hpp>
#include <antiphase/device/index.cuh>
#if !AP_ON_GPU
#include <atomic>
#endif

namespace antiphase {
inline namespace AP_TARGET {

//   fence_acquire_release   cheaper than fence(), which is sequentially consistent: no total order of such
//                           fences. Enough around a relaxed operation that another thread reads
//   fence_async_global      fence_async() for global memory: orders ordinary writes to it before TMA's reads
//                           and writes there, once a barrier or a release has ordered the two threads (sm_90)
//   fence_async_all         both fence_async() and fence_async_global()
#if AP_ON_GPU
template <scope S = scope::device> AP_DEV void fence_acquire_release() {
  if constexpr (S == scope::block)
    asm volatile("fence.acq_rel.cta;" ::: "memory");
  else if constexpr (S == scope::system)
    asm volatile("fence.acq_rel.sys;" ::: "memory");
  else
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}
AP_DEV void fence_async_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
AP_DEV void fence_async_all() { asm volatile("fence.proxy.async;" ::: "memory"); }
#else
template <scope S = scope::device> AP_DEV void fence_acquire_release() {
  machine::next_scope = S;
  std::atomic_thread_fence(std::memory_order_acq_rel);
}
AP_DEV void fence_async_global() { machine::proxy_fence(machine::proxy::global); }
AP_DEV void fence_async_all() { machine::proxy_fence(machine::proxy::both); }
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
