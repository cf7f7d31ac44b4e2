// SPDX-License-Identifier: Apache-2.0
// CUB and GPU copies in a build without a CUDA toolkit.
#include "tool/rivals/rivals.hpp"

namespace antiphase::tool {

namespace {
rival absent(std::string name) {
  return {.name = std::move(name), .why_not = "this build was made without a CUDA toolkit"};
}
}  // namespace

rival cub_sums(const context&, element, const void*, void*, std::int64_t) { return absent("CUB"); }
rival cub_sums_run_to_run(const context&, element, const void*, void*, std::int64_t) { return {}; }
rival cub_custom_scan(const context&, int, const void*, void*, std::int64_t) { return absent("CUB"); }
rival cub_sums_by_key(const context&, element, const std::int32_t*, const void*, void*, std::int64_t) {
  return absent("CUB");
}
rival device_copy(const context&, void*, const void*, std::size_t) { return absent("a copy"); }

}  // namespace antiphase::tool
