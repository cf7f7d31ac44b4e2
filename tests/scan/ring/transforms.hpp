// SPDX-License-Identifier: Apache-2.0
// Scans with a function before and after: between types of 1 to 32 bytes, larger, smaller and equal.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/scan/detail/arguments.hpp>
#include <antiphase/scan/operators.hpp>
#include <vector>

#include "tests/scan/types.hpp"

namespace antiphase::scan_test {

// Types of 1, 8 and 4 bytes.
struct sums_of_squares {
  using in = std::uint8_t;
  using scanned = std::uint64_t;
  using out = float;
  using op = scans::sum;
  struct before {
    AP_FN scanned operator()(const in& x) const { return scanned{x} * x; }
  };
  struct after {
    AP_FN out operator()(const scanned& x) const { return static_cast<out>(x % 16777213) / 256; }
  };
  static in element(std::int64_t i) { return static_cast<in>(hash(static_cast<std::uint64_t>(i))); }
};
// 8, 8 and 3 bytes, not commutative.
struct depths_of_brackets {
  using in = std::uint64_t;
  using scanned = brackets;
  using out = nullable;
  using op = concatenated;
  struct before {
    AP_FN scanned operator()(const in& x) const {
      return {static_cast<std::uint32_t>(x % 5), static_cast<std::uint32_t>(x / 5 % 5)};
    }
  };
  struct after {
    AP_FN out operator()(const scanned& x) const {
      return {static_cast<unsigned char>(x.closing), static_cast<unsigned char>(x.opening),
              static_cast<unsigned char>(x.opening >> 8)};
    }
  };
  static in element(std::int64_t i) { return hash(static_cast<std::uint64_t>(i)); }
};
// 3, 16 and 3 bytes, without default constructors.
struct maps_of_three_bytes {
  using in = nullable;
  using scanned = step64;
  using out = nullable;
  using op = steps64;
  struct before {
    AP_FN scanned operator()(const in& x) const { return {x.low * 2u + 1u, x.high * 256u + x.present}; }
  };
  struct after {
    AP_FN out operator()(const scanned& x) const {
      return {static_cast<unsigned char>(x.factor), static_cast<unsigned char>(x.offset),
              static_cast<unsigned char>(x.offset >> 8)};
    }
  };
  static in element(std::int64_t i) { return element_at<nullable>(i); }
};
// 4, 4 and 4 bytes: in place, though the types differ. No negated operands: ptxas of CUDA 13.0 loses integer
// negations that it folds into a maximum of three (VIMNMX3, sm_90).
struct largest_of_distances {
  using in = std::int32_t;
  using scanned = std::int32_t;
  using out = float;
  using op = scans::maximum;
  struct before {
    AP_FN scanned operator()(const in& x) const { return 1048583 - x; }
  };
  struct after {
    AP_FN out operator()(const scanned& x) const { return static_cast<out>(x) * 2; }
  };
  static in element(std::int64_t i) {
    return static_cast<in>(hash(static_cast<std::uint64_t>(i)) % (1u << 20)) + static_cast<in>(i % 3);
  }
};
// 4, 32 and 8 bytes: several passes.
struct products_of_matrices {
  using in = std::uint32_t;
  using scanned = matrix;
  using out = std::uint64_t;
  using op = times;
  struct before {
    AP_FN scanned operator()(const in& x) const { return {x | 1u, x >> 3, x & 7u, 1}; }
  };
  struct after {
    AP_FN out operator()(const scanned& x) const { return x.a + 3 * x.b + 5 * x.c + 7 * x.d; }
  };
  static in element(std::int64_t i) { return static_cast<in>(hash(static_cast<std::uint64_t>(i))); }
};

enum class transform { squares, brackets, three_bytes, distances, matrices };
struct transform_scan {
  scan_test::transform transform;
  launch_counts (*run)(const context& where, const void* in, void* out, const scans::lines& over,
                       scan_kind kind, const void* initial);
};

}  // namespace antiphase::scan_test
