// SPDX-License-Identifier: Apache-2.0
// From measured times to the factors of a tuning.
#pragma once
#include <antiphase/gemm/tuning.hpp>
#include <span>
#include <string>
#include <vector>

namespace antiphase::tool {

// What the policies took for one product.
struct tuning_sample {
  gemms::tuning_class of;
  struct time {
    std::string policy;
    double predicted, measured;  // in the same unit
  };
  std::vector<time> times;
};

// Of every policy that was measured. A factor is the geometric mean of measured / predicted over the products
// of its class, those of the classes beside it, which count a tenth each, and one product that takes as long
// as predicted: where little was measured, predictions are believed. Three digits behind the point.
std::vector<gemms::tuning::of_policy> fitted(std::span<const tuning_sample> samples);

// How many times as long as the fastest policy the one takes that is predicted to be the fastest with these
// factors, as the geometric mean over products; 1 for none.
double lag_of(std::span<const tuning_sample> samples, const gemms::tuning& with);

// The mean of measured / predicted over all products of a policy, likewise, and how many products that are.
struct mean_ratio {
  std::string policy;
  std::size_t products;
  double ratio;
};
std::vector<mean_ratio> mean_ratios(std::span<const tuning_sample> samples);

}  // namespace antiphase::tool
