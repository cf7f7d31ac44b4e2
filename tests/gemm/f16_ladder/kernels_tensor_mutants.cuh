// SPDX-License-Identifier: Apache-2.0
// The Tensor Core kernel of warpgroups with one fault each: another ring, or another wait, in the place of
// its own.
#include "src/gemm/f16_ladder/tensor_core_tma.cuh"

#include "tests/gemm/broken_ring.cuh"
#include "tests/gemm/f16_ladder/tensor_mutants.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <slip F> struct broken_warpgroups : warpgroup_waits<narrow> {
  using whole = warpgroup_waits<narrow>;
  using ring = broken_ring<F, typename whole::ring>;
  AP_DEV static void step_before() {
    if constexpr (F != slip::no_wait_for_products) whole::step_before();
  }
};

template <slip F> test::mutant<> tensor_mutant(const char* name, const char* broken = nullptr,
                                               finding_kind by = {}, const char* says = "") {
  return {name, broken, {by, says}, kernel_of<tensor_core_tma<narrow, broken_warpgroups<F>>>(name)};
}

std::vector<test::mutant<>> tensor_mutants() {
  using enum finding_kind;
  constexpr const char* phase = "a wait for the end of the mbarrier's phase";
  constexpr const char* products = "a wait for the group of the Tensor Core operation";
  return {
      tensor_mutant<slip::none>("whole"),
      tensor_mutant<slip::no_full_wait>("no_full_wait", "multiplies without waiting for the load",
                                        read_before_landing, phase),
      tensor_mutant<slip::no_empty_wait>("no_empty_wait", "loads into stages that no thread has let go",
                                         overwritten_in_use, phase),
      tensor_mutant<slip::bytes_too_few>("bytes_too_few", "announces 16 bytes too few", deadlock,
                                         "-16 bytes missing"),
      tensor_mutant<slip::bytes_too_many>("bytes_too_many", "announces 16 bytes too many", deadlock,
                                          "0 of 1 arrivals and 16 bytes missing"),
      tensor_mutant<slip::full_wait_does_not_flip>("full_wait_does_not_flip",
                                                   "waits for the first round's load in every round",
                                                   read_before_landing, phase),
      tensor_mutant<slip::no_wait_for_products>("no_wait_for_products",
                                                "lets stages go that are still being multiplied",
                                                overwritten_in_use, products),
  };
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
