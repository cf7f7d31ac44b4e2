// SPDX-License-Identifier: Apache-2.0
// Fits the factors of a tuning to measured times.
#pragma once
#include <antiphase/gemm/tuning.hpp>
#include <span>
#include <string>
#include <vector>

namespace antiphase::tool {

// Predicted and measured times of the policies for one product.
struct tuning_sample {
  gemms::tuning_class tuning_class;
  struct time {
    std::string policy;
    double predicted, measured;  // in the same unit
  };
  std::vector<time> times;
};

// Factors of every measured policy. A factor is the weighted geometric mean of measured / predicted: over the
// products of its class (weight 1), those of adjacent classes (0.1), and one fictitious product that takes
// exactly the predicted time (1), so that predictions prevail where little was measured. Rounded to three
// decimals.
std::vector<gemms::tuning::of_policy> fitted(std::span<const tuning_sample> samples);

// Slowdown of choosing by these factors: the time of the policy predicted to be fastest over that of the
// fastest, as the geometric mean over products; 1 if there are none.
double lag_of(std::span<const tuning_sample> samples, const gemms::tuning& with);

// Geometric mean of measured / predicted over all products of a policy, and their number.
struct mean_ratio {
  std::string policy;
  std::size_t products;
  double ratio;
};
std::vector<mean_ratio> mean_ratios(std::span<const tuning_sample> samples);

}  // namespace antiphase::tool
