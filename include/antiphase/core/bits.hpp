// The bits of a value as another type, in kernels and on the host.
#pragma once
#include <antiphase/core/portable.hpp>
#include <type_traits>

namespace antiphase {

// std::bit_cast is for the host: nvcc lets kernels call it only under --expt-relaxed-constexpr, which a user's build need not have.
template <class To, class From> AP_FN constexpr To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> && std::is_trivially_copyable_v<From>);
  return __builtin_bit_cast(To, from);
}

}  // namespace antiphase
