// SPDX-License-Identifier: Apache-2.0
// Host interface of the bulk copy kernel: policy, params, and the function it computes.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>

namespace antiphase::examples {

enum class store_by { computing_warps, copy_engine };

struct bulk_copy_policy {
  int stages = 3;
  int warps = 4;    // computing warps
  int tile = 1024;  // floats
  store_by store = store_by::computing_warps;

  constexpr bool operator==(const bulk_copy_policy&) const = default;
};

struct bulk_copy_params {
  const float* source;  // aligned to 16 bytes, like `target`; they do not overlap
  float* target;
  std::int64_t size;
};

// The function computed. It is exact for small integers, and its offset differs from element to element and
// from tile to tile.
AP_FN constexpr float transformed(float x, std::int64_t place) {
  return 2 * x + static_cast<float>(place % 1021);
}

}  // namespace antiphase::examples
