// SPDX-License-Identifier: Apache-2.0
// Memory operations that other threads may perform at the same time, fences, and waiting for them.
#pragma once
#include <antiphase/core/scope.hpp>
#include <antiphase/device/index.cuh>
#include <cstdint>
#include <type_traits>
#if AP_ON_GPU
#include <cuda/atomic>
#else
#include <atomic>
#endif

namespace antiphase {
inline namespace AP_TARGET {

#if AP_ON_GPU
namespace memory = ::cuda;
template <scope S> constexpr ::cuda::thread_scope reach = S == scope::block    ? ::cuda::thread_scope_block
                                                          : S == scope::system ? ::cuda::thread_scope_system
                                                                               : ::cuda::thread_scope_device;
template <scope S, class T> AP_DEV ::cuda::atomic_ref<T, reach<S>> atomic_on(T* at) { return ::cuda::atomic_ref<T, reach<S>>(*at); }
template <scope S> AP_DEV void fence_all() { ::cuda::atomic_thread_fence(memory::memory_order_seq_cst, reach<S>); }
#else
namespace memory = std;
template <scope S, class T> AP_DEV std::atomic_ref<T> atomic_on(T* at) {
  machine::next_scope = S;
  return std::atomic_ref<T>(*at);
}
template <scope S> AP_DEV void fence_all() {
  machine::next_scope = S;
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
#endif

// T: 4 or 8 bytes wide integer, or float for atomic_add. Memory is global or shared. S: between whom; clusters have device scope.
//   atomic_add      adds, returns what was there before; relaxed
//   load_acquire    what a store_release has published can be seen afterwards
//   store_release   publishes everything this thread wrote or saw before
//   load_relaxed, store_relaxed   the value alone, which a fence behind or before makes as strong as the two above
//   fence           orders this thread's accesses before it against those after it; device_fence: fence of device scope
template <scope S = scope::device, class T> AP_DEV T atomic_add(T* at, std::type_identity_t<T> value) {
  return atomic_on<S>(at).fetch_add(value, memory::memory_order_relaxed);
}
#if AP_ON_GPU
template <scope S = scope::device, class T> AP_DEV T load_acquire(const T* at) {
  static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  return atomic_on<S>(const_cast<T*>(at)).load(memory::memory_order_acquire);
}
#else
template <class T> AP_DEV T noted(const T* at, T value, machine::place where) {
  machine::loaded(at, static_cast<std::uint64_t>(value), where);
  return value;
}
template <scope S = scope::device, class T> AP_DEV T load_acquire(const T* at, machine::place where = machine::place::current()) {
  static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  return noted(at, atomic_on<S>(const_cast<T*>(at)).load(memory::memory_order_acquire), where);
}
#endif
template <scope S = scope::device, class T> AP_DEV void store_release(T* at, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  atomic_on<S>(at).store(value, memory::memory_order_release);
}
#if AP_ON_GPU
template <scope S = scope::device, class T> AP_DEV T load_relaxed(const T* at) {
  return atomic_on<S>(const_cast<T*>(at)).load(memory::memory_order_relaxed);
}
#else
template <scope S = scope::device, class T> AP_DEV T load_relaxed(const T* at, machine::place where = machine::place::current()) {
  return noted(at, atomic_on<S>(const_cast<T*>(at)).load(memory::memory_order_relaxed), where);
}
#endif
template <scope S = scope::device, class T> AP_DEV void store_relaxed(T* at, std::type_identity_t<T> value) {
  atomic_on<S>(at).store(value, memory::memory_order_relaxed);
}
template <scope S = scope::device> AP_DEV void fence() { fence_all<S>(); }
AP_DEV void device_fence() { fence(); }

// poll(done): waits until done() holds; done reads memory, with load_acquire or load_relaxed, and does nothing else: no warp operation,
// since lanes that meet would count as going on. Lets others run in between.
#if AP_ON_GPU
template <class Done> AP_DEV void poll(Done done) {
  while (!done()) __nanosleep(32);
}
#else
template <class Done> AP_DEV void poll(Done done, machine::place where = machine::place::current()) {
  if (done()) return;
  do machine::yield(where);
  while (!done());
  machine::polled();
}
#endif

// load_relaxed() of device scope from global memory where it is wanted, else 0. Where several are asked for one after the other they are on
// their way together: branches around them would keep them apart.
#if AP_ON_GPU
AP_DEV std::uint64_t load_relaxed_if(bool wanted, const std::uint64_t* at) {
  std::uint64_t value = 0;
  asm volatile("{.reg .pred wanted; setp.ne.u32 wanted, %2, 0; @wanted ld.relaxed.gpu.global.u64 %0, [%1];}"
               : "+l"(value)
               : "l"(at), "r"(static_cast<unsigned>(wanted))
               : "memory");
  return value;
}
#else
AP_DEV std::uint64_t load_relaxed_if(bool wanted, const std::uint64_t* at) { return wanted ? load_relaxed(at) : 0; }
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
