// SPDX-License-Identifier: Apache-2.0
// cuda::std::mdspan (C++23), which g++'s library has only from 16 on: extents, layouts, one accessor.
#pragma once
#include "cuda_std.h"

#include "letters.h"

namespace cuda::std {

template <class I, ::std::size_t... Sizes> class extents {
 public:
  using index_type = I;
  using size_type = ::std::make_unsigned_t<I>;
  using rank_type = ::std::size_t;
  static constexpr rank_type rank() { return sizeof...(Sizes); }
  static constexpr rank_type rank_dynamic() { return ((Sizes == ::std::dynamic_extent ? 1 : 0) + ... + 0); }
  static constexpr ::std::size_t static_extent(rank_type r) { return fixed[r]; }

  constexpr extents() {
    for (rank_type r = 0; r < rank(); ++r)
      sizes_[r] = fixed[r] == ::std::dynamic_extent ? I{} : static_cast<I>(fixed[r]);
  }
  // One number for each dimension, or for each whose size is not part of the type.
  template <class... N>
  requires((::std::is_convertible_v<N, I> && ...) && sizeof...(N) > 0 &&
           (sizeof...(N) == rank() || sizeof...(N) == rank_dynamic())) constexpr explicit(false)
      extents(N... n)
      : extents(::std::array<I, sizeof...(N)>{static_cast<I>(n)...}) {}
  template <class N, ::std::size_t Count>
  requires(Count > 0 && (Count == rank() ||
                         Count == rank_dynamic())) constexpr explicit extents(const ::std::array<N, Count>& n)
      : extents() {
    for (rank_type r = 0, next = 0; r < rank(); ++r)
      if (Count == rank() || fixed[r] == ::std::dynamic_extent) sizes_[r] = static_cast<I>(n[next++]);
  }
  template <class J, ::std::size_t... Others>
  requires(sizeof...(Others) == sizeof...(Sizes)) constexpr explicit(false)
      extents(const extents<J, Others...>& other) {
    for (rank_type r = 0; r < rank(); ++r) sizes_[r] = static_cast<I>(other.extent(r));
  }
  constexpr I extent(rank_type r) const { return sizes_[r]; }
  template <class J, ::std::size_t... Others>
  friend constexpr bool operator==(const extents& a, const extents<J, Others...>& b) {
    if (rank() != b.rank()) return false;
    for (rank_type r = 0; r < rank(); ++r)
      if (a.extent(r) != static_cast<I>(b.extent(r))) return false;
    return true;
  }

 private:
  static constexpr ::std::array<::std::size_t, sizeof...(Sizes) + 1> fixed{Sizes..., 0};
  ::std::array<I, sizeof...(Sizes)> sizes_{};
};
template <class... N> extents(N...)
    -> extents<::std::size_t, (static_cast<void>(sizeof(N)), ::std::dynamic_extent)...>;

namespace antiphase_mdspan {
template <class I, class Sizes> struct dynamic;
template <class I, ::std::size_t... Index> struct dynamic<I, ::std::index_sequence<Index...>> {
  using type = extents<I, (static_cast<void>(Index), ::std::dynamic_extent)...>;
};
// Elements are at the sum of index times stride.
template <class Extents, class Layout> class strided {
 public:
  using extents_type = Extents;
  using index_type = typename Extents::index_type;
  using size_type = typename Extents::size_type;
  using rank_type = typename Extents::rank_type;
  using layout_type = Layout;
  constexpr strided() : strided(Extents{}) {}
  constexpr explicit(false) strided(const Extents& e) : sizes_(e) {
    index_type product = 1;
    for (rank_type k = 0; k < Extents::rank(); ++k) {
      const rank_type r = Layout::last_is_dense ? Extents::rank() - 1 - k : k;
      strides_[r] = product;
      product *= e.extent(r);
    }
  }
  template <class N> constexpr strided(const Extents& e, const ::std::array<N, Extents::rank()>& strides)
      : sizes_(e) {
    for (rank_type r = 0; r < Extents::rank(); ++r) strides_[r] = static_cast<index_type>(strides[r]);
  }
  template <class E, class L> constexpr explicit(false) strided(const strided<E, L>& other)
      : sizes_(other.extents()) {
    for (rank_type r = 0; r < Extents::rank(); ++r) strides_[r] = static_cast<index_type>(other.stride(r));
  }
  constexpr const Extents& extents() const { return sizes_; }
  constexpr index_type stride(rank_type r) const { return strides_[r]; }
  constexpr auto strides() const { return strides_; }
  template <class... N> constexpr index_type operator()(N... index) const {
    index_type at = 0;
    rank_type r = 0;
    ((at += static_cast<index_type>(index) * strides_[r++]), ...);
    return at;
  }
  constexpr index_type required_span_size() const {
    index_type last = 1;
    for (rank_type r = 0; r < Extents::rank(); ++r) {
      if (sizes_.extent(r) == 0) return 0;
      last += (sizes_.extent(r) - 1) * strides_[r];
    }
    return last;
  }
  static constexpr bool is_always_unique() { return true; }
  static constexpr bool is_unique() { return true; }
  static constexpr bool is_always_strided() { return true; }
  static constexpr bool is_strided() { return true; }
  constexpr bool is_exhaustive() const {
    index_type all = 1;
    for (rank_type r = 0; r < Extents::rank(); ++r) all *= sizes_.extent(r);
    return required_span_size() == all;
  }

 private:
  Extents sizes_;
  ::std::array<index_type, Extents::rank()> strides_{};
};
}  // namespace antiphase_mdspan

template <class I, ::std::size_t Rank> using dextents =
    typename antiphase_mdspan::dynamic<I, ::std::make_index_sequence<Rank>>::type;
template <::std::size_t Rank, class I = ::std::size_t> using dims = dextents<I, Rank>;

struct layout_right {
  static constexpr bool last_is_dense = true;
  template <class Extents> using mapping = antiphase_mdspan::strided<Extents, layout_right>;
};
struct layout_left {
  static constexpr bool last_is_dense = false;
  template <class Extents> using mapping = antiphase_mdspan::strided<Extents, layout_left>;
};
struct layout_stride {
  static constexpr bool last_is_dense = true;
  template <class Extents> using mapping = antiphase_mdspan::strided<Extents, layout_stride>;
};

template <class T> struct default_accessor {
  using offset_policy = default_accessor;
  using element_type = T;
  using reference = T&;
  using data_handle_type = T*;
  constexpr default_accessor() = default;
  template <class Other>
  requires ::std::is_convertible_v<Other (*)[], T (*)[]>
  constexpr explicit(false) default_accessor(default_accessor<Other>) {}
  constexpr T& access(T* p, ::std::size_t i) const { return p[i]; }
  constexpr T* offset(T* p, ::std::size_t i) const { return p + i; }
};

template <class T, class Extents, class Layout = layout_right, class Accessor = default_accessor<T>>
class mdspan {
 public:
  using extents_type = Extents;
  using layout_type = Layout;
  using accessor_type = Accessor;
  using mapping_type = typename Layout::template mapping<Extents>;
  using element_type = T;
  using value_type = ::std::remove_cv_t<T>;
  using index_type = typename Extents::index_type;
  using size_type = typename Extents::size_type;
  using rank_type = typename Extents::rank_type;
  using data_handle_type = typename Accessor::data_handle_type;
  using reference = typename Accessor::reference;

