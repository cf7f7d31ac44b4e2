// SPDX-License-Identifier: Apache-2.0
// Products with epilogue functions of the user's, compiled as a user does.
#include <antiphase/gemm.cuh>

#include "tests/gemm/own/own_functions.hpp"

namespace antiphase::gemm_test::AP_TARGET {

template <class F> launch_counts with(const context& where, const gemm_problem& p, const F& finish,
                                      const gemm_options& options) {
  return gemm(where, p, finish, options);
}
own_calls calls() { return {&with<gemm_test::by_place>, &with<gemm_test::by_table>}; }

// The concept: trivially copyable, small, callable with a value and its place, returns a float.
struct not_of_places {
  AP_FN float operator()(float value) const { return value; }
};
struct not_a_number {
  AP_FN const char* operator()(float, std::int64_t, std::int64_t) const { return ""; }
};
struct too_large {
  float values[513];
  AP_FN float operator()(float value, std::int64_t, std::int64_t) const { return value; }
};
static_assert(finishes_results<gemm_test::by_place> && finishes_results<gemm_test::by_table>);
static_assert(!finishes_results<not_of_places> && !finishes_results<not_a_number> &&
              !finishes_results<too_large>);
static_assert(!finishes_results<gemm_options> && !finishes_results<float>);

}  // namespace antiphase::gemm_test::AP_TARGET
