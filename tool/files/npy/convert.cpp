// SPDX-License-Identifier: Apache-2.0
// Conversion of array elements to another type.
#include "tool/files/npy/convert.hpp"

#include <type_traits>

namespace antiphase::tool {
namespace {

template <class To, class From> To number_of(const From& x) {
  if constexpr (std::is_same_v<From, f16> || std::is_same_v<From, bf16>)
    return static_cast<To>(to_float(x));
  else
    return static_cast<To>(x);
}

}  // namespace

std::vector<std::byte> converted(std::span<const std::byte> bytes, element from, element to) {
  const std::size_t count = bytes.size() / size_of(from);
  std::vector<std::byte> result(count * size_of(to));
  with_stored_element(from, [&]<class From>() {
    with_stored_element(to, [&]<class To>() {
      const From* const in = reinterpret_cast<const From*>(bytes.data());
      To* const out = reinterpret_cast<To*>(result.data());
      for (std::size_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<From, To>)
          out[i] = in[i];
        else if constexpr (std::is_same_v<To, f16>)
          out[i] = to_f16(number_of<float>(in[i]));
        else if constexpr (std::is_same_v<To, bf16>)
          out[i] = to_bf16(number_of<float>(in[i]));
        else
          out[i] = number_of<To>(in[i]);
      }
    });
  });
  return result;
}

}  // namespace antiphase::tool
