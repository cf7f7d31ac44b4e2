// SPDX-License-Identifier: Apache-2.0
// Predictions beside measured times, and by how much they are off.
#pragma once
#include <antiphase/executor/machine.hpp>
#include <antiphase/executor/pipeline_law.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "tool/program/console.hpp"

namespace antiphase::tool {

struct judged_time {
  std::string family;  // of kernels: "gemm ladder", "split", "scan ladder", ...
  std::string policy;
  std::string shape;    // text; of all policies that were measured side by side the same
  std::string contest;  // empty: nothing was measured beside it
  bool fitted = false;  // a law's numbers come from it
  double measured = 0;  // seconds
  prediction takes;
};
// Of a result file of ladder, bench or tune. Records without times, or of what no law is for, are left out.
// Throws bad_input, with the file's name, for records that are not as docs/measuring.md says.
void add_times(const machine_profile& on, const json& file, const std::string& name,
               std::vector<judged_time>& to);

struct family_error {
  std::string name;
  std::size_t times = 0, fitted_times = 0;
  double fitted_median = 0;    // of |predicted / measured - 1|
  double median = 0, p90 = 0;  // the same of those that nothing was fitted to
  std::size_t ranked = 0;      // shapes with three policies or more
  double rank = 0;             // mean of Spearman's correlation over them
  std::size_t picks = 0;       // of them: the predicted best is within 5 % of the measured one
};
std::vector<family_error> errors_of(const std::vector<judged_time>& times);

// Spearman's correlation of two orders; 1 where there are fewer than two.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace antiphase::tool
