// The names that gemm's policy may have, and what to say of one that does not exist.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::gemms {

// Policies of gemm() that are no step of the ladder.
struct policy_name {
  const char* name;
  const char* adds;
};
inline constexpr policy_name beside_the_ladder[] = {
    {"split", "three products of FP16 parts on Tensor Cores, certified; compute capability 9.0"},
    {"split-inside", "the same, but the product splits its larger operand itself; compute capability 9.0"},
    {"split-mma", "the same through mma.sync; compute capability 8.0 and above"},
    {"short", "sums in FP64, for a K of up to 16"},
};

// The one-buffer member of the asynchronous family. It is no step of the ladder: it exists to compare more stages with.
constexpr const char* async_one = "async-1";

// Throws bad_request unless gemm() has a policy of that name: auto, one of these or a step of the ladder.
void require_policy(std::string_view name);

// Throws bad_request: `name` is not a `what`, of which there are the `known` ones. If it is something else that has to do with matrix
// products, the message says what.
[[noreturn]] void refuse_policy(std::string_view name, std::string_view what, const std::vector<std::string>& known);

}  // namespace antiphase::gemms
