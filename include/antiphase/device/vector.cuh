// Several elements in one access.
#pragma once
#include <antiphase/core/portable.hpp>
#if !AP_ON_GPU
#include <cstring>
#endif

namespace antiphase {
inline namespace AP_TARGET {

// N elements that are moved in one piece where the machine can: 4 floats are one 16-byte access. Addresses are aligned to the whole.
template <class T, int N> struct alignas(sizeof(T) * N) pack { T element[N]; };
template <int N, class T> AP_DEV pack<T, N> load_pack(const T* from) {
#if AP_ON_GPU
  return *reinterpret_cast<const pack<T, N>*>(from);
#else
  pack<T, N> p;
  std::memcpy(&p, from, sizeof p);  // nothing here promises the compiler that a pack lives there
  return p;
#endif
}
template <int N, class T> AP_DEV void store_pack(T* to, const pack<T, N>& p) {
#if AP_ON_GPU
  *reinterpret_cast<pack<T, N>*>(to) = p;
#else
  std::memcpy(to, &p, sizeof p);
#endif
}

}  // namespace AP_TARGET
}  // namespace antiphase
