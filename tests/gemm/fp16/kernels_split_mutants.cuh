// SPDX-License-Identifier: Apache-2.0
// The product of split operands with one fault each: another ring, or another wait, in the place of its own.
#include "library/gemm/fp16/split_product.cuh"

#include "tests/gemm/broken_ring.cuh"
#include "tests/gemm/fp16/split_mutants.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <slip F> struct broken_waits : product_waits<few_stages> {
  using whole = product_waits<few_stages>;
  using ring = broken_ring<F, typename whole::ring>;
  AP_DEV static void barriers_made() {
    if constexpr (F != slip::no_fence_init) whole::barriers_made();
  }
  AP_DEV static void main_product() {
    if constexpr (F == slip::promoted_before_wait)
      wgmma_wait<2>();  // of the chunk before
    else if constexpr (F != slip::no_wait_for_products)
      whole::main_product();
  }
};

template <slip F> test::mutant<> made(const char* name, const char* broken = nullptr, finding_kind by = {},
                                      const char* says = "") {
  return {name, broken, {by, says}, kernel_of<split_product<few_stages, broken_waits<F>>>(name)};
}

std::vector<test::mutant<>> split_mutants() {
  using enum finding_kind;
  constexpr const char* phase = "a wait for the end of the mbarrier's phase";
  constexpr const char* products = "a wait for the group of the Tensor Core operation";
  return {
      made<slip::none>("whole"),
      made<slip::no_full_wait>("no_full_wait", "multiplies without waiting for the load", read_before_landing,
                               phase),
      made<slip::no_empty_wait>("no_empty_wait", "loads into stages that no thread has let go",
                                overwritten_in_use, phase),
      made<slip::bytes_too_few>("bytes_too_few", "announces 16 bytes too few", deadlock, "-16 bytes missing"),
      made<slip::bytes_too_many>("bytes_too_many", "announces 16 bytes too many", deadlock,
                                 "0 of 1 arrivals and 16 bytes missing"),
      made<slip::full_wait_does_not_flip>("full_wait_does_not_flip",
                                          "waits for the first round's load in every round",
                                          read_before_landing, phase),
      made<slip::empty_wait_does_not_flip>(
          "empty_wait_does_not_flip", "loads as if every round were the first", overwritten_in_use, phase),
      made<slip::released_before_use>("released_before_use", "lets a stage go before it is multiplied",
                                      overwritten_in_use, products),
      made<slip::one_stage_too_few>("one_stage_too_few",
                                    "three stages, while a chunk of two is held and the next awaited",
                                    deadlock, "waiting for parity"),
      made<slip::promoted_before_wait>("promoted_before_wait", "adds the main product up before it is there",
                                       wrong_result, "is wrong"),
      made<slip::no_wait_for_products>("no_wait_for_products",
                                       "lets stages go that are still being multiplied", overwritten_in_use,
                                       products),
      made<slip::no_fence_init>("no_fence_init", "barriers handed to the copy engine without a fence",
                                missing_proxy_fence, "fence_mbarrier_init"),
  };
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
