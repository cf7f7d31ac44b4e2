// SPDX-License-Identifier: Apache-2.0
// Thrust under the checker: vectors, and all the rest. An algorithm on device memory is one operation on its
// stream; functors are called as in a kernel.
#pragma once
#include "thrust_order.h"

#include <antiphase/plain/letters.h>

namespace thrust {

template <class T> struct device_allocator { using value_type = T; };
template <class T> using device_malloc_allocator = device_allocator<T>;

namespace detail {
template <class T, ap::memory_kind Kind, class Pointer> class vector {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using iterator = Pointer;
  using const_iterator = Pointer;
  using pointer = Pointer;
  using reference = decltype(*std::declval<Pointer>());
  using const_reference = reference;
  static_assert(std::is_trivially_copyable_v<T> || std::is_copy_constructible_v<T>);

  vector() = default;
  AP_VERB explicit vector(std::size_t n) { resize(n); }
  AP_VERB vector(std::size_t n, const T& v) { resize(n, v); }
  AP_VERB vector(std::initializer_list<T> all) { assign(all.begin(), all.end()); }
  template <class I>
  requires(!std::is_integral_v<I>) AP_VERB vector(I first, I last) { assign(first, last); }
  AP_VERB vector(const vector& o) { assign(o.begin(), o.end()); }
  vector(vector&& o) noexcept { swap(o); }
  template <class Other>
  requires requires(const Other& o) { o.begin(), o.end(), o.size(); }
  AP_VERB vector(const Other& o) { assign(o.begin(), o.end()); }
  AP_VERB vector& operator=(const vector& o) {
    if (&o != this) assign(o.begin(), o.end());
    return *this;
  }
  vector& operator=(vector&& o) noexcept { return swap(o), *this; }
  template <class Other>
  requires requires(const Other& o) { o.begin(), o.end(), o.size(); }
  AP_VERB vector& operator=(const Other& o) { return assign(o.begin(), o.end()), *this; }
  AP_VERB ~vector() { give_back(at_); }

  template <class I>
  requires(!std::is_integral_v<I>) AP_VERB void assign(I first, I last) {
    make_room(static_cast<std::size_t>(std::distance(first, last)), 0);
    size_ = static_cast<std::size_t>(std::distance(first, last));
    if (size_ > 0) thrust::copy(first, last, device_ptr<T>(at_));
  }
  AP_VERB void assign(std::size_t n, const T& v) {
    clear();
    resize(n, v);
  }
  AP_VERB void resize(std::size_t n) {
    if constexpr (std::is_default_constructible_v<T>) resize(n, T());
  }
  AP_VERB void resize(std::size_t n, const T& v) {
    make_room(n, size_);
    if (n > size_)
      thrust::fill_n(device, device_ptr<T>(at_) + static_cast<std::ptrdiff_t>(size_), n - size_, v);
    size_ = n;
  }
  AP_VERB void reserve(std::size_t n) { make_room(n, size_); }
  AP_VERB void push_back(const T& v) {
    const T copy = v;
    if (size_ == room_) make_room(2 * size_ + 8, size_);
    resize(size_ + 1, copy);
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void shrink_to_fit() {}
  AP_VERB Pointer erase(Pointer first, Pointer last) {
    const std::vector<T> behind = host_copy(last, end());
    thrust::copy(behind.begin(), behind.end(), device_ptr<T>(raw_pointer_cast(first)));
    size_ -= static_cast<std::size_t>(last - first);
    return first;
  }
  AP_VERB Pointer erase(Pointer at) { return erase(at, at + 1); }
  template <class I>
  requires(!std::is_integral_v<I>) AP_VERB void insert(Pointer where, I first, I last) {
    const auto at = where - begin();
    const std::vector<T> behind = host_copy(where, end());
    const auto n = static_cast<std::size_t>(std::distance(first, last));
    resize(size_ + n);
    thrust::copy(first, last, device_ptr<T>(at_) + at);
    thrust::copy(behind.begin(), behind.end(), device_ptr<T>(at_) + at + static_cast<std::ptrdiff_t>(n));
  }
  void swap(vector& o) noexcept {
    std::swap(at_, o.at_);
    std::swap(size_, o.size_);
    std::swap(room_, o.room_);
  }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return room_; }
  bool empty() const { return size_ == 0; }
  Pointer begin() const { return Pointer(at_); }
  Pointer end() const { return begin() + static_cast<std::ptrdiff_t>(size_); }
  Pointer cbegin() const { return begin(); }
  Pointer cend() const { return end(); }
  auto rbegin() const { return thrust::make_reverse_iterator(end()); }
  auto rend() const { return thrust::make_reverse_iterator(begin()); }
  Pointer data() const { return begin(); }
  AP_VERB reference operator[](std::size_t i) const { return *(begin() + static_cast<std::ptrdiff_t>(i)); }
  AP_VERB reference front() const { return (*this)[0]; }
  AP_VERB reference back() const { return (*this)[size_ - 1]; }
  template <class Other> AP_VERB bool operator==(const Other& o) const {
    if (size() != o.size()) return false;
    const std::vector<T> mine = host_copy(begin(), end());
    std::vector<T> theirs(o.size());
    thrust::copy(o.begin(), o.end(), theirs.begin());
    return mine == theirs;
  }

 private:
  AP_VERB static std::vector<T> host_copy(Pointer first, Pointer last) {
    std::vector<T> all(static_cast<std::size_t>(last - first));
    thrust::copy(device_ptr<T>(raw_pointer_cast(first)), device_ptr<T>(raw_pointer_cast(last)), all.begin());
    return all;
  }
  AP_VERB static void give_back(T* p) {
    if (p != nullptr) cudaFree(p);
  }
  AP_VERB void make_room(std::size_t n, std::size_t keep) {
    if (n <= room_) return;
    void* fresh = nullptr;
    ap::allocate(&fresh, n * sizeof(T), Kind, ap::place::current());
    ap::owned_by_library(fresh);
    if (keep > 0)
      thrust::copy(device_ptr<T>(at_), device_ptr<T>(at_) + static_cast<std::ptrdiff_t>(keep),
                   device_ptr<T>(static_cast<T*>(fresh)));
    give_back(std::exchange(at_, static_cast<T*>(fresh)));
    room_ = n;
  }
  T* at_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};
}  // namespace detail
template <class T, class = void> using device_vector =
    detail::vector<T, ap::memory_kind::device, device_ptr<T>>;
template <class T, class = void> using universal_vector = detail::vector<T, ap::memory_kind::managed, T*>;
template <class T> using universal_ptr = T*;

template <class T, class = void> class host_vector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  host_vector() = default;
  host_vector(const std::vector<T>& o) : std::vector<T>(o) {}
  template <class U, ap::memory_kind K, class P> AP_VERB host_vector(const detail::vector<U, K, P>& o) {
    *this = o;
  }
  AP_VERB host_vector(device_ptr<T> first, device_ptr<T> last)
      : std::vector<T>(static_cast<std::size_t>(last - first)) {
    thrust::copy(first, last, this->begin());
  }
  template <class U, ap::memory_kind K, class P>
  AP_VERB host_vector& operator=(const detail::vector<U, K, P>& o) {
    this->resize(o.size());
    thrust::copy(o.begin(), o.end(), this->begin());
    return *this;
  }
};
template <class T> class device_new_allocator {};
template <class T = void> AP_VERB device_ptr<T> device_malloc(std::size_t n) {
  void* p = nullptr;
  ap::allocate(&p, n * sizeof(std::conditional_t<std::is_void_v<T>, char, T>), ap::memory_kind::device,
               ap::place::current());
  return device_ptr<T>(static_cast<T*>(p));
}
template <class T> AP_VERB device_ptr<T> device_new(std::size_t n = 1) { return device_malloc<T>(n); }
template <class T> AP_VERB void device_free(device_ptr<T> p) { cudaFree(p.get()); }
template <class T> AP_VERB void device_delete(device_ptr<T> p, std::size_t = 0) { cudaFree(p.get()); }

class system_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  template <class C> system_error(int, const C&, const std::string& what = {}) : std::runtime_error(what) {}
};
namespace system {
using thrust::system_error;
}
inline int cuda_category() { return 0; }
}  // namespace thrust

#include <antiphase/plain/cccl_version.h>
#define THRUST_VERSION 200200

#include <antiphase/plain/letters.h>
