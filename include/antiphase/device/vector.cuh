// SPDX-License-Identifier: Apache-2.0
// Several elements in one access.
#pragma once
#include <antiphase/core/portable.hpp>

namespace antiphase {
inline namespace AP_TARGET {

// N elements moved in one access where the machine can: 4 floats are one 16-byte access. Addresses must be
// aligned to the whole pack. A pack may alias the array of T in memory.
template <class T, int N> struct alignas(sizeof(T) * N) [[gnu::may_alias]] pack { T element[N]; };
#if defined(AP_CHECKED)
// GCC takes a structure apart before it instruments accesses, not so a vector: one access here, too.
template <class T, int N> struct bytes_of_pack {
  using type [[gnu::vector_size(sizeof(T) * N), gnu::may_alias]] = unsigned char;
};
template <int N, class T> AP_DEV pack<T, N> load_pack(const T* from) {
  return __builtin_bit_cast(pack<T, N>, *reinterpret_cast<const typename bytes_of_pack<T, N>::type*>(from));
}
template <int N, class T> AP_DEV void store_pack(T* to, const pack<T, N>& p) {
  using bytes = typename bytes_of_pack<T, N>::type;
  *reinterpret_cast<bytes*>(to) = __builtin_bit_cast(bytes, p);
}
#else
template <int N, class T> AP_DEV pack<T, N> load_pack(const T* from) {
  return *reinterpret_cast<const pack<T, N>*>(from);
}
template <int N, class T> AP_DEV void store_pack(T* to, const pack<T, N>& p) {
  *reinterpret_cast<pack<T, N>*>(to) = p;
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
