// SPDX-License-Identifier: Apache-2.0
// Recomputing outputs under the checker.
#include <antiphase/checker.hpp>

#include "tests/gemm/fp16/recompute_case.hpp"

namespace antiphase::gemm_test {
namespace {

TEST(recompute_checked, has_no_findings) {
  product p = product_of(scattered_reals(40, 70, 1, 3), scattered_reals(70, 37, 2, 3), 1, 0.5f);
  for (std::int64_t k = 0; k < 70; ++k) p.a(3, k) = k == 5 ? 2.f : 0;
  const auto kernels = gemms::checked::kernels_of_recompute();
  for (const auto& [what, count] :
       {std::pair{kernels.tile, 0}, {kernels.list, 7}, {kernels.list, 300}, {kernels.sparse, -1}}) {
    check_options options;
    options.schedules = 5;
    const auto report = check(
        [&](const context& where) {
          recompute_run run(p);
          const marks marked = count < 0 ? run.sparse() : count == 0 ? run.all() : run.list(count);
          EXPECT_EQ(first_wrong(p, run(where, what), marked), "");
        },
        options);
    EXPECT_TRUE(report.clean()) << what.name << "\n" << to_text(report);
    EXPECT_GT(report.accesses, 1000u);
  }
}

}  // namespace
}  // namespace antiphase::gemm_test
