// SPDX-License-Identifier: Apache-2.0
// Cost model of cuBLAS's FP32 products on the GPUs on which it was measured. How well it fits:
// docs/notebook/gemm.md.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <array>
#include <cstdint>
#include <string_view>

namespace antiphase::gemms {

// Microseconds: startup latency, plus the longer of memory traffic and multiply-adds, the latter for the best
// of a few tiles and split-K factors.
struct cublas_law {
  std::string_view device, capability;  // name; compute capability such as "9.0"
  int multiprocessors;

  double start;  // startup latency
  // bytes/us where C has so few lines that a product is read like a matrix times a vector
  double vector_bytes;
  // bytes/us, highest seen, where C has two to four rows and the long operand lies along k
  double few_rows_bytes;
  double bytes;      // bytes/us elsewhere
  double unaligned;  // surcharge on reading if lines do not begin at multiples of 16 bytes
  double worse;      // factor: cuBLAS's own heuristic against the best tile and split-K factor
  // least number of waves: a multiprocessor's only block has none beside it that hides its latency
  double alone;
  double fill;  // prologue and epilogue of a block, in k
  // split-K: microseconds once, and bytes/us at which partial sums are written and read
  double add_up;
  double add_up_bytes;
  double clock;  // cycles/us: multiply-adds of each of a multiprocessor's 128 FP32 lanes
  struct tile {
    std::int64_t longer, shorter;
    double reached;  // share of the peak
  };
  std::array<tile, 4> tiles;
};

// An NVIDIA H200, fitted to 558 products of cuBLAS 13.1 (driver 580.159.04) with (mnk)^(1/3) of 200 or more:
// bench/results, those in graphs, and bench/results/experiments/20261122-shapes.json.
inline constexpr cublas_law cublas_on_h200{
    .device = "NVIDIA H200",
    .capability = "9.0",
    .multiprocessors = 132,
    .start = 1.93,
    .vector_bytes = 4.0e6,
    .few_rows_bytes = 1.55e6,
    .bytes = 2.03e6,
    .unaligned = 0.07,
    .worse = 1.07,
    .alone = 1.42,
    .fill = 30,
    .add_up = 3.2,
    .add_up_bytes = 22e6,
    .clock = 1755,
    .tiles = {{{128, 128, 0.92}, {64, 64, 0.815}, {128, 32, 0.745}, {32, 32, 0.463}}}};

// An NVIDIA H100 SXM: the H200's law fits 335 products of cuBLAS 13.1 there as well as on an H200, 6.6 % off
// in the median (bench/results/experiments/20261125-h100-lists.json). Only memory bandwidth differs.
inline constexpr cublas_law cublas_on_h100 = [] {
  cublas_law law = cublas_on_h200;
  law.device = "NVIDIA H100 80GB HBM3";
  law.vector_bytes = 2.86e6;
  return law;
}();

// Null: nothing was measured on such a device.
inline const cublas_law* cublas_law_of(const device_limits& device) {
  for (const cublas_law* const law : {&cublas_on_h200, &cublas_on_h100})
    if (law->device == device.name && law->capability == compute_capability(device) &&
        law->multiprocessors == device.multiprocessors)
      return law;
  return nullptr;
}

}  // namespace antiphase::gemms
