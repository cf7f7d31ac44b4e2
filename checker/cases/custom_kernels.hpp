// SPDX-License-Identifier: Apache-2.0
// Scans of types and with operators that the library does not have, as a user's program compiles them.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/core/portable.hpp>
#include <antiphase/scan/operation.hpp>
#include <cstdint>
#include <vector>

namespace antiphase::checker_detail {

// Three bytes, and an operator without identity: the last value that is present.
struct nullable {
  unsigned char low, high, present;
  bool operator==(const nullable&) const = default;
};
struct last_present {
  AP_FN nullable operator()(const nullable& x, const nullable& y) const { return y.present != 0 ? y : x; }
};
// 8 and 16 bytes: maps x -> factor x + offset, one after the other, which does not commute.
template <class T> struct affine {
  T factor, offset;
  bool operator==(const affine&) const = default;
};
struct composed {
  template <class T> AP_FN affine<T> operator()(const affine<T>& x, const affine<T>& y) const {
    return {x.factor * y.factor, y.factor * x.offset + y.offset};
  }
};
// 32 bytes, which no single pass takes: matrices of 2 x 2.
struct matrix {
  std::uint64_t a, b, c, d;
  bool operator==(const matrix&) const = default;
};
struct times {
  AP_FN matrix operator()(const matrix& x, const matrix& y) const {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
  }
};

// Type-erased, so that the file that is compiled for the checker holds no more than the kernels and the
// calls.
enum class custom_type { nullable, affine32, affine64, matrix };
struct custom_lines {
  std::int64_t outer, length, inner;
  scan_direction direction;
};
struct custom_scan {
  custom_type type;
  const char* about;
  std::vector<kernel> kernels;     // that its calls may launch
  std::vector<const char*> cases;  // that launch each
  int pass_tile;                   // elements
  struct {
    int tile, stages;    // 0: no single pass takes the type
  } by_tma, by_threads;  // whoever moves the tiles
  // null: inclusive
  void (*run)(const context& where, const void* in, void* out, const custom_lines& over, const void* initial);
};

// A function before and one after: bytes, summed in 8 bytes, the lower half of which is written.
struct squared {
  AP_FN std::uint64_t operator()(const std::uint8_t& x) const { return std::uint64_t{x} * x; }
};
struct lower_half {
  AP_FN std::uint32_t operator()(const std::uint64_t& x) const { return static_cast<std::uint32_t>(x); }
};
struct transformed_scan {
  std::vector<kernel> kernels;
  std::vector<const char*> cases;
  int pass_tile;
  struct {
    int tile, stages;
  } by_tma, by_threads;
  void (*run)(const context& where, const std::uint8_t* in, std::uint32_t* out, const custom_lines& over,
              const std::uint64_t* initial);
};

}  // namespace antiphase::checker_detail
