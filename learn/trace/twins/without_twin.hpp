// SPDX-License-Identifier: Apache-2.0
// Kernels of the library without a recording twin, and why.
#pragma once
#include <span>
#include <string_view>

namespace antiphase {

struct kernels_without_twin {
  std::string_view named;  // how their names begin
  const char* why;
  std::string_view ending = {};  // how they end
  bool covers(std::string_view kernel) const { return kernel.starts_with(named) && kernel.ends_with(ending); }
};
std::span<const kernels_without_twin> without_twin();

// Why a kernel of that name has none; null: it has one, or is not listed.
const char* why_no_twin(std::string_view kernel);

}  // namespace antiphase
