// SPDX-License-Identifier: Apache-2.0
// The scans of `bench scan --own`, for each target.
#include <antiphase/scan.cuh>

#include "tool/measure/scans/custom_scan.hpp"

namespace antiphase::tool::AP_TARGET {
namespace {

using op = one_turn_after_the_other;

launch_counts run(const context& where, int size, const void* in, void* out, std::int64_t count, stream on) {
  return with_custom_element(size, [&]<class T>() {
    return inclusive_scan(where, static_cast<const T*>(in), static_cast<T*>(out), count, op{},
                          {.stream = on});
  });
}
const char* policy(const context& where, int size, std::int64_t count) {
  return with_custom_element(size, [&]<class T>() {
    if constexpr (scan_detail::is_for_one_pass<T>)
      if (const auto mover = scan_detail::mover_for<T, op>(where, {1, count, 1}))
        return *mover == scans::tile_mover::copy_engine ? "single-pass" : "single-pass-async";
    return "items";
  });
}

}  // namespace

custom_scan custom_scan_kernels() { return {.run = &run, .policy = &policy}; }

}  // namespace antiphase::tool::AP_TARGET
