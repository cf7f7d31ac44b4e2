// SPDX-License-Identifier: Apache-2.0
// nvcc's built-in atomic functions, __nv_atomic_*(), with orders and scopes as arguments, for plain CUDA
// under the checker.
#pragma once
#include "device.h"

enum {
  __NV_ATOMIC_RELAXED,
  __NV_ATOMIC_CONSUME,
  __NV_ATOMIC_ACQUIRE,
  __NV_ATOMIC_RELEASE,
  __NV_ATOMIC_ACQ_REL,
  __NV_ATOMIC_SEQ_CST
};
enum {
  __NV_THREAD_SCOPE_THREAD,
  __NV_THREAD_SCOPE_BLOCK,
  __NV_THREAD_SCOPE_CLUSTER,
  __NV_THREAD_SCOPE_DEVICE,
  __NV_THREAD_SCOPE_SYSTEM
};

namespace antiphase::plain {
constexpr scope scope_of_builtin(int s) {
  return s == __NV_THREAD_SCOPE_SYSTEM    ? scope::system
         : s == __NV_THREAD_SCOPE_DEVICE  ? scope::device
         : s == __NV_THREAD_SCOPE_CLUSTER ? scope::cluster
                                          : scope::block;
}
constexpr ordering order_of_builtin(int o) {
  return o == __NV_ATOMIC_RELAXED                               ? ordering::relaxed
         : o == __NV_ATOMIC_ACQUIRE || o == __NV_ATOMIC_CONSUME ? ordering::acquire
         : o == __NV_ATOMIC_RELEASE                             ? ordering::release
                                                                : ordering::acquire_release;
}
template <class T, class Do> AP_VERB T built_in(T* p, int order, int s, place where, const Do& op,
                                                unchanged same = unchanged::is_written,
                                                std::uint64_t expected = 0, int if_not = 0) {
  if (s == __NV_THREAD_SCOPE_THREAD) {  // atomic for this thread alone: to others an ordinary access
    const T was = same == unchanged::not_read ? T{} : *p, now = op(was);
    if (same == unchanged::only_read || (same == unchanged::is_read && to_word(was) != expected)) return was;
    *p = now;
    return was;
  }
  if (order == __NV_ATOMIC_SEQ_CST || if_not == __NV_ATOMIC_SEQ_CST) fence(scope_of_builtin(s));
  return updated(p, scope_of_builtin(s), order_of_builtin(order), where, op, same, expected,
                 order_of_builtin(if_not));
}
}  // namespace antiphase::plain

#define AP_T template <class T> AP_VERB
#define AP_VALUE ::antiphase::plain::plain_type<T>
#define AP_MUTABLE const_cast<AP_VALUE*>(p)
#define AP_SCOPE int s = __NV_THREAD_SCOPE_SYSTEM, AP_AT
AP_T std::remove_cv_t<T> __nv_atomic_load_n(T* p, int order, AP_SCOPE) {
  using U = std::remove_cv_t<T>;
  return ::antiphase::plain::built_in(
      const_cast<U*>(p), order, s, ap_at, [](U a) { return a; }, ::antiphase::plain::unchanged::only_read);
}
AP_T void __nv_atomic_load(T* p, std::remove_cv_t<T>* to, int order, AP_SCOPE) {
  *to = __nv_atomic_load_n(p, order, s, ap_at);
}
AP_T void __nv_atomic_store_n(T* p, AP_VALUE v, int order, AP_SCOPE) {
  ::antiphase::plain::built_in(
      AP_MUTABLE, order, s, ap_at, [&](AP_VALUE) { return v; }, ::antiphase::plain::unchanged::not_read);
}
AP_T void __nv_atomic_store(T* p, AP_VALUE* v, int order, AP_SCOPE) {
  __nv_atomic_store_n(p, *v, order, s, ap_at);
}
AP_T AP_VALUE __nv_atomic_exchange_n(T* p, AP_VALUE v, int order, AP_SCOPE) {
  return ::antiphase::plain::built_in(AP_MUTABLE, order, s, ap_at, [&](AP_VALUE) { return v; });
}
AP_T void __nv_atomic_exchange(T* p, AP_VALUE* v, AP_VALUE* was, int order, AP_SCOPE) {
  *was = __nv_atomic_exchange_n(p, *v, order, s, ap_at);
}
AP_T bool __nv_atomic_compare_exchange_n(T* p, AP_VALUE* expected, AP_VALUE v, bool, int order, int if_not,
                                         AP_SCOPE) {
  const auto wanted = ::antiphase::plain::to_word(*expected);
  const AP_VALUE was = ::antiphase::plain::built_in(
      AP_MUTABLE, order, s, ap_at,
      [&](AP_VALUE a) { return ::antiphase::plain::to_word(a) == wanted ? v : a; },
      ::antiphase::plain::unchanged::is_read, wanted, if_not);
  if (::antiphase::plain::to_word(was) == wanted) return true;
  *expected = was;
  return false;
}
AP_T bool __nv_atomic_compare_exchange(T* p, AP_VALUE* expected, AP_VALUE* v, bool weak, int order,
                                       int if_not, AP_SCOPE) {
  return __nv_atomic_compare_exchange_n(p, expected, *v, weak, order, if_not, s, ap_at);
}
#define AP_FETCH(name, expression)                                                                 \
  AP_T AP_VALUE __nv_atomic_fetch_##name(T* p, AP_VALUE v, int order, AP_SCOPE) {                  \
    return ::antiphase::plain::built_in(AP_MUTABLE, order, s, ap_at, [&](AP_VALUE a) -> AP_VALUE { \
      return static_cast<AP_VALUE>(expression);                                                    \
    });                                                                                            \
  }                                                                                                \
  AP_T void __nv_atomic_##name(T* p, AP_VALUE v, int order, AP_SCOPE) {                            \
    __nv_atomic_fetch_##name(p, v, order, s, ap_at);                                               \
  }
AP_FETCH(add, a + v)
AP_FETCH(sub, a - v)
AP_FETCH(min, v < a ? v : a)
AP_FETCH(max, a < v ? v : a)
AP_FETCH(and, a& v)
AP_FETCH(or, a | v)
AP_FETCH(xor, a ^ v)
#undef AP_FETCH
#undef AP_SCOPE
#undef AP_MUTABLE
#undef AP_VALUE
#undef AP_T
AP_VERB void __nv_atomic_thread_fence(int order, int s) {
  if (s == __NV_THREAD_SCOPE_THREAD || order == __NV_ATOMIC_RELAXED) return;
  if (order == __NV_ATOMIC_SEQ_CST)
    ::antiphase::plain::fence(::antiphase::plain::scope_of_builtin(s));
  else
    ::antiphase::plain::fence(::antiphase::plain::scope_of_builtin(s),
                              ::antiphase::plain::order_of_builtin(order));
}
