// SPDX-License-Identifier: Apache-2.0
// cuda/annotated_ptr, cuda/discard_memory and cuda/stream_ref. Hints for caches have no effect here.
#pragma once
#include "cuda_runtime.h"

#include <cstddef>

#include "letters.h"

namespace cuda {

class access_property {
 public:
  struct shared {};
  struct global {};
  struct normal {};
  struct persisting {};
  struct streaming {};
  constexpr access_property() = default;
  template <class Property, class... More> constexpr explicit(false) access_property(Property, More...) {}
};

template <class T, class Property> class annotated_ptr {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using reference = T&;
  using pointer = T*;
  using const_pointer = const T*;
  using difference_type = std::ptrdiff_t;

  constexpr annotated_ptr() = default;
  constexpr explicit annotated_ptr(T* p) : p_(p) {}
  template <class Given> constexpr annotated_ptr(T* p, Given) : p_(p) {}
  template <class U, class Other>
  constexpr explicit(false) annotated_ptr(const annotated_ptr<U, Other>& other) : p_(other.get()) {}
  constexpr T* operator->() const { return p_; }
  constexpr T& operator*() const { return *p_; }
  constexpr T& operator[](std::ptrdiff_t i) const { return p_[i]; }
  constexpr std::ptrdiff_t operator-(annotated_ptr other) const { return p_ - other.p_; }
  constexpr explicit operator bool() const { return p_ != nullptr; }
  constexpr T* get() const { return p_; }

 private:
  T* p_ = nullptr;
};

template <class T, class Property> constexpr T* associate_access_property(T* p, Property) { return p; }
template <class Shape, class Property>
constexpr void apply_access_property(const volatile void*, Shape, Property) {}
AP_VERB void discard_memory(volatile void* p, std::size_t bytes) { antiphase::plain::discard(p, bytes); }

// A stream, which stays its maker's.
class stream_ref {
 public:
  using value_type = cudaStream_t;
  constexpr stream_ref() = default;
  constexpr explicit(false) stream_ref(cudaStream_t s) : stream_(s) {}
  constexpr cudaStream_t get() const { return stream_; }
  void wait() const { cudaStreamSynchronize(stream_); }
  void sync() const { wait(); }
  bool ready() const { return cudaStreamQuery(stream_) == cudaSuccess; }
  bool is_done() const { return ready(); }
  friend constexpr bool operator==(stream_ref, stream_ref) = default;

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace cuda

#include "letters.h"
