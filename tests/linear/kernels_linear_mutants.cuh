// SPDX-License-Identifier: Apache-2.0
// The kernel of linear layers by warpgroups with one fault each: another ring, or another wait, in the place
// of its own.
#include "library/linear/tile_product.cuh"

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
// Pairs: releases slots of both blocks by arrivals at its own, or ends with the other still at work.
template <tile_policy P, int Slots> struct selfish_waits : tile_waits<P, Slots> {
  AP_DEV static void release(auto& slots, cursor<Slots> at) {
    for (int rank = 0; rank < P.cluster; ++rank) slots.release(at, by_warp{});
  }
};
template <tile_policy P, int Slots> struct hasty_waits : tile_waits<P, Slots> {
  AP_DEV static void end() {}
};

template <slip F, tile_policy P = narrow>
test::mutant<tile_policy> tile_mutant(const char* name, const char* what = nullptr, finding_kind by = {},
                                      const char* says = "") {
  return {name, what, {by, says}, kernel_of<tile_product<P, broken<F>::template waits>>(name), P};
}
template <template <tile_policy, int> class Waits>
test::mutant<tile_policy> pair_mutant(const char* name, const char* what, finding_kind by,
                                      const char* says = "") {
  return {name, what, {by, says}, kernel_of<tile_product<pair, Waits>>(name), pair};
}

std::vector<test::mutant<tile_policy>> tile_mutants() {
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
      tile_mutant<slip::none, pair>("pair"),
      tile_mutant<slip::no_empty_wait, pair>(
          "pair_no_empty_wait", "loads into slots of both blocks that no warp has released", barrier_misuse),
      tile_mutant<slip::no_wait_for_products, pair>("pair_no_wait_for_products",
                                                    "releases slots that are still being multiplied",
                                                    overwritten_in_use, products),
      pair_mutant<selfish_waits>("pair_selfish", "releases its own slots alone", overwritten_in_use),
      pair_mutant<hasty_waits>("pair_hasty", "ends while the other block releases its slots", outside_memory,
                               "a cluster barrier before that block ends"),
  };
}

}  // namespace AP_TARGET
}  // namespace antiphase::linears
