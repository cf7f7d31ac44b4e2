// SPDX-License-Identifier: Apache-2.0
// The product that splits A itself with one fault each: a wait, a fence or a piece of arithmetic left out.
#include "src/gemm/split/split_inside_product.cuh"

#include "tests/gemm/split/split_mutants.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

using whole_steps = split_inside_steps<few_inside_stages>;
struct no_wait_for_counts : whole_steps {
  template <class Ring, class Place> AP_DEV static void wait_for_counts(Ring&, Place, int) {}
};
struct no_wait_for_second_stage : whole_steps {
  template <class Ring, class Place> AP_DEV static void wait_for_second_stage(Ring&, Place, int) {}
};
struct released_too_soon : whole_steps {
  AP_DEV static void before_release() {}
};
struct mixed_sum_keeps_its_scale : whole_steps {
  AP_DEV static float of_mixed(float) { return 1; }
};
struct outgrown_elements_not_counted : whole_steps {
  AP_DEV static std::uint32_t tiny_when_outgrown(const row_facts& row) { return row.tiny; }
};
struct waits_for_one_warp_more : whole_steps {
  using ring = channel<mbarrier, few_inside_stages.stages, threads(1), warps(counting_warps), warps(computing_warps + 1)>;
};

template <class Steps> test::mutant<> made(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "") {
  return {name, broken, {by, says}, kernel_of<split_inside_product<few_inside_stages, Steps>>(name)};
}

std::vector<test::mutant<>> split_inside_mutants() {
  using enum finding_kind;
  return {
      made<whole_steps>("whole"),
      made<no_wait_for_counts>("no_wait_for_counts", "takes scales that nobody has told yet", race, ""),
      made<no_wait_for_second_stage>("no_wait_for_second_stage", "counts a stage that has not come", read_before_landing, "bulk load"),
      made<released_too_soon>("released_too_soon", "lets a chunk go that Tensor Cores still read", overwritten_in_use,
                              "Tensor Core operation"),
      made<mixed_sum_keeps_its_scale>("mixed_sum_keeps_its_scale", "leaves the mixed sum at the scale before", wrong_result, "is wrong"),
      made<outgrown_elements_not_counted>("outgrown_elements_not_counted", "certifies sums that may have underflown", wrong_result,
                                          "is wrong"),
      made<waits_for_one_warp_more>("waits_for_one_warp_more", "loads when nine warps of eight have let a slot go", deadlock,
                                    "waiting for parity"),
  };
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
