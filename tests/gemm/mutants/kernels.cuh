// SPDX-License-Identifier: Apache-2.0
// The list of broken products and the results that each is expected to give.
#include <string>
#include <vector>

#include "tests/gemm/mutants/products.cuh"

namespace antiphase::gemm_test {
inline namespace AP_TARGET {

using test::mutant;
using test::outcome;

template <ring_of Ring, int N, fault F> mutant<> made(const char* what, outcome early, outcome late) {
  return {std::to_string(N) + " stages, " + what,
          F == fault::nothing ? nullptr : what,
          {.early = early, .late = late},
          kernel_of<broken_product<Ring, N, F>>("mutant")};
}

// Mutants with rings of any number of stages.
template <int N> void add_copies(std::vector<mutant<>>& all) {
  using enum outcome;
  using enum fault;
  constexpr ring_of copies = ring_of::copies;
  all.push_back(made<copies, N, nothing>("copies without a fault", right, right));
  // copies that complete at once need no wait
  all.push_back(made<copies, N, no_wait>("no wait for copies", right, sometimes_wrong));
  all.push_back(made<copies, N, one_group_short>("a wait one group short", right, sometimes_wrong));
  all.push_back(made<copies, N, no_commit>("no commit", right, sometimes_wrong));
  all.push_back(made<copies, N, no_barrier>("copies without a barrier", sometimes_wrong, sometimes_wrong));
  all.push_back(made<copies, N, one_step_short>("one step short", sometimes_wrong, sometimes_wrong));
  all.push_back(made<copies, N, one_element_far>("one element too far", sometimes_wrong, sometimes_wrong));
  all.push_back(made<copies, N, no_zero_fill>("no zeros past the end", sometimes_wrong, sometimes_wrong));
}
template <int N> void add_registers(std::vector<mutant<>>& all) {
  using enum outcome;
  using enum fault;
  all.push_back(made<ring_of::registers, N, nothing>("registers without a fault", right, right));
  all.push_back(made<ring_of::registers, N, no_barrier>("registers without a barrier", sometimes_wrong,
                                                        sometimes_wrong));
  all.push_back(made<ring_of::registers, N, one_step_short>("registers, one step short", sometimes_wrong,
                                                            sometimes_wrong));
}

std::vector<mutant<>> mutants() {
  using enum outcome;
  using enum fault;
  std::vector<mutant<>> all;
  add_copies<1>(all);
  add_copies<2>(all);
  add_copies<3>(all);
  add_copies<4>(all);
  add_registers<1>(all);
  add_registers<2>(all);
  all.push_back(made<ring_of::copies, 1, no_barrier_after_compute>("no barrier after compute",
                                                                   sometimes_wrong, sometimes_wrong));
  all.push_back(made<ring_of::registers, 1, no_barrier_after_compute>("registers, no barrier after compute",
                                                                      sometimes_wrong, sometimes_wrong));
  all.push_back(made<ring_of::textbook, 2, nothing>("the textbooks' order", right, right));
  all.push_back(made<ring_of::textbook, 2, no_barrier_after_compute>(
      "the textbooks' order, no barrier after compute", sometimes_wrong, right));
  return all;
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemm_test
