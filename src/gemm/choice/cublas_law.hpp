// SPDX-License-Identifier: Apache-2.0
// How long cuBLAS takes for FP32 products on GPUs on which that was measured. docs/notebook/gemm.md has how
// well it fits.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <array>
#include <cstdint>
#include <string_view>

namespace antiphase::gemms {

// Microseconds: a start, and the longest of the operands' way and of the multiply-adds, by the best of a few
// tiles and divisions of K.
struct cublas_law {
  std::string_view device, capability;  // its name, and "9.0"
  int multiprocessors;

  double start;  // of a product
  // per microsecond, where C has so few lines that the long operand is read as a vector's would be
  double vector_bytes;
  // where those are two to four rows, and the long operand has its values of K side by side: the most that
  // was seen
  double few_rows_bytes;
  double bytes;      // elsewhere
  double unaligned;  // share that reading takes longer where lines begin anywhere
  double worse;      // than the best tile and division: the heuristics' choice
  // rounds that the first one takes: blocks of a multiprocessor hide each other's waiting
  double alone;
  double fill;  // k that a block needs to begin and to end
  // where K is divided, and bytes per microsecond that parts are read and written with
  double add_up;
  double add_up_bytes;
  double clock;  // multiply-adds of a lane in a microsecond, 128 lanes each
  struct tile {
    std::int64_t longer, shorter;
    double reached;  // of the peak
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

// An NVIDIA H100 SXM: the law of the H200 describes 335 products of cuBLAS 13.1 there as well as the H200's,
// 6.6 % off in the median (bench/results/experiments/20261125-h100-lists.json), but for those that memory
// alone limits.
inline constexpr cublas_law cublas_on_h100 = [] {
  cublas_law law = cublas_on_h200;
  law.device = "NVIDIA H100 80GB HBM3";
  law.vector_bytes = 2.86e6;
  return law;
}();

// Null: on such a device nothing was measured.
inline const cublas_law* cublas_law_of(const device_limits& device) {
  for (const cublas_law* const law : {&cublas_on_h200, &cublas_on_h100})
    if (law->device == device.name && law->capability == compute_capability(device) &&
        law->multiprocessors == device.multiprocessors)
      return law;
  return nullptr;
}

}  // namespace antiphase::gemms
