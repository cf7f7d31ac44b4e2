// SPDX-License-Identifier: Apache-2.0
// Several elements in one access.
#pragma once
#include <antiphase/core/portable.hpp>

namespace antiphase {
inline namespace AP_TARGET {

// N elements moved in one access where the machine can: 4 floats are one 16-byte access. Addresses must be
// aligned to the whole pack. A pack may alias the array of T in memory.
template <class T, int N> struct alignas(sizeof(T) * N) [[gnu::may_alias]] pack { T element[N]; };
template <int N, class T> AP_DEV pack<T, N> load_pack(const T* from) {
  return *reinterpret_cast<const pack<T, N>*>(from);
}
template <int N, class T> AP_DEV void store_pack(T* to, const pack<T, N>& p) {
  *reinterpret_cast<pack<T, N>*>(to) = p;
}

}  // namespace AP_TARGET
}  // namespace antiphase
