// SPDX-License-Identifier: Apache-2.0
// Bulk reductions by TMA from shared memory into global memory (cp.reduce.async.bulk, sm_90).
#pragma once
#include <antiphase/core/bulk_update.hpp>
#include <antiphase/device/bulk.cuh>
#include <type_traits>
#if !AP_ON_GPU
#include <antiphase/device/call_site.cuh>
#include <antiphase/executor/cpu/machine_verbs.hpp>
#endif

namespace antiphase {
inline namespace AP_TARGET {

// bulk_reduce<What>: to[i] = What(to[i], from[i]) for `size` bytes; addresses and size are multiples of 16.
// Part of the groups of bulk_store: bulk_commit, bulk_wait_read, bulk_wait (device/bulk.cuh). Each element is
// updated by a relaxed atomic operation of device scope, so other blocks and atomics may update it too.
// Types, by the PTX ISA: add of 32-bit integers, unsigned 64-bit integers, float and double; min and max of
// integers; bit operations of unsigned integers.
template <bulk_update What, class T> constexpr bool reduces_in_bulk() {
  if (sizeof(T) != 4 && sizeof(T) != 8) return false;
  if (What == bulk_update::add)
    return std::is_floating_point_v<T> ||
           (std::is_integral_v<T> && (sizeof(T) == 4 || std::is_unsigned_v<T>));
  if (What == bulk_update::min || What == bulk_update::max) return std::is_integral_v<T>;
  return std::is_unsigned_v<T>;
}

#if AP_ON_GPU
#define AP_REDUCE(what, type)                                                      \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." what "." type \
               " [%0], [%1], %2;" ::"l"(to),                                       \
               "r"(shared_address(from)), "r"(size)                                \
               : "memory")
template <bulk_update What, class T> AP_DEV void bulk_reduce(T* to, const T* from, std::uint32_t size) {
  static_assert(reduces_in_bulk<What, T>(), "the copy engine has no such reduction of this type");
  constexpr bool wide = sizeof(T) == 8;
  if constexpr (What == bulk_update::add) {
    if constexpr (std::is_floating_point_v<T> && wide)
      AP_REDUCE("add", "f64");
    else if constexpr (std::is_floating_point_v<T>)
      AP_REDUCE("add", "f32");
    else if constexpr (wide)
      AP_REDUCE("add", "u64");
    else
      AP_REDUCE("add", "u32");
  } else if constexpr (What == bulk_update::min) {
    if constexpr (wide && std::is_signed_v<T>)
      AP_REDUCE("min", "s64");
    else if constexpr (wide)
      AP_REDUCE("min", "u64");
    else if constexpr (std::is_signed_v<T>)
      AP_REDUCE("min", "s32");
    else
      AP_REDUCE("min", "u32");
  } else if constexpr (What == bulk_update::max) {
    if constexpr (wide && std::is_signed_v<T>)
      AP_REDUCE("max", "s64");
    else if constexpr (wide)
      AP_REDUCE("max", "u64");
    else if constexpr (std::is_signed_v<T>)
      AP_REDUCE("max", "s32");
    else
      AP_REDUCE("max", "u32");
  } else if constexpr (What == bulk_update::bit_and) {
    if constexpr (wide)
      AP_REDUCE("and", "b64");
    else
      AP_REDUCE("and", "b32");
  } else if constexpr (What == bulk_update::bit_or) {
    if constexpr (wide)
      AP_REDUCE("or", "b64");
    else
      AP_REDUCE("or", "b32");
  } else {
    if constexpr (wide)
      AP_REDUCE("xor", "b64");
    else
      AP_REDUCE("xor", "b32");
  }
}
#undef AP_REDUCE
#else
template <bulk_update What, class T>
AP_DEV void bulk_reduce(T* to, const T* from, std::uint32_t size, call_site where = call_site::current()) {
  static_assert(reduces_in_bulk<What, T>(), "the copy engine has no such reduction of this type");
  constexpr auto kind = std::is_floating_point_v<T> ? machine::number_kind::floating
                        : std::is_signed_v<T>       ? machine::number_kind::signed_integer
                                                    : machine::number_kind::unsigned_integer;
  machine::bulk_reduce(to, from, size, {What, kind, static_cast<int>(sizeof(T))}, where);
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