  constexpr mdspan() = default;
  template <class... N>
  requires((::std::is_convertible_v<N, index_type> && ...) &&
           ::std::is_constructible_v<Extents, N...>) constexpr explicit mdspan(data_handle_type p, N... sizes)
      : data_(p), mapping_(Extents(static_cast<index_type>(sizes)...)) {}
  template <class N, ::std::size_t Count>
  constexpr mdspan(data_handle_type p, const ::std::array<N, Count>& sizes)
      : data_(p), mapping_(Extents(sizes)) {}
  constexpr mdspan(data_handle_type p, const Extents& sizes) : data_(p), mapping_(sizes) {}
  constexpr mdspan(data_handle_type p, const mapping_type& m) : data_(p), mapping_(m) {}
  constexpr mdspan(data_handle_type p, const mapping_type& m, const Accessor& a)
      : data_(p), mapping_(m), accessor_(a) {}
  template <class U, class E, class L, class A>
  requires ::std::is_convertible_v<A, Accessor>
  constexpr explicit(false) mdspan(const mdspan<U, E, L, A>& other)
      : data_(other.data_handle()), mapping_(other.mapping()), accessor_(other.accessor()) {}

  static constexpr rank_type rank() { return Extents::rank(); }
  static constexpr rank_type rank_dynamic() { return Extents::rank_dynamic(); }
  static constexpr ::std::size_t static_extent(rank_type r) { return Extents::static_extent(r); }
  constexpr index_type extent(rank_type r) const { return mapping_.extents().extent(r); }
  constexpr const Extents& extents() const { return mapping_.extents(); }
  constexpr const mapping_type& mapping() const { return mapping_; }
  constexpr const Accessor& accessor() const { return accessor_; }
  constexpr const data_handle_type& data_handle() const { return data_; }
  constexpr index_type stride(rank_type r) const { return mapping_.stride(r); }
  constexpr bool is_exhaustive() const { return mapping_.is_exhaustive(); }
  constexpr size_type size() const {
    size_type all = 1;
    for (rank_type r = 0; r < rank(); ++r) all *= static_cast<size_type>(extent(r));
    return all;
  }
  constexpr bool empty() const { return size() == 0; }

  template <class... N>
  requires(sizeof...(N) == Extents::rank() &&
           (::std::is_convertible_v<N, index_type> && ...)) constexpr reference
  operator()(N... index) const {
    return accessor_.access(data_, static_cast<::std::size_t>(mapping_(index...)));
  }
#ifdef __cpp_multidimensional_subscript
  template <class... N>
  requires(sizeof...(N) == Extents::rank() &&
           (::std::is_convertible_v<N, index_type> && ...)) constexpr reference
  operator[](N... index) const {
    return (*this)(index...);
  }
#else
  template <class N>
  requires(Extents::rank() == 1 && ::std::is_convertible_v<N, index_type>) constexpr reference operator[](
      N index) const {
    return (*this)(index);
  }
#endif
  template <class N> constexpr reference operator[](const ::std::array<N, Extents::rank()>& index) const {
    return ::std::apply(*this, index);
  }

 private:
  data_handle_type data_{};
  mapping_type mapping_{};
  Accessor accessor_{};
};
template <class T, class... N>
requires(sizeof...(N) > 0 && (::std::is_convertible_v<N, ::std::size_t> && ...)) mdspan(T*, N...)
->mdspan<T, dextents<::std::size_t, sizeof...(N)>>;
template <class T, class I, ::std::size_t... Sizes> mdspan(T*, const extents<I, Sizes...>&)
    -> mdspan<T, extents<I, Sizes...>>;
template <class T, class N, ::std::size_t Count> mdspan(T*, const ::std::array<N, Count>&)
    -> mdspan<T, dextents<::std::size_t, Count>>;
template <class T, class Extents, class Layout> mdspan(T*, const antiphase_mdspan::strided<Extents, Layout>&)
    -> mdspan<T, Extents, Layout>;

}  // namespace cuda::std

#include "letters.h"
