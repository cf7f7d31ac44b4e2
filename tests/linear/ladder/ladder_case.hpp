// SPDX-License-Identifier: Apache-2.0
// One product on Tensor Cores, against FP64.
#pragma once
#include <gtest/gtest.h>
#include <antiphase/context.hpp>
#include <cmath>
#include <string>

#include "tests/linear/ladder/ladder_instances.hpp"

namespace antiphase::gemms {

struct tensor_shape {
  int m, n, k;
};
// Odd sizes, edges on every side, K of less than a step and of nothing.
inline const tensor_shape tensor_shapes[] = {{1, 1, 1},      {64, 64, 64}, {65, 63, 33},
                                             {17, 130, 100}, {130, 70, 7}, {70, 40, 0}};

inline float half_at(std::size_t i) {
  return to_float(to_f16(static_cast<float>((i * 2654435761u >> 7) % 2001) * 0.001f - 1));
}

// The padding of rows and what lies beyond them is NaN: a kernel that reads it shows.
inline std::vector<f16> padded(int rows, int columns, int stride, std::size_t seed) {
  std::vector<f16> all(static_cast<std::size_t>(rows * stride + 8), f16{0x7E00});
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      all[static_cast<std::size_t>(i * stride + j)] =
          to_f16(half_at(seed + static_cast<std::size_t>(i * 1000 + j)));
  return all;
}

// The operands of a product on a device.
struct half_operands {
  tensor_shape shape;
  int a_stride = (shape.k + 7) / 8 * 8 + 8, b_stride = (shape.n + 7) / 8 * 8 + 8, c_stride = shape.n + 3;
  std::vector<f16> host_a = padded(shape.m, shape.k, a_stride, 11),
                   host_b = padded(shape.k, shape.n, b_stride, 500'009);
  device_array<f16> a, b;

  half_operands(const context& where, const tensor_shape& s)
      : shape(s), a(where, std::span<const f16>(host_a)), b(where, std::span<const f16>(host_b)) {}
  // C, with what lies between its rows, -77.
  std::vector<float> product(const context& where, const tensor_instance& kernel) const {
    device_array<float> c(where, std::vector<float>(static_cast<std::size_t>(shape.m * c_stride), -77.f));
    const tensor_core_problem p{row_major<const f16>(a.data(), shape.m, shape.k, a_stride),
                                row_major<const f16>(b.data(), shape.k, shape.n, b_stride),
                                row_major(c.data(), shape.m, shape.n, c_stride)};
    run(where.runs_on(), prepare(where.runs_on(), kernel.step, kernel.kernel, p), nullptr);
    where.runs_on().synchronize(nullptr);
    return c.to_host();
  }
};

// The first output that is wrong by more than the Tensor Core's arithmetic explains, or nothing.
inline std::string wrong_output(const context& where, const tensor_instance& kernel, const tensor_shape& s) {
  const half_operands in(where, s);
  const int a_stride = in.a_stride, b_stride = in.b_stride, c_stride = in.c_stride;
  const std::vector<float> out = in.product(where, kernel);
  for (int i = 0; i < s.m; ++i)
    for (int j = 0; j < c_stride; ++j) {
      double sum = 0, size = 0;
      for (int l = 0; l < s.k && j < s.n; ++l) {
        const double product = double{to_float(in.host_a[static_cast<std::size_t>(i * a_stride + l)])} *
                               to_float(in.host_b[static_cast<std::size_t>(l * b_stride + j)]);
        sum += product;
        size += std::abs(product);
      }
      const double expected = j < s.n ? sum : -77;
      const float got = out[static_cast<std::size_t>(i * c_stride + j)];
      if (!(std::abs(got - expected) <= size * 0x1p-22 * (1 + s.k / 16)))
        return std::string(kernel.kernel.name) + ", " + std::to_string(s.m) + " x " + std::to_string(s.n) +
               " x " + std::to_string(s.k) + ": (" + std::to_string(i) + ", " + std::to_string(j) + ") is " +
               std::to_string(got) + ", expected " + std::to_string(expected);
    }
  return {};
}

}  // namespace antiphase::gemms
