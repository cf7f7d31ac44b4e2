// SPDX-License-Identifier: Apache-2.0
// The policies of gemm: names, descriptions, requirements, and messages for unknown names.
#pragma once
#include <antiphase/executor/machine.hpp>
#include <antiphase/gemm/bound.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::gemms {

struct step;

// Work of a policy's multiplications, for its roofline.
struct tensor_work {
  machine_member::member rate = &machine_profile::tensor_fp64;  // of the units that multiply
  int products = 1;                                             // of parts, for each product of operands
  bool converts = true;  // operands to the units' type by instructions of its own, and sums back
};

struct policy_info {
  std::string_view name;
  std::string_view adds;          // what a step adds to the previous one; for others what they do
  device_features needs;          // required of the device
  std::optional<gemm_sums> sums;  // how it sums; none: as the device's Tensor Cores do
  const step* ladder = nullptr;   // its step of the GEMM ladder; null: outside the ladder
  tensor_work work = {};          // of a policy outside the ladder

  // The error bound of every output on that device, from bound_of().
  gemm_bound promise(const device_limits& device, std::int64_t k) const {
    return bound_of(sums.value_or(sums_of(tensor_core_sums_of(device))), k);
  }
};

// All policies except auto: first those outside the ladder, in the order in which auto considers them, then
// the ladder's steps, of which auto considers the last one that fits the device.
std::span<const policy_info> policies();

// The policy of that name, null for auto. Throws bad_request, with the known names.
const policy_info* find_policy(std::string_view name);

// The asynchronous kernel with one buffer. Not a step of the ladder: the baseline of those with more stages.
constexpr const char* async_one = "async-1";

// Throws bad_request: `name` is not one of the `known` names of a `what`. If it names something else about
// matrix products, the message says so.
[[noreturn]] void refuse_policy(std::string_view name, std::string_view what,
                                const std::vector<std::string>& known);

}  // namespace antiphase::gemms
