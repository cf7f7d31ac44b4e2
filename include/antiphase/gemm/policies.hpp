// SPDX-License-Identifier: Apache-2.0
// The policies of gemm: their names, what each of them is and needs, and what to say of a name that does not
// exist.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <antiphase/gemm/bound.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::gemms {

struct step;

struct policy_info {
  std::string_view name;
  std::string_view adds;          // what a step adds to the one before it; of others what they do
  device_features needs;          // the device must have them
  std::optional<gemm_sums> sums;  // what adds up the products; none: the device's Tensor Cores, in their way
  const step* ladder = nullptr;   // the step of the GEMM ladder that it is; null: beside the ladder

  // What the policy promises of every output on that device, from bound_of().
  gemm_bound promise(const device_limits& device, std::int64_t k) const {
    return bound_of(sums.value_or(sums_of(tensor_core_sums_of(device))), k);
  }
};

// All there are but auto: those beside the ladder, in the order in which auto considers them, then the
// ladder's steps, of which auto takes the last that the device has room for.
std::span<const policy_info> policies();

// The policy of that name, null for auto; throws bad_request, with the names there are. A name that a policy
// had before is taken, too.
const policy_info* find_policy(std::string_view name);
// What a policy's former name, taken for one release, stands for; empty: it is none.
std::string_view renamed_policy(std::string_view name);
// Whether that name is of a policy whose kernels are gone: what was measured of it is of no use.
bool is_gone(std::string_view name);

// The one-buffer member of the asynchronous family. It is no step of the ladder: it exists to compare more
// stages with.
constexpr const char* async_one = "async-1";

// Throws bad_request: `name` is not a `what`, of which there are the `known` ones. If it is something else
// that has to do with matrix products, the message says what.
[[noreturn]] void refuse_policy(std::string_view name, std::string_view what,
                                const std::vector<std::string>& known);

}  // namespace antiphase::gemms
