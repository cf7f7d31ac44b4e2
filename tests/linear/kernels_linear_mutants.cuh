// SPDX-License-Identifier: Apache-2.0
// The kernel of linear layers by warpgroups with one fault each: another ring, or another wait, in the place
// of its own.
#include "src/linear/tile_product.cuh"

#include "tests/gemm/broken_ring.cuh"
#include "tests/linear/linear_mutants.hpp"

namespace antiphase::linears {
inline namespace AP_TARGET {

using gemms::slip;

template <slip F> struct broken {
  template <tile_policy P, int Slots> struct waits : tile_waits<P, Slots> {
    using whole = tile_waits<P, Slots>;
    using ring = gemms::broken_ring<F, typename whole::ring>;
    AP_DEV static void step_before() {
      if constexpr (F != slip::no_wait_for_products) whole::step_before();
    }
  };
};

template <slip F> test::mutant<> tile_mutant(const char* name, const char* what = nullptr,
                                             finding_kind by = {}, const char* says = "") {
  return {name, what, {by, says}, kernel_of<tile_product<narrow, broken<F>::template waits>>(name)};
}

std::vector<test::mutant<>> tile_mutants() {
  using enum finding_kind;
  constexpr const char* phase = "a wait for the end of the mbarrier's phase";
  constexpr const char* products = "a wait for the group of the Tensor Core operation";
  return {
      tile_mutant<slip::none>("whole"),
      tile_mutant<slip::no_full_wait>("no_full_wait", "multiplies without waiting for the load",
                                      read_before_landing, phase),
      tile_mutant<slip::no_empty_wait>("no_empty_wait", "loads into slots that no warp has released",
                                       overwritten_in_use, phase),
      tile_mutant<slip::bytes_too_few>("bytes_too_few", "announces 16 bytes too few", deadlock,
                                       "-16 bytes missing"),
      tile_mutant<slip::full_wait_does_not_flip>("full_wait_does_not_flip",
                                                 "waits for the first round's load in every round",
                                                 read_before_landing, phase),
      tile_mutant<slip::no_wait_for_products>("no_wait_for_products",
                                              "releases slots that are still being multiplied",
                                              overwritten_in_use, products),
  };
}

}  // namespace AP_TARGET
}  // namespace antiphase::linears
