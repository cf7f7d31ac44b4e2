// Memory operations that other threads may perform at the same time, fences, and waiting for them.
#pragma once
#include <antiphase/device/index.cuh>
#include <cstdint>
#include <type_traits>
#if !AP_ON_GPU
#include <atomic>
#endif

namespace antiphase {
inline namespace AP_TARGET {

// Device scope: between all threads of one device. T: 4 or 8 bytes wide integer, or float for atomic_add.
//   atomic_add      adds, returns what was there before; relaxed
//   load_acquire    what a store_release has published can be seen afterwards
//   store_release   publishes everything this thread wrote or saw before
//   device_fence    orders this thread's accesses before it against those after it
//   poll(done)      waits until done() holds; done reads memory with load_acquire. Lets others run in between.
#if AP_ON_GPU
template <class T> AP_DEV T atomic_add(T* at, T value) { return atomicAdd(at, value); }
AP_DEV std::uint64_t atomic_add(std::uint64_t* at, std::uint64_t value) {
  return atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(value));
}
template <class T> AP_DEV T load_acquire(const T* at) {
  static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  if constexpr (sizeof(T) == 4) {
    std::uint32_t bits;
    asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(bits) : "l"(at) : "memory");
    return static_cast<T>(bits);
  } else {
    std::uint64_t bits;
    asm volatile("ld.acquire.gpu.global.b64 %0, [%1];" : "=l"(bits) : "l"(at) : "memory");
    return static_cast<T>(bits);
  }
}
template <class T> AP_DEV void store_release(T* at, T value) {
  static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  if constexpr (sizeof(T) == 4)
    asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(at), "r"(static_cast<std::uint32_t>(value)) : "memory");
  else
    asm volatile("st.release.gpu.global.b64 [%0], %1;" ::"l"(at), "l"(static_cast<std::uint64_t>(value)) : "memory");
}
AP_DEV void device_fence() { __threadfence(); }
template <class Done> AP_DEV void poll(Done done) {
  while (!done()) __nanosleep(32);
}
#else
template <class T> AP_DEV T atomic_add(T* at, T value) { return std::atomic_ref<T>(*at).fetch_add(value, std::memory_order_relaxed); }
template <class T> AP_DEV T load_acquire(const T* at) {
  static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  return std::atomic_ref<T>(*const_cast<T*>(at)).load(std::memory_order_acquire);
}
template <class T> AP_DEV void store_release(T* at, T value) {
  static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  std::atomic_ref<T>(*at).store(value, std::memory_order_release);
}
AP_DEV void device_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
template <class Done> AP_DEV void poll(Done done, machine::place where = machine::place::current()) {
  if (done()) return;
  do machine::yield(where);
  while (!done());
  machine::polled();
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
