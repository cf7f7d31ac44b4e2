// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/scan/scan_range.hpp"

#include <cmath>
#include <type_traits>

namespace antiphase::tool {
namespace {

template <class T> double number(const T& x) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>)
    return to_float(x);
  else
    return static_cast<double>(x);
}

template <class T> std::span<const T> values_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace

std::optional<left_range> find_left_range(const scan_job& job, std::span<const std::byte> elements,
                                          element of_elements, std::span<const std::byte> results) {
  if (!is_floating(job.type) || job.is_min_or_max()) return std::nullopt;
  left_range found{0, 0};
  bool zeros_are_right = job.operation != scan_operation::product;
  const auto look = [&]<class T>() {
    const std::span<const T> out = values_of<T>(results);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double x = number(out[i]);
      if (std::isfinite(x) && (x != 0 || zeros_are_right)) continue;
      if (found.count == 0 || job.direction == scan_direction::reverse)
        found.first = static_cast<std::int64_t>(i);
      ++found.count;
    }
  };
  with_stored_element(job.type, look);
  if (found.count == 0) return std::nullopt;
  // The elements are read only in this rare case.
  bool finite = true;
  with_stored_element(of_elements, [&]<class T>() {
    for (const T& x : values_of<T>(elements)) {
      finite = finite && std::isfinite(number(x));
      zeros_are_right = zeros_are_right || number(x) == 0;
    }
  });
  if (!finite) return std::nullopt;
  if (zeros_are_right && job.operation == scan_operation::product) {  // with a zero among the elements
    found = {0, 0};
    with_stored_element(job.type, look);
    if (found.count == 0) return std::nullopt;
  }
  return found;
}

std::vector<std::int64_t> index_of(std::int64_t place, std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; place /= shape[axis]) index[axis] = place % shape[axis];
  return index;
}

}  // namespace antiphase::tool
