// SPDX-License-Identifier: Apache-2.0
// Operands of any size that cost the host nothing, and products of them judged by a sample.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/bound.hpp>
#include <cstdint>
#include <vector>

#include "tool/measure/accuracy.hpp"
#include "tool/measure/product_list.hpp"

namespace antiphase::tool {

// Normal values that begin again after a prime number of places, so that no row of a matrix looks like the
// next one.
class repeated_values {
 public:
  explicit repeated_values(std::vector<float> period) : period_(std::move(period)) {}
  float operator[](std::int64_t place) const { return period_[static_cast<std::size_t>(place % length())]; }
  std::int64_t length() const { return static_cast<std::int64_t>(period_.size()); }
  const float* data() const { return period_.data(); }
  void fill(const context& where, float* device, std::int64_t count) const;

 private:
  std::vector<float> period_;
};

// What every list of products is made of: A, B and what C holds before, from its first place on.
struct operand_values {
  repeated_values a, b, c;
};
operand_values normal_operands();

// Compares C = A B + beta C, of all products of a batch as one tall matrix, with FP64. Rows: one of each 128,
// at least 64 and at most 2048 of them, of which every element has to be finite. Of these, outputs that take
// 10 million products altogether, in other columns for every row, are compared.
class spot_check {
 public:
  spot_check(const listed_product& of, const operand_values& values);
  // `c`: on the device.
  accuracy operator()(const context& where, const float* c, const gemm_bound& promised) const;
  std::int64_t outputs() const { return static_cast<std::int64_t>(points_.size()); }

 private:
  struct point {
    std::size_t row;  // of rows_
    std::int64_t column;
    double exact, product, size, added;  // AB + beta C, AB, |A||B|, beta C
  };
  std::int64_t n_, k_;
  float beta_;
  std::vector<std::int64_t> rows_;
  std::vector<point> points_;

  double component(const point& at, double difference, const gemm_bound& promised) const;
};

}  // namespace antiphase::tool
