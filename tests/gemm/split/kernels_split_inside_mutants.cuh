// The product that splits A itself with one fault each: a wait, a fence or a piece of arithmetic left out.
#include "src/gemm/split/split_inside_product.cuh"

#include "tests/gemm/split/split_mutants.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

using converting_whole = converting_steps<few_converting_stages>;
struct no_wait_for_counts : converting_whole {
  template <class Ring, class Place> AP_DEV static void wait_for_counts(Ring&, Place, int) {}
};
struct no_wait_for_second_stage : converting_whole {
  template <class Ring, class Place> AP_DEV static void wait_for_second_stage(Ring&, Place, int) {}
};
struct released_too_soon : converting_whole {
  AP_DEV static void before_release() {}
};
struct mixed_sum_keeps_its_scale : converting_whole {
  AP_DEV static float of_mixed(float) { return 1; }
};
struct outgrown_elements_not_counted : converting_whole {
  AP_DEV static std::uint32_t tiny_when_outgrown(const row_part& row) { return row.tiny; }
};
struct waits_for_one_warp_more : converting_whole {
  using ring = channel<mbarrier, few_converting_stages.stages, threads(1), warps(counting_warps), warps(computing_warps + 1)>;
};

template <class Steps> test::mutant<> made(const char* name, const char* broken = nullptr, finding_kind by = {}, const char* says = "") {
  return {name, broken, {by, says}, kernel_of<split_inside_product<few_converting_stages, Steps>>(name)};
}

std::vector<test::mutant<>> converting_mutants() {
  using enum finding_kind;
  return {
      made<converting_whole>("whole"),
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
