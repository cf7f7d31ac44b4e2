// CUB, in a build without a CUDA toolkit.
#include "tool/rivals.hpp"

namespace antiphase::tool {

namespace {
rival absent() { return {.name = "CUB", .why_not = "this build was made without a CUDA toolkit"}; }
}  // namespace

rival cub_sums(const context&, element, const void*, void*, std::int64_t) { return absent(); }
rival cub_sums_by_key(const context&, element, const std::int32_t*, const void*, void*, std::int64_t) { return absent(); }

}  // namespace antiphase::tool
