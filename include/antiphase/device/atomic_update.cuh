// SPDX-License-Identifier: Apache-2.0
// Atomic read-modify-write operations other than atomic_add of atomic.cuh.
#pragma once
#include <antiphase/core/atomic_update.hpp>
#include <antiphase/core/scope.hpp>
#include <antiphase/device/call_site.cuh>
#include <cstdint>
#include <type_traits>
#if !AP_ON_GPU
#include <antiphase/executor/cpu/machine_verbs.hpp>
#endif

namespace antiphase {
inline namespace AP_TARGET {

// All return the old value. S: the scope; cluster is treated as device. O: the memory ordering.
//   atomic_exchange           T: 4 or 8 bytes, trivially copyable
//   atomic_compare_exchange   as well; writes only if the bytes equal those of `expected`. A failed one
//                             orders like a load
//   atomic_and, atomic_or, atomic_xor, atomic_min, atomic_max   T: an integer of 4 or 8 bytes
//   atomic_increment   becomes 0 if the limit was reached, else one more
//   atomic_decrement   becomes the limit if it was 0 or above the limit, else one less
template <class T> using atomic_word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

#if AP_ON_GPU
#define AP_ATOM_OF(order, operation, ...)                        \
  if constexpr (S == scope::block)                               \
    asm volatile("atom." order ".cta." operation : __VA_ARGS__); \
  else if constexpr (S == scope::system)                         \
    asm volatile("atom." order ".sys." operation : __VA_ARGS__); \
  else                                                           \
    asm volatile("atom." order ".gpu." operation : __VA_ARGS__)
#define AP_ATOM(operation, ...)                          \
  if constexpr (O == ordering::acquire) {                \
    AP_ATOM_OF("acquire", operation, __VA_ARGS__);       \
  } else if constexpr (O == ordering::release) {         \
    AP_ATOM_OF("release", operation, __VA_ARGS__);       \
  } else if constexpr (O == ordering::acquire_release) { \
    AP_ATOM_OF("acq_rel", operation, __VA_ARGS__);       \
  } else {                                               \
    AP_ATOM_OF("relaxed", operation, __VA_ARGS__);       \
  }
template <atomic_update U, bool Signed, scope S, ordering O>
AP_DEV std::uint32_t update_word(void* at, std::uint32_t value, [[maybe_unused]] std::uint32_t expected,
                                 call_site) {
  std::uint32_t before;
  if constexpr (U == atomic_update::exchange) {
    AP_ATOM("exch.b32 %0,[%1],%2;", "=r"(before) : "l"(at), "r"(value) : "memory")
  } else if constexpr (U == atomic_update::compare_exchange) {
    AP_ATOM("cas.b32 %0,[%1],%2,%3;", "=r"(before) : "l"(at), "r"(expected), "r"(value) : "memory")
  } else if constexpr (U == atomic_update::bit_and) {
    AP_ATOM("and.b32 %0,[%1],%2;", "=r"(before) : "l"(at), "r"(value) : "memory")
  } else if constexpr (U == atomic_update::bit_or) {
    AP_ATOM("or.b32 %0,[%1],%2;", "=r"(before) : "l"(at), "r"(value) : "memory")
  } else if constexpr (U == atomic_update::bit_xor) {
    AP_ATOM("xor.b32 %0,[%1],%2;", "=r"(before) : "l"(at), "r"(value) : "memory")
  } else if constexpr (U == atomic_update::min && Signed) {
    AP_ATOM("min.s32 %0,[%1],%2;", "=r"(before) : "l"(at), "r"(value) : "memory")
  } else if constexpr (U == atomic_update::min) {
    AP_ATOM("min.u32 %0,[%1],%2;", "=r"(before) : "l"(at), "r"(value) : "memory")
  } else if constexpr (U == atomic_update::max && Signed) {
    AP_ATOM("max.s32 %0,[%1],%2;", "=r"(before) : "l"(at), "r"(value) : "memory")
  } else if constexpr (U == atomic_update::max) {
    AP_ATOM("max.u32 %0,[%1],%2;", "=r"(before) : "l"(at), "r"(value) : "memory")
  } else if constexpr (U == atomic_update::increment) {
    AP_ATOM("inc.u32 %0,[%1],%2;", "=r"(before) : "l"(at), "r"(value) : "memory")
  } else {
    static_assert(U == atomic_update::decrement);
    AP_ATOM("dec.u32 %0,[%1],%2;", "=r"(before) : "l"(at), "r"(value) : "memory")
  }
  return before;
}
template <atomic_update U, bool Signed, scope S, ordering O>
AP_DEV std::uint64_t update_word(void* at, std::uint64_t value, [[maybe_unused]] std::uint64_t expected,
                                 call_site) {
  std::uint64_t before;
  if constexpr (U == atomic_update::exchange) {
    AP_ATOM("exch.b64 %0,[%1],%2;", "=l"(before) : "l"(at), "l"(value) : "memory")
  } else if constexpr (U == atomic_update::compare_exchange) {
    AP_ATOM("cas.b64 %0,[%1],%2,%3;", "=l"(before) : "l"(at), "l"(expected), "l"(value) : "memory")
  } else if constexpr (U == atomic_update::bit_and) {
    AP_ATOM("and.b64 %0,[%1],%2;", "=l"(before) : "l"(at), "l"(value) : "memory")
  } else if constexpr (U == atomic_update::bit_or) {
    AP_ATOM("or.b64 %0,[%1],%2;", "=l"(before) : "l"(at), "l"(value) : "memory")
  } else if constexpr (U == atomic_update::bit_xor) {
    AP_ATOM("xor.b64 %0,[%1],%2;", "=l"(before) : "l"(at), "l"(value) : "memory")
  } else if constexpr (U == atomic_update::min && Signed) {
    AP_ATOM("min.s64 %0,[%1],%2;", "=l"(before) : "l"(at), "l"(value) : "memory")
  } else if constexpr (U == atomic_update::min) {
    AP_ATOM("min.u64 %0,[%1],%2;", "=l"(before) : "l"(at), "l"(value) : "memory")
  } else if constexpr (U == atomic_update::max && Signed) {
    AP_ATOM("max.s64 %0,[%1],%2;", "=l"(before) : "l"(at), "l"(value) : "memory")
  } else {
    static_assert(U == atomic_update::max, "there is no such instruction for 8 bytes");
    AP_ATOM("max.u64 %0,[%1],%2;", "=l"(before) : "l"(at), "l"(value) : "memory")
  }
  return before;
}
#undef AP_ATOM
#undef AP_ATOM_OF
#else
template <atomic_update U, bool Signed, scope S, ordering O, class Word>
AP_DEV Word update_word(void* at, Word value, Word expected, call_site where) {
  return static_cast<Word>(machine::update(at, {U, O, S, sizeof(Word), Signed}, value, expected, where));
}
#endif

template <atomic_update U, scope S, ordering O, class T>
AP_DEV T updated(T* at, T value, T expected, call_site where) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  using word = atomic_word<T>;
  return bit_cast<T>(
      update_word<U, std::is_signed_v<T>, S, O>(at, bit_cast<word>(value), bit_cast<word>(expected), where));
}
template <atomic_update U, scope S, ordering O, class T>
AP_DEV T updated_integer(T* at, T value, call_site where) {
  static_assert(std::is_integral_v<T>);
  return updated<U, S, O>(at, value, value, where);
}

template <scope S = scope::device, ordering O = ordering::relaxed, class T>
AP_DEV T atomic_exchange(T* at, std::type_identity_t<T> value, call_site where = call_site::current()) {
  return updated<atomic_update::exchange, S, O>(at, value, value, where);
}
template <scope S = scope::device, ordering O = ordering::relaxed, class T>
AP_DEV T atomic_compare_exchange(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value,
                                 call_site where = call_site::current()) {
  return updated<atomic_update::compare_exchange, S, O>(at, value, expected, where);
}
template <scope S = scope::device, ordering O = ordering::relaxed, class T>
AP_DEV T atomic_and(T* at, std::type_identity_t<T> value, call_site where = call_site::current()) {
  return updated_integer<atomic_update::bit_and, S, O>(at, value, where);
}
template <scope S = scope::device, ordering O = ordering::relaxed, class T>
AP_DEV T atomic_or(T* at, std::type_identity_t<T> value, call_site where = call_site::current()) {
  return updated_integer<atomic_update::bit_or, S, O>(at, value, where);
}
template <scope S = scope::device, ordering O = ordering::relaxed, class T>
AP_DEV T atomic_xor(T* at, std::type_identity_t<T> value, call_site where = call_site::current()) {
  return updated_integer<atomic_update::bit_xor, S, O>(at, value, where);
}
template <scope S = scope::device, ordering O = ordering::relaxed, class T>
AP_DEV T atomic_min(T* at, std::type_identity_t<T> value, call_site where = call_site::current()) {
  return updated_integer<atomic_update::min, S, O>(at, value, where);
}
template <scope S = scope::device, ordering O = ordering::relaxed, class T>
AP_DEV T atomic_max(T* at, std::type_identity_t<T> value, call_site where = call_site::current()) {
  return updated_integer<atomic_update::max, S, O>(at, value, where);
}
template <scope S = scope::device, ordering O = ordering::relaxed>
AP_DEV std::uint32_t atomic_increment(std::uint32_t* at, std::uint32_t limit,
                                      call_site where = call_site::current()) {
  return updated_integer<atomic_update::increment, S, O>(at, limit, where);
}
template <scope S = scope::device, ordering O = ordering::relaxed>
AP_DEV std::uint32_t atomic_decrement(std::uint32_t* at, std::uint32_t limit,
                                      call_site where = call_site::current()) {
  return updated_integer<atomic_update::decrement, S, O>(at, limit, where);
}

}  // namespace AP_TARGET
}  // namespace antiphase
