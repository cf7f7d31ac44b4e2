// SPDX-License-Identifier: Apache-2.0
// Predictions next to measured times, and their errors.
#pragma once
#include <antiphase/executor/machine.hpp>
#include <antiphase/executor/pipeline_cost.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "tool/measure/products/product_list.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {

// The product of a record of `bench gemm`, `tune` or `ladder gemm`.
listed_product product_of(const json& record);
std::string shape_text(const listed_product& p);

struct compared_time {
  std::string family;  // "gemm ladder", "scan ladder", "scan", ..., or a policy's name
  std::string policy;
  std::string shape;    // equal for all policies that were measured side by side
  std::string contest;  // empty: nothing was measured side by side with it
  bool fitted = false;  // the cost model's constants were fitted to it
  double measured = 0;  // seconds
  prediction takes;
};
// Adds the times in a result file of ladder, bench or tune. Records without times, or of kernels without a
// cost model, are skipped. Throws bad_input, with the file's name, for records that do not follow
// docs/project/measuring.md.
void add_times(const machine_profile& on, const json& file, const std::string& name,
               std::vector<compared_time>& to);

struct family_error {
  std::string name;
  std::size_t times = 0, fitted_times = 0;
  double fitted_median = 0;    // median of |predicted / measured - 1|
  double median = 0, p90 = 0;  // the same for times that were not fitted to
  std::size_t ranked = 0;      // shapes with at least three policies
  double rank = 0;             // mean of Spearman's correlation over these
  std::size_t picks = 0;       // how often the predicted best is within 5 % of the measured best
};
std::vector<family_error> errors_of(const std::vector<compared_time>& times);

// Spearman's rank correlation; 1 for fewer than two values.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace antiphase::tool
