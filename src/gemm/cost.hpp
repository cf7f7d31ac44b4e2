// SPDX-License-Identifier: Apache-2.0
// How long a product takes, predicted: from what it moves, what it multiplies and how often it launches.
#pragma once
#include <algorithm>
#include <antiphase/executor/limits.hpp>
#include <cmath>
#include <cstdint>

namespace antiphase::gemms {

inline int multiprocessors_of(const device_limits& device) { return std::max(1, device.multiprocessors); }
// How much slower than an H200's the FP64 Tensor Cores of a multiprocessor are.
inline double fp64_slower(const device_limits& device) { return 64. / rates_of(device).fp64; }

// Whether rows of a densely packed matrix that are so long begin at multiples of 16 bytes only now and then, which takes longer to read.
// Which layout an operand has must not decide over bits, so its extents do.
inline bool is_uneven(std::int64_t extent) { return extent > 1 && extent % 4 != 0; }

// How operands lie that are packed densely, in the mean over their four layouts: whether A's and B's rows begin anywhere, whether those of
// one of the two do, so that threads have to copy them, and whether the shorter operand lies in rows of 16 bytes.
struct mean_layout {
  double a_uneven, b_uneven, either_uneven, brief;
};
inline mean_layout mean_layout_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  const bool of_m = is_uneven(m), of_n = is_uneven(n), of_k = is_uneven(k);
  const auto share = [](int of_two) { return of_two / 2.; };
  const bool brief = std::min(m, n) == 4;  // then it lies along k in half of the layouts, and of the others the long one may be uneven
  return {.a_uneven = share(of_m + of_k),
          .b_uneven = share(of_n + of_k),
          .either_uneven = ((of_k || of_n) + of_k + (of_m || of_n) + (of_m || of_k)) / 4.,
          .brief = !brief ? 0 : ((m >= n ? !of_m : !of_n) + !of_k) / 4.};
}

// How C's rows begin, which lies by rows: at multiples of 32 bytes, which is what memory moves at once, of 16, or anywhere.
enum class row_start { whole, half, anywhere };
inline row_start rows_of_c(std::int64_t n) {
  return is_uneven(n) ? row_start::anywhere : n > 1 && n % 8 != 0 ? row_start::half : row_start::whole;
}

// Of two things that overlap, each so long: a maximum that knows that two of the same length do not hide each other completely.
inline double longer(double one, double other) {
  const double a = one * one, b = other * other;
  return std::sqrt(std::sqrt(a * a + b * b));
}

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
