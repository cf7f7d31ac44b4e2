// SPDX-License-Identifier: Apache-2.0
// What Thrust's and CUB's algorithms have in common, under the checker: pointers, iterators, and how elements
// are read and written in a library's operation.
#pragma once
#include <complex>
#include <functional>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <antiphase/plain/libraries.h>

#include <antiphase/plain/letters.h>

namespace thrust {
namespace ap = antiphase::plain;

using std::get;
using std::ignore;
using std::make_pair;
using std::make_tuple;
using std::pair;
using std::swap;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;

// device memory
// -----------------------------------------------------------------------------------------------------------
template <class T> class device_ptr;
// An element of device memory: the host copies it, kernels use it.
template <class T> class device_reference {
 public:
  explicit device_reference(T* at) : at_(at) {}
  device_reference(const device_reference&) = default;
  AP_VERB operator std::remove_const_t<T>() const {
    std::remove_const_t<T> v;
    if (ap::in_library())
      ap::library_load((void*)&v, at_, sizeof(T));
    else if (ap::on_device())
      return *at_;
    else
      cudaMemcpy((void*)&v, at_, sizeof(T), cudaMemcpyDeviceToHost);
    return v;
  }
  AP_VERB const device_reference& operator=(const T& v) const {
    if (ap::in_library())
      ap::library_store((void*)at_, &v, sizeof(T));
    else if (ap::on_device())
      *const_cast<std::remove_const_t<T>*>(at_) = v;
    else
      cudaMemcpy((void*)at_, &v, sizeof(T), cudaMemcpyHostToDevice), cudaStreamSynchronize(nullptr);
    return *this;
  }
  AP_VERB const device_reference& operator=(const device_reference& o) const {
    return *this = static_cast<std::remove_const_t<T>>(o);
  }
  device_ptr<T> operator&() const { return device_ptr<T>(at_); }
#define AP_ASSIGN(op)                                                                   \
  template <class V> AP_VERB const device_reference& operator op##=(const V& v) const { \
    return *this = static_cast<T>(static_cast<T>(*this) op v);                          \
  }
  AP_ASSIGN(+)
  AP_ASSIGN(-)
  AP_ASSIGN(*)
  AP_ASSIGN(/)
#undef AP_ASSIGN
  AP_VERB const device_reference& operator++() const { return *this += T(1); }
  AP_VERB T operator++(int) const {
    const T v = *this;
    *this = static_cast<T>(v + T(1));
    return v;
  }

 private:
  T* at_;
};
template <class T> std::ostream& operator<<(std::ostream& out, const device_reference<T>& r) {
  return out << static_cast<std::remove_const_t<T>>(r);
}

