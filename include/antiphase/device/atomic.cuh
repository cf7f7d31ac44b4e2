// SPDX-License-Identifier: Apache-2.0
// Atomic loads, stores and additions, fences, and polling.
#pragma once
#include <antiphase/core/scope.hpp>
#include <antiphase/device/index.cuh>
#include <cstdint>
#include <type_traits>
#if !AP_ON_GPU
#include <atomic>
#endif

namespace antiphase {
inline namespace AP_TARGET {

#if AP_ON_GPU
// Own PTX, since <cuda/atomic> takes the compiler eight seconds wherever it is included.
// AP_AT_SCOPE(before, after, operands...): the instruction with the name of scope S in between.
#define AP_AT_SCOPE(before, after, ...)             \
  if constexpr (S == scope::block)                  \
    asm volatile(before "cta" after : __VA_ARGS__); \
  else if constexpr (S == scope::system)            \
    asm volatile(before "sys" after : __VA_ARGS__); \
  else                                              \
    asm volatile(before "gpu" after : __VA_ARGS__)
template <class T> constexpr bool is_atomic = std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);
#else
template <scope S, class T> AP_DEV std::atomic_ref<T> atomic_on(T* at) {
  machine::next_scope = S;
  return std::atomic_ref<T>(*at);
}
#endif

// T: an integer of 4 or 8 bytes, or float for atomic_add. Memory: global or shared. S: the scope;
// scope::cluster is treated as device scope.
//   atomic_add      adds and returns the old value; relaxed
//   load_acquire    makes visible what a store_release has published
//   store_release   publishes everything that this thread wrote or saw before
//   load_relaxed, store_relaxed   the value only; with a fence after the load, or before the store, as strong
//                                 as the two above
//   fence           orders this thread's accesses before it against those after it; device_fence: at device
//                   scope
#if AP_ON_GPU
template <scope S = scope::device, class T> AP_DEV T atomic_add(T* at, std::type_identity_t<T> value) {
  static_assert(is_atomic<T> || std::is_same_v<T, float> || std::is_same_v<T, double>);
  T before;
  if constexpr (std::is_same_v<T, float>)
    AP_AT_SCOPE("atom.add.relaxed.", ".f32 %0,[%1],%2;", "=f"(before) : "l"(at), "f"(value) : "memory");
  else if constexpr (std::is_same_v<T, double>)
    AP_AT_SCOPE("atom.add.relaxed.", ".f64 %0,[%1],%2;", "=d"(before) : "l"(at), "d"(value) : "memory");
  else if constexpr (sizeof(T) == 8)
    AP_AT_SCOPE("atom.add.relaxed.", ".u64 %0,[%1],%2;", "=l"(before) : "l"(at), "l"(value) : "memory");
  else if constexpr (std::is_signed_v<T>)
    AP_AT_SCOPE("atom.add.relaxed.", ".s32 %0,[%1],%2;", "=r"(before) : "l"(at), "r"(value) : "memory");
  else
    AP_AT_SCOPE("atom.add.relaxed.", ".u32 %0,[%1],%2;", "=r"(before) : "l"(at), "r"(value) : "memory");
  return before;
}
template <scope S = scope::device, class T> AP_DEV T load_acquire(const T* at) {
  static_assert(is_atomic<T>);
  T value;
  if constexpr (sizeof(T) == 8)
    AP_AT_SCOPE("ld.acquire.", ".b64 %0,[%1];", "=l"(value) : "l"(at) : "memory");
  else
    AP_AT_SCOPE("ld.acquire.", ".b32 %0,[%1];", "=r"(value) : "l"(at) : "memory");
  return value;
}
template <scope S = scope::device, class T> AP_DEV void store_release(T* at, std::type_identity_t<T> value) {
  static_assert(is_atomic<T>);
  if constexpr (sizeof(T) == 8)
    AP_AT_SCOPE("st.release.", ".b64 [%0],%1;", : "l"(at), "l"(value) : "memory");
  else
    AP_AT_SCOPE("st.release.", ".b32 [%0],%1;", : "l"(at), "r"(value) : "memory");
}
template <scope S = scope::device, class T> AP_DEV T load_relaxed(const T* at) {
  static_assert(is_atomic<T>);
  T value;
  if constexpr (sizeof(T) == 8)
    AP_AT_SCOPE("ld.relaxed.", ".b64 %0,[%1];", "=l"(value) : "l"(at) : "memory");
  else
    AP_AT_SCOPE("ld.relaxed.", ".b32 %0,[%1];", "=r"(value) : "l"(at) : "memory");
  return value;
}
template <scope S = scope::device, class T> AP_DEV void store_relaxed(T* at, std::type_identity_t<T> value) {
  static_assert(is_atomic<T>);
  if constexpr (sizeof(T) == 8)
    AP_AT_SCOPE("st.relaxed.", ".b64 [%0],%1;", : "l"(at), "l"(value) : "memory");
  else
    AP_AT_SCOPE("st.relaxed.", ".b32 [%0],%1;", : "l"(at), "r"(value) : "memory");
}
template <scope S = scope::device> AP_DEV void fence() { AP_AT_SCOPE("fence.sc.", ";", ::"memory"); }
#undef AP_AT_SCOPE
#else
template <scope S = scope::device, class T> AP_DEV T atomic_add(T* at, std::type_identity_t<T> value) {
  return atomic_on<S>(at).fetch_add(value, std::memory_order_relaxed);
}
template <class T> AP_DEV T noted(const T* at, T value, machine::place where) {
  machine::loaded(at, static_cast<std::uint64_t>(value), where);
  return value;
}
template <scope S = scope::device, class T>
AP_DEV T load_acquire(const T* at, machine::place where = machine::place::current()) {
  static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  return noted(at, atomic_on<S>(const_cast<T*>(at)).load(std::memory_order_acquire), where);
}
template <scope S = scope::device, class T> AP_DEV void store_release(T* at, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  atomic_on<S>(at).store(value, std::memory_order_release);
}
template <scope S = scope::device, class T>
AP_DEV T load_relaxed(const T* at, machine::place where = machine::place::current()) {
  return noted(at, atomic_on<S>(const_cast<T*>(at)).load(std::memory_order_relaxed), where);
}
template <scope S = scope::device, class T> AP_DEV void store_relaxed(T* at, std::type_identity_t<T> value) {
  atomic_on<S>(at).store(value, std::memory_order_relaxed);
}
template <scope S = scope::device> AP_DEV void fence() {
  machine::next_scope = S;
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
#endif
AP_DEV void device_fence() { fence(); }

// poll(done): spins until done() holds. done() reads memory with load_acquire or load_relaxed and does
// nothing else: no warp operation, which the CPU executor would take for progress. Other threads run in
// between.
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

// load_relaxed() of device scope from global memory if `wanted`, else 0: a predicated load. Several in a row
// are in flight together; branches around them would serialise them.
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
AP_DEV std::uint64_t load_relaxed_if(bool wanted, const std::uint64_t* at) {
  return wanted ? load_relaxed(at) : 0;
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
