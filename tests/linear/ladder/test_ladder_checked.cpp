// SPDX-License-Identifier: Apache-2.0
// The Tensor Core kernels under the checker.
#include <antiphase/checker.hpp>
#include <antiphase/core/error.hpp>

#include "tests/linear/ladder/ladder_case.hpp"

namespace antiphase::gemms {
namespace {

TEST(tensor_core_checked, has_no_findings) {
  check_options options;
  options.schedules = 10;
  for (const tensor_instance& k : joined(checked::tensor_instances(), checked::tensor_tma_instances())) {
    const auto report = check(
        [&](const context& where) {
          if (const std::string wrong = wrong_output(where, k, {65, 63, 100}); !wrong.empty())
            throw error(wrong);
        },
        options);
    EXPECT_TRUE(report.clean()) << k.kernel.name << "\n" << to_text(report);
    EXPECT_GT(report.accesses, 1000u);
  }
}

}  // namespace
}  // namespace antiphase::gemms
