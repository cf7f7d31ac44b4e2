// SPDX-License-Identifier: Apache-2.0
#include "tensor_layout.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>

namespace antiphase {
namespace {

template <class... Args> void require(bool holds, fmt::format_string<Args...> sentence, Args&&... args) {
  if (!holds) throw bad_request("tensor map: " + fmt::format(sentence, std::forward<Args>(args)...));
}

}  // namespace

void require_copyable(const tensor_layout& t) {
  const int size = t.element_bytes;
  require(size == 1 || size == 2 || size == 4 || size == 8, "elements of {} bytes, expected 1, 2, 4 or 8",
          size);
  require(t.dimensions >= 2 && t.dimensions <= tensor_dimensions, "{} dimensions, expected 2 to {}",
          t.dimensions, tensor_dimensions);
  const auto address = reinterpret_cast<std::uintptr_t>(t.data);
  require(address != 0 && address % 16 == 0, "the address {:#x} is not a multiple of 16", address);
  for (int d = 0; d < t.dimensions; ++d) {
    require(t.extent[d] >= 1 && t.extent[d] <= std::uint64_t{1} << 32, "extent {} is {}, expected 1 to 2^32",
            d, t.extent[d]);
    require(t.box[d] >= 1 && t.box[d] <= 256, "the box is {} wide in dimension {}, expected 1 to 256",
            t.box[d], d);
    if (d > 0)
      require(t.stride[d] % 16 == 0 && t.stride[d] < std::uint64_t{1} << 40,
              "stride {} is {} bytes, expected a multiple of 16 below 2^40", d, t.stride[d]);
  }
  require(t.pattern == swizzle::none || t.pattern == swizzle::bytes_32 || t.pattern == swizzle::bytes_64 ||
              t.pattern == swizzle::bytes_128,
          "the swizzle is {}, expected none or that of 32, 64 or 128 bytes", static_cast<int>(t.pattern));
  std::uintptr_t end = address + static_cast<std::uintptr_t>(size);
  bool inside = end > address;
  for (int d = 0; d < t.dimensions; ++d) {
    std::uintptr_t reach = 0;
    const std::uintptr_t stride = d == 0 ? static_cast<std::uintptr_t>(size) : t.stride[d];
    inside = inside && !__builtin_mul_overflow(t.extent[d] - 1, stride, &reach) &&
             !__builtin_add_overflow(end, reach, &end);
  }
  require(inside, "its last element lies beyond the end of memory, expected smaller extents or strides");
  const std::uint64_t row = std::uint64_t{t.box[0]} * static_cast<std::uint64_t>(size);
  require(row % 16 == 0, "a row of the box is {} bytes, expected a multiple of 16", row);
  // TMA accepts shorter rows too, but leaves gaps in shared memory that no kernel here uses.
  require(t.pattern == swizzle::none || row == width_of(t.pattern),
          "a row of the box is {} bytes, expected {} to be swizzled so", row, width_of(t.pattern));
}

}  // namespace antiphase
