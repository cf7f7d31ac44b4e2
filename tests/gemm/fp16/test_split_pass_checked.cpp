// SPDX-License-Identifier: Apache-2.0
// The split pass under the checker.
#include <antiphase/checker.hpp>
#include <antiphase/core/error.hpp>

#include "tests/gemm/fp16/split_case.hpp"

namespace antiphase::gemms {
namespace {

TEST(split_pass_checked, has_no_findings) {
  check_options options;
  options.schedules = 5;
  const auto& listed =
      // in the same order as those for the checker, which enters its own when it begins
      split_pass_instances(target::cpu);
  for (std::size_t i = 0; i < listed.size(); ++i)
    for (const int cluster : {1, 2}) {
      if (cluster > 1 && !listed[i].policy.clusters) continue;
      const auto report = check(
          [&](const context& where) {
            const auto plan = [&](auto... operands) {
              return plan_split(split_pass_instances(target::checked)[i], cluster, operands...);
            };
            const std::string wrong =
                wrong_split(where, {300, {23, lies::along_k}, {21, lies::along_lines, 1, 1}}, plan);
            if (!wrong.empty()) throw error(wrong);
          },
          options);
      EXPECT_TRUE(report.clean()) << listed[i].kernel.name << "\n" << to_text(report);
      EXPECT_GT(report.accesses, 1000u);
    }
}

}  // namespace
}  // namespace antiphase::gemms
