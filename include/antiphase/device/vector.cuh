// Several elements in one access.
#pragma once
#include <antiphase/core/portable.hpp>

namespace antiphase {
inline namespace AP_TARGET {

// N elements that are moved in one piece where the machine can: 4 floats are one 16-byte access. Addresses are aligned to the whole. What
// lies in memory is an array of T: a pack may alias it.
template <class T, int N> struct alignas(sizeof(T) * N) [[gnu::may_alias]] pack { T element[N]; };
template <int N, class T> AP_DEV pack<T, N> load_pack(const T* from) { return *reinterpret_cast<const pack<T, N>*>(from); }
template <int N, class T> AP_DEV void store_pack(T* to, const pack<T, N>& p) { *reinterpret_cast<pack<T, N>*>(to) = p; }

// From global memory that is read once: caches are to keep other things (ld.global.cs). An element, or a whole pack.
#if AP_ON_GPU
AP_DEV float load_once(const float* from) { return __ldcs(from); }
AP_DEV pack<float, 4> load_pack_once(const float* from) {
  const float4 v = __ldcs(reinterpret_cast<const float4*>(from));
  return {v.x, v.y, v.z, v.w};
}
#else
AP_DEV float load_once(const float* from) { return *from; }
AP_DEV pack<float, 4> load_pack_once(const float* from) { return load_pack<4>(from); }
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
