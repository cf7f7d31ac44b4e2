// SPDX-License-Identifier: Apache-2.0
// The functions that callers reach instead of cuBLAS's own. Each reads its arguments, and either antiphase
// computes the product or the original is called.
#include <cerrno>
#include <type_traits>

#include "preload/cublas/abi.hpp"
#include "preload/cublas/interpose/entry_points.h"
#include "preload/cublas/products.hpp"
#include "preload/cublas/triangles.hpp"

using namespace antiphase::cublas;

namespace {

// An entry's original for its caller, and how to call it. errno is preserved, except for what the original
// does to it.
template <class Function> struct next {
  int errors = errno;
  function id;
  const original& target;
  next(function which, const void* called_from) : id(which), target(original_of(which, called_from)) {}
  ~next() { errno = errors; }
  next(const next&) = delete;
  next& operator=(const next&) = delete;
  // `call` calls the original; its argument replaces C, unless it is null.
  template <class Call> int operator()(const product& p, handle on, Call call) const {
    if (is_passed_on_at_once(p)) return call(nullptr);
    return carried_out([&] { return request_of(target, id, on, p); }, call);
  }
  // For a function of a triangle: `call` calls the original with the arguments of a product.
  template <class Call> int by_parts(const product& p, handle on, Call call) const {
    const auto all = [&](void* other) {
      product q = p;
      if (other != nullptr) q.b = q.b == q.c ? other : q.b, q.c = other;
      return call(q);
    };
    if (is_passed_on_at_once(p)) return all(nullptr);
    const auto part = [](void* f, const product& q) { return (*static_cast<Call*>(f))(q); };
    const triangle t{p, on, target, part, &call};
    return carried_out([&] { return request_of(id, t); }, all);
  }
  template <class... Arguments> int passed_on(Arguments... all) {
    if (target.function == nullptr) return status_not_initialized;
    const passing_on now;
    errno = errors;
    const int status = reinterpret_cast<Function*>(target.function)(all...);
    errors = errno;
    return status;
  }
};
// A parameter's value, from the member of `product` that holds it.
template <class T, class From> T as(From x) {
  if constexpr (std::is_pointer_v<From>)
    return static_cast<T>(const_cast<void*>(x));
  else
    return static_cast<T>(x);
}
template <class T> T* or_else(void* other, T* c) { return other != nullptr ? static_cast<T*>(other) : c; }

template <class T> constexpr bool points_to_pointers(const T*) { return std::is_pointer_v<T>; }

}  // namespace

extern "C" {

#define AP_PARAMETER(type, name) , type name
#define AP_ARGUMENT(type, name) , name
#define AP_READ(type, name) p.name = name;
#define AP_DEFINE(entry, SIGNATURE, INT)                                    \
  int entry(handle on SIGNATURE(AP_PARAMETER, INT)) {                       \
    product p;                                                              \
    SIGNATURE(AP_READ, INT)                                                 \
    p.by_pointers = points_to_pointers(a);                                  \
    next<decltype(entry)> to(function::entry, __builtin_return_address(0)); \
    return to(p, on, [&, c](void* other) mutable {                          \
      c = or_else(other, c);                                                \
      return to.passed_on(on SIGNATURE(AP_ARGUMENT, INT));                  \
    });                                                                     \
  }
#define AP_MEMBER(type, name) , as<type>(q.name)
#define AP_DEFINE_TRIANGLE(entry, SIGNATURE, INT, of_family)                                                 \
  int entry(handle on SIGNATURE(AP_PARAMETER, INT)) {                                                        \
    product p;                                                                                               \
    SIGNATURE(AP_READ, INT)                                                                                  \
    p.kind = family::of_family;                                                                              \
    next<decltype(entry)> to(function::entry, __builtin_return_address(0));                                  \
    return to.by_parts(p, on, [&](const product& q) { return to.passed_on(on SIGNATURE(AP_MEMBER, INT)); }); \
  }
#define AP_DEFINED_BELOW(entry)
AP_CUBLAS_ENTRIES(AP_DEFINE, AP_DEFINE_TRIANGLE, AP_DEFINED_BELOW)

int cublasLtMatmul(handle on, description how, const void* alpha, const void* a, layout of_a, const void* b,
                   layout of_b, const void* beta, const void* c, layout of_c, void* d, layout of_d,
                   const void* algorithm, void* workspace, std::size_t bytes, antiphase_stream stream) {
  next<decltype(cublasLtMatmul)> to(function::cublasLtMatmul, __builtin_return_address(0));
  const lt_product p{how, alpha, a, b, beta, c, d, of_a, of_b, of_c, of_d, stream};
  return carried_out([&] { return request_of(to.target, on, p); },
                     [&](void* other) {
                       const void* const added = c == d && other != nullptr ? other : c;
                       return to.passed_on(on, how, alpha, a, of_a, b, of_b, beta, added, of_c,
                                           or_else(other, d), of_d, algorithm, workspace, bytes, stream);
                     });
}

}  // extern "C"

void* antiphase::cublas::entry_of(function which) {
#define AP_ADDRESS(entry, ...) \
  case function::entry: return reinterpret_cast<void*>(entry);
  switch (which) { AP_CUBLAS_ENTRIES(AP_ADDRESS, AP_ADDRESS, AP_ADDRESS) }
  return nullptr;
}
