// SPDX-License-Identifier: Apache-2.0
// How long a product takes, predicted: from what it moves, what it multiplies and how often it launches.
#pragma once
#include <algorithm>
#include <antiphase/executor/limits.hpp>
#include <cstdint>

namespace antiphase::gemms {

inline int multiprocessors_of(const device_limits& device) { return std::max(1, device.multiprocessors); }
// How much slower than an H200's the FP64 Tensor Cores of a multiprocessor are.
inline double fp64_slower(const device_limits& device) { return 64. / rates_of(device).fp64; }

// Whether rows of a densely packed matrix that are so long begin at multiples of 16 bytes only now and then, which takes longer to read.
// Which layout an operand has must not decide over bits, so its extents do.
inline bool is_uneven(std::int64_t extent) { return extent > 1 && extent % 4 != 0; }

struct work {
  double fp32 = 0, fp64 = 0, tensor_fp16 = 0;  // multiply-adds
  double bytes = 0;                            // between the multiprocessors and memory
  int launches = 1;
};

// Seconds on a GPU with such limits. Of its clock and its memory a device tells nothing here, so both are those of an H200, by
// multiprocessor: it is a yardstick for one shape against another, and for one candidate against another on one device.
inline double predicted(const work& w, const device_limits& device) {
  constexpr double clock = 1.7e9, bytes_per_clock = 21, launch = 2.5e-6;  // Hz; of a multiprocessor; seconds
  const device_rates rates = rates_of(device);
  const double clocks = clock * multiprocessors_of(device);
  const double multiplies = w.fp32 / rates.fp32 + w.fp64 / rates.fp64 + w.tensor_fp16 / rates.tensor_fp16;
  return std::max(multiplies, w.bytes / bytes_per_clock) / clocks + w.launches * launch;
}

}  // namespace antiphase::gemms
