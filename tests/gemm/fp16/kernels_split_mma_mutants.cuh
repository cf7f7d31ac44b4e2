// SPDX-License-Identifier: Apache-2.0
// The product of split operands by whole warps with one fault each: another ring in the place of its own.
#include "library/gemm/fp16/split_mma_product.cuh"

#include "tests/gemm/fp16/split_mutants.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

enum class warp_slip { none, no_wait, short_wait, no_meeting };

template <warp_slip F> struct broken_copies : async_copies<split_mma_policy.stages> {
  using whole = async_copies<split_mma_policy.stages>;
  using slot_cursor = cursor<split_mma_policy.stages>;
  AP_DEV void wait(slot_cursor at) {
    if constexpr (F == warp_slip::no_wait)
      block_barrier();
    else if constexpr (F == warp_slip::no_meeting)
      copy_async_wait<split_mma_policy.stages - 2>();
    else if constexpr (F == warp_slip::short_wait) {
      copy_async_wait<split_mma_policy.stages - 1>();
      block_barrier();
    } else {
      whole::wait(at);
    }
  }
};

template <warp_slip F> test::mutant<> warp_mutant(const char* name, const char* broken = nullptr,
                                                  finding_kind by = {}, const char* says = "") {
  return {name, broken, {by, says}, kernel_of<split_mma_product<split_mma_policy, broken_copies<F>>>(name)};
}

std::vector<test::mutant<>> split_mma_mutants() {
  using enum finding_kind;
  return {
      warp_mutant<warp_slip::none>("whole"),
      warp_mutant<warp_slip::no_wait>("no_wait", "multiplies without waiting for its copies",
                                      read_before_landing, "copy_async_wait"),
      warp_mutant<warp_slip::short_wait>("short_wait", "waits for one group of copies too few",
                                         read_before_landing, "copy_async_wait"),
      warp_mutant<warp_slip::no_meeting>("no_meeting",
                                         "waits for its own copies only, not for the other threads",
                                         overwritten_in_use, "the slot has not been released"),
  };
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
