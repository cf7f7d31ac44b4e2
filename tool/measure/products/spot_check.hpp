// SPDX-License-Identifier: Apache-2.0
// Operands of any size at little cost for the host, and products of them checked by a sample.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/bound.hpp>
#include <cstdint>
#include <vector>

#include "tool/measure/products/accuracy.hpp"
#include "tool/measure/products/product_list.hpp"

namespace antiphase::tool {

// Normally distributed values with a prime period, so that no row of a matrix equals the next one.
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

// Operands of all products of a list: A, B and the previous C each begin at index 0.
struct operand_values {
  repeated_values a, b, c;
};
operand_values normal_operands();

// Compares C = A B + beta C with FP64; the products of a batch form one tall matrix. Rows: one of each 128,
// at least 64 and at most 2048, fewer if N exceeds 2^17 (8 at least); all their elements must be finite.
// Outputs compared: those of these rows, at different columns in each row, that cost 10 million multiply-adds
// (64 at least).
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