// Arithmetic and comparisons of an iterator that has advance(n) and away(other).
template <class Self> struct steps {
  friend Self operator+(Self i, std::ptrdiff_t n) { return i.advance(n), i; }
  friend Self operator+(std::ptrdiff_t n, Self i) { return i.advance(n), i; }
  friend Self operator-(Self i, std::ptrdiff_t n) { return i.advance(-n), i; }
  friend std::ptrdiff_t operator-(const Self& a, const Self& b) { return a.away(b); }
  Self& operator++() { return self().advance(1), self(); }
  Self& operator--() { return self().advance(-1), self(); }
  Self operator++(int) {
    Self old = self();
    return self().advance(1), old;
  }
  Self operator--(int) {
    Self old = self();
    return self().advance(-1), old;
  }
  Self& operator+=(std::ptrdiff_t n) { return self().advance(n), self(); }
  Self& operator-=(std::ptrdiff_t n) { return self().advance(-n), self(); }
  AP_VERB decltype(auto) operator[](std::ptrdiff_t n) const { return *(static_cast<const Self&>(*this) + n); }
#define AP_COMPARE(op) \
  friend bool operator op(const Self& a, const Self& b) { return a.away(b) op 0; }
  AP_COMPARE(==)
  AP_COMPARE(!=)
  AP_COMPARE(<)
  AP_COMPARE(>)
  AP_COMPARE(<=)
  AP_COMPARE(>=)
#undef AP_COMPARE

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

struct random_access_universal_iterator_tag : std::random_access_iterator_tag {};
struct device_system_tag {};
struct host_system_tag {};
struct any_system_tag {};

template <class T> class device_ptr : public steps<device_ptr<T>> {
 public:
  using value_type = std::remove_const_t<T>;
  using element_type = T;
  using difference_type = std::ptrdiff_t;
  using reference = device_reference<T>;
  using pointer = device_ptr;
  using iterator_category = std::random_access_iterator_tag;
  device_ptr() = default;
  device_ptr(std::nullptr_t) {}
  explicit device_ptr(T* p) : at_(p) {}
  template <class U>
  requires std::is_convertible_v<U*, T*> || std::is_void_v<U> device_ptr(const device_ptr<U>& o)
      : at_((T*)o.get()) {}
  T* get() const { return at_; }
  explicit operator bool() const { return at_ != nullptr; }
  AP_VERB reference operator*() const { return reference(at_); }
  void advance(std::ptrdiff_t n) { at_ += n; }
  std::ptrdiff_t away(const device_ptr& o) const { return at_ - o.at_; }
  template <class U> bool operator==(const device_ptr<U>& o) const { return at_ == o.get(); }
  bool operator==(std::nullptr_t) const { return at_ == nullptr; }

 private:
  T* at_ = nullptr;
};
template <> class device_ptr<void> {
 public:
  device_ptr() = default;
  explicit device_ptr(void* p) : at_(p) {}
  template <class U> device_ptr(const device_ptr<U>& o) : at_((void*)o.get()) {}
  void* get() const { return at_; }

 private:
  void* at_ = nullptr;
};
template <class T> device_ptr<T> device_pointer_cast(T* p) { return device_ptr<T>(p); }
template <class T> device_ptr<T> device_pointer_cast(device_ptr<T> p) { return p; }
template <class T> T* raw_pointer_cast(T* p) { return p; }
template <class T> T* raw_pointer_cast(const device_ptr<T>& p) { return p.get(); }
template <class T> T& raw_reference_cast(T& r) { return r; }
template <class T> T& raw_reference_cast(const device_reference<T>& r) { return *(&r).get(); }

// iterators
// -----------------------------------------------------------------------------------------------------------
#define AP_ITERATOR(Value)                \
  using value_type = Value;               \
  using difference_type = std::ptrdiff_t; \
  using pointer = void;                   \
  using iterator_category = std::random_access_iterator_tag;

template <class T, class = void, class = void, class = void> class counting_iterator
    : public steps<counting_iterator<T>> {
 public:
  AP_ITERATOR(T)
  using reference = T;
  counting_iterator() = default;
  explicit counting_iterator(T v) : v_(v) {}
  T operator*() const { return v_; }
  void advance(std::ptrdiff_t n) { v_ = static_cast<T>(v_ + n); }
  std::ptrdiff_t away(const counting_iterator& o) const {
    return static_cast<std::ptrdiff_t>(v_) - static_cast<std::ptrdiff_t>(o.v_);
  }

 private:
  T v_{};
};
template <class T> counting_iterator<T> make_counting_iterator(T v) { return counting_iterator<T>(v); }

template <class T, class = std::ptrdiff_t, class = void> class constant_iterator
    : public steps<constant_iterator<T>> {
 public:
  AP_ITERATOR(T)
  using reference = T;
  explicit constant_iterator(T v, std::ptrdiff_t at = 0) : v_(v), at_(at) {}
  T operator*() const { return v_; }
  void advance(std::ptrdiff_t n) { at_ += n; }
  std::ptrdiff_t away(const constant_iterator& o) const { return at_ - o.at_; }

 private:
  T v_;
  std::ptrdiff_t at_;
};
template <class T> constant_iterator<T> make_constant_iterator(T v, std::ptrdiff_t at = 0) {
  return constant_iterator<T>(v, at);
}

class discard_iterator : public steps<discard_iterator> {
 public:
  struct nothing {
    template <class T> const nothing& operator=(const T&) const { return *this; }
  };
  AP_ITERATOR(nothing)
  using reference = nothing;
  explicit discard_iterator(std::ptrdiff_t at = 0) : at_(at) {}
  nothing operator*() const { return {}; }
  void advance(std::ptrdiff_t n) { at_ += n; }
  std::ptrdiff_t away(const discard_iterator& o) const { return at_ - o.at_; }

 private:
  std::ptrdiff_t at_;
};
inline discard_iterator make_discard_iterator(std::ptrdiff_t at = 0) { return discard_iterator(at); }

namespace detail {
// Where an iterator's memory is: the device's, the host's, or none.
enum class system { none, host, device };
constexpr system both(system a, system b) {
  return a == system::device || b == system::device ? system::device
         : a == system::host || b == system::host   ? system::host
                                                    : system::none;
}
template <class T> struct system_of { static constexpr system is = system::none; };  // no iterator at all
template <class T>
requires requires { typename std::iterator_traits<T>::iterator_category; }
struct system_of<T> {
  static constexpr system is = system::host;
};
template <class T> struct system_of<device_ptr<T>> { static constexpr system is = system::device; };
template <class T> struct system_of<counting_iterator<T>> { static constexpr system is = system::none; };
template <class T> struct system_of<constant_iterator<T>> { static constexpr system is = system::none; };
template <> struct system_of<discard_iterator> { static constexpr system is = system::none; };

template <class T> constexpr bool is_pointer = std::is_pointer_v<T>;
template <class T> constexpr bool is_pointer<device_ptr<T>> = true;
template <class T>
concept fancy = requires(const T& i) {
  i.ap_get();
};

// The element's value, in a library's operation or elsewhere.
template <class I> AP_VERB auto value_at(const I& i) {
  if constexpr (is_pointer<I>) {
    auto* const p = raw_pointer_cast(i);
    using T = std::remove_cvref_t<decltype(*p)>;
    if (!ap::in_library() || !std::is_trivially_copyable_v<T>) return T(*p);
    alignas(T) unsigned char bytes[sizeof(T)];
    ap::library_load(bytes, p, sizeof(T));
    return T(reinterpret_cast<T&>(bytes));
  } else if constexpr (fancy<I>) {
    return i.ap_get();
  } else {
    return typename std::iterator_traits<I>::value_type(*i);
  }
}
template <class I, class V> AP_VERB void put_at(const I& i, const V& v) {
  if constexpr (is_pointer<I>) {
    auto* const p = raw_pointer_cast(i);
    using T = std::remove_cvref_t<decltype(*p)>;
    const T value = static_cast<T>(v);
    if (ap::in_library())
      ap::library_store((void*)p, &value, sizeof(T));
    else
      *p = value;
  } else if constexpr (requires { i.ap_put(v); }) {
    i.ap_put(v);
  } else {
    I at = i;
    *at = v;
  }
}
// The element itself, for a function that may change it.
template <class I> AP_VERB decltype(auto) element_at(const I& i) {
  if constexpr (is_pointer<I>)
    return *raw_pointer_cast(i);
  else if constexpr (requires { i.ap_element(); })
    return i.ap_element();
  else
    return *i;
}
template <class I> using value_of = std::remove_cvref_t<decltype(value_at(std::declval<const I&>()))>;
}  // namespace detail

template <class F, class I, class = void, class = void> class transform_iterator
    : public steps<transform_iterator<F, I>> {
 public:
  using value_type = std::remove_cvref_t<std::invoke_result_t<const F&, detail::value_of<I>&>>;
  using reference = value_type;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using iterator_category = std::random_access_iterator_tag;
  transform_iterator(I i, F f) : i_(i), f_(f) {}
  value_type operator*() const { return ap_get(); }
  AP_VERB value_type ap_get() const {
    auto v = detail::value_at(i_);
    return f_(v);
  }
  const I& base() const { return i_; }
  void advance(std::ptrdiff_t n) { i_ = i_ + n; }
  std::ptrdiff_t away(const transform_iterator& o) const { return i_ - o.i_; }

 private:
  I i_;
  F f_;
};
template <class F, class I> transform_iterator<F, I> make_transform_iterator(I i, F f) { return {i, f}; }

template <class F, class I> class transform_output_iterator : public steps<transform_output_iterator<F, I>> {
 public:
  AP_ITERATOR(void)
  struct reference {
    const transform_output_iterator& i;
    template <class V> const reference& operator=(const V& v) const { return i.ap_put(v), *this; }
  };
  transform_output_iterator(I i, F f) : i_(i), f_(f) {}
  reference operator*() const { return {*this}; }
  template <class V> AP_VERB void ap_put(const V& v) const { detail::put_at(i_, f_(v)); }
  void advance(std::ptrdiff_t n) { i_ = i_ + n; }
  std::ptrdiff_t away(const transform_output_iterator& o) const { return i_ - o.i_; }

 private:
  I i_;
  F f_;
};
template <class F, class I> transform_output_iterator<F, I> make_transform_output_iterator(I i, F f) {
  return {i, f};
}

template <class E, class I> class permutation_iterator : public steps<permutation_iterator<E, I>> {
 public:
  AP_ITERATOR(detail::value_of<E>)
  using reference = decltype(*std::declval<const E&>());
  permutation_iterator(E e, I i) : e_(e), i_(i) {}
  reference operator*() const { return *there(); }
  AP_VERB auto ap_get() const { return detail::value_at(there()); }
  template <class V> AP_VERB void ap_put(const V& v) const { detail::put_at(there(), v); }
  AP_VERB decltype(auto) ap_element() const { return detail::element_at(there()); }
  void advance(std::ptrdiff_t n) { i_ = i_ + n; }
  std::ptrdiff_t away(const permutation_iterator& o) const { return i_ - o.i_; }

 private:
  E there() const { return e_ + static_cast<std::ptrdiff_t>(detail::value_at(i_)); }
  E e_;
  I i_;
};
template <class E, class I> permutation_iterator<E, I> make_permutation_iterator(E e, I i) { return {e, i}; }

template <class I> class reverse_iterator : public steps<reverse_iterator<I>> {
 public:
  AP_ITERATOR(detail::value_of<I>)
  using reference = decltype(*std::declval<const I&>());
  explicit reverse_iterator(I i) : i_(i) {}
  reference operator*() const { return *(i_ - 1); }
  AP_VERB auto ap_get() const { return detail::value_at(i_ - 1); }
  template <class V> AP_VERB void ap_put(const V& v) const { detail::put_at(i_ - 1, v); }
  AP_VERB decltype(auto) ap_element() const { return detail::element_at(i_ - 1); }
  I base() const { return i_; }
  void advance(std::ptrdiff_t n) { i_ = i_ - n; }
  std::ptrdiff_t away(const reverse_iterator& o) const { return o.i_ - i_; }

 private:
  I i_;
};
template <class I> reverse_iterator<I> make_reverse_iterator(I i) { return reverse_iterator<I>(i); }

template <class Tuple> class zip_iterator;
template <class... I> class zip_iterator<std::tuple<I...>> : public steps<zip_iterator<std::tuple<I...>>> {
 public:
  AP_ITERATOR(std::tuple<detail::value_of<I>...>)
  using reference = std::tuple<decltype(*std::declval<const I&>())...>;
  zip_iterator(const std::tuple<I...>& all) : all_(all) {}
  reference operator*() const {
    return std::apply([](const I&... i) { return reference(*i...); }, all_);
  }
  AP_VERB auto ap_get() const {
    return std::apply([](const I&... i) { return value_type(detail::value_at(i)...); }, all_);
  }
  template <class V> AP_VERB void ap_put(const V& v) const { put(v, std::index_sequence_for<I...>()); }
  AP_VERB auto ap_element() const {
    return std::apply(
        [](const I&... i) {
          return std::tuple<decltype(detail::element_at(i))...>(detail::element_at(i)...);
        },
        all_);
  }
  const std::tuple<I...>& get_iterator_tuple() const { return all_; }
  void advance(std::ptrdiff_t n) {
    std::apply([n](I&... i) { ((i = i + n), ...); }, all_);
  }
  std::ptrdiff_t away(const zip_iterator& o) const { return std::get<0>(all_) - std::get<0>(o.all_); }

 private:
  template <class V, std::size_t... N> AP_VERB void put(const V& v, std::index_sequence<N...>) const {
    (detail::put_at(std::get<N>(all_), std::get<N>(v)), ...);
  }
  std::tuple<I...> all_;
};
template <class... I> zip_iterator<std::tuple<I...>> make_zip_iterator(const std::tuple<I...>& all) {
  return {all};
}
template <class... I>
requires(sizeof...(I) > 1) zip_iterator<std::tuple<I...>> make_zip_iterator(I... i) {
  return {std::make_tuple(i...)};
}
template <class F> struct zip_function {
  F f;
  template <class T> AP_VERB decltype(auto) operator()(T&& all) const {
    return std::apply(f, std::forward<T>(all));
  }
};
template <class F> zip_function<F> make_zip_function(F f) { return {f}; }

template <class I> using iterator_value_t = detail::value_of<I>;
template <class I> struct iterator_value { using type = detail::value_of<I>; };
template <class I> struct iterator_difference { using type = std::ptrdiff_t; };
template <class I> struct iterator_traits : std::iterator_traits<I> {};

namespace detail {
template <class F, class I> struct system_of<transform_iterator<F, I>> : system_of<I> {};
template <class F, class I> struct system_of<transform_output_iterator<F, I>> : system_of<I> {};
template <class E, class I> struct system_of<permutation_iterator<E, I>> {
  static constexpr system is = both(system_of<E>::is, system_of<I>::is);
};
template <class I> struct system_of<reverse_iterator<I>> : system_of<I> {};
template <class... I> struct system_of<zip_iterator<std::tuple<I...>>> {
  static constexpr system all(std::initializer_list<system> each) {
    system s = system::none;
    for (const system e : each) s = both(s, e);
    return s;
  }
  static constexpr system is = all({system_of<I>::is...});
};

// Values on the host: of any type, bool too.
template <class T> struct boxed { T v; };
template <class T> using values = std::vector<boxed<T>>;
// n elements, read as one range where they are one.
template <class I> AP_VERB values<value_of<I>> fetched(const I& first, std::ptrdiff_t n) {
  using T = value_of<I>;
  values<T> all;
  if (n <= 0) return all;
  if constexpr (is_pointer<I> && std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>) {
    if (ap::in_library()) {
      all.resize(static_cast<std::size_t>(n));
      ap::library_load(all.data(), raw_pointer_cast(first), sizeof(T) * all.size());
      return all;
    }
  }
  all.reserve(static_cast<std::size_t>(n));
  for (std::ptrdiff_t i = 0; i < n; ++i) all.push_back({value_at(first + i)});
  return all;
}
template <class T, class I> AP_VERB values<T> fetched_as(const I& first, std::ptrdiff_t n) {
  values<T> all;
  for (auto& v : fetched(first, n)) all.push_back({static_cast<T>(v.v)});
  return all;
}
template <class I, class T> AP_VERB I stored(const I& to, const values<T>& all) {
  const auto n = static_cast<std::ptrdiff_t>(all.size());
  if constexpr (is_pointer<I>) {
    if constexpr (std::is_same_v<value_of<I>, T> && std::is_trivially_copyable_v<T>) {
      if (ap::in_library()) {
        ap::library_store((void*)raw_pointer_cast(to), all.data(), sizeof(T) * all.size());
        return to + n;
      }
    }
  }
  for (std::ptrdiff_t i = 0; i < n; ++i) put_at(to + i, all[static_cast<std::size_t>(i)].v);
  return to + n;
}
template <class Out, class R> struct stored_as { using type = R; };
template <class Out, class R>
requires is_pointer<Out>
struct stored_as<Out, R> {
  using type = value_of<Out>;
};
// All results of f(i), i < n, to `out`.
template <class Out, class F> AP_VERB Out made(Out out, std::ptrdiff_t n, F f) {
  using R = std::remove_cvref_t<decltype(f(std::size_t{}))>;
  values<typename stored_as<Out, R>::type> all;
  all.reserve(static_cast<std::size_t>(n > 0 ? n : 0));
  for (std::ptrdiff_t i = 0; i < n; ++i)
    all.push_back({static_cast<typename stored_as<Out, R>::type>(f(static_cast<std::size_t>(i)))});
  return stored(out, all);
}
// In pairs, so that the sum of many numbers is about as exact as a GPU's.
template <class R, class T, class Op>
R sum_of(const values<T>& all, std::size_t first, std::size_t last, Op& op) {
  R sum = static_cast<R>(all[first].v);
  if (last - first > 64) {
    const std::size_t middle = first + (last - first) / 2;
    return static_cast<R>(op(sum_of<R>(all, first, middle, op), sum_of<R>(all, middle, last, op)));
  }
  for (std::size_t i = first + 1; i < last; ++i) sum = static_cast<R>(op(sum, all[i].v));
  return sum;
}
template <class T, class R, class Op> R reduced(const values<T>& all, R init, Op op) {
  return all.empty() ? init : static_cast<R>(op(init, sum_of<R>(all, 0, all.size(), op)));
}
}  // namespace detail
#undef AP_ITERATOR
}  // namespace thrust

#include <antiphase/plain/letters.h>
