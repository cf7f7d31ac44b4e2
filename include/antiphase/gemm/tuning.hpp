// SPDX-License-Identifier: Apache-2.0
// Tunings: factors between measured and predicted times of gemm's policies on one device.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::gemms {

// A class of products for which predictions have similar errors, by the extents that the errors were found to
// depend on. The numbers are the upper ends of the classes; one more class has no upper end.
struct tuning_class {
  static constexpr std::array<std::int64_t, 6> shorter{2, 4, 8, 32, 128, 512};  // side of C
  // side of C, times the members of a batch
  static constexpr std::array<std::int64_t, 3> longer{64, 512, 2048};
  static constexpr std::array<std::int64_t, 6> k{4, 16, 64, 256, 1024, 4096};
  // which extents are 1 or multiples of 4, so that densely packed rows begin at multiples of 16 bytes
  enum alignment { all, not_m_or_n, not_k };
  static constexpr std::array<std::size_t, 4> extents{shorter.size() + 1, longer.size() + 1, k.size() + 1, 3};
  static constexpr std::size_t count = extents[0] * extents[1] * extents[2] * extents[3];

  std::array<std::size_t, 4> cell = {};  // the class in each dimension, from 0
  constexpr bool operator==(const tuning_class&) const = default;
  // Its index among all classes, from 0.
  constexpr std::size_t index() const {
    std::size_t place = 0;
    for (std::size_t i = 0; i < cell.size(); ++i) place = place * extents[i] + cell[i];
    return place;
  }
};
constexpr tuning_class tuning_class_at(std::size_t index) {
  tuning_class of;
  for (std::size_t i = of.cell.size(); i-- > 0; index /= tuning_class::extents[i])
    of.cell[i] = index % tuning_class::extents[i];
  return of;
}
// The class of `count` products; extents may be 0.
constexpr tuning_class tuning_class_of(std::int64_t m, std::int64_t n, std::int64_t k,
                                       std::int64_t count = 1) {
  const auto place = [](const auto& ends, std::int64_t value) {
    std::size_t i = 0;
    while (i < ends.size() && value > ends[i]) ++i;
    return i;
  };
  const std::int64_t shorter = m < n ? m : n, longer = m < n ? n : m;
  // longer * count may overflow
  const bool many = longer > 0 && count > tuning_class::longer.back() / longer;
  const auto whole = [](std::int64_t extent) { return extent == 1 || extent % 4 == 0; };
  const tuning_class::alignment a = k % 4 != 0               ? tuning_class::not_k
                                    : !whole(m) || !whole(n) ? tuning_class::not_m_or_n
                                                             : tuning_class::all;
  return {{place(tuning_class::shorter, shorter),
           many ? tuning_class::longer.size() : place(tuning_class::longer, longer * count),
           place(tuning_class::k, k), static_cast<std::size_t>(a)}};
}

// Factors by which gemm multiplies predicted times before it takes the policy with the least:
//
//   const gemm_tuning measured = gemms::read_tuning("tuning.json");  // written by `antiphase tune`
//   gemm(where, p, {.tuning = &measured});
//
// A value type. Its contents depend on the file alone, so the same call takes the same policy wherever the
// same tuning is used. A default-constructed one has no factors and leaves predictions as they are, on every
// device.
struct tuning {
  struct of_policy {
    std::string policy;
    std::array<double, tuning_class::count> factors;  // time / prediction, by tuning_class::index()
  };

  std::string source;              // its name in messages: the file
  std::string version;             // of the library whose predictions it corrects
  std::string device;              // its name; empty: all devices
  std::string compute_capability;  // of the device, "9.0"
  int multiprocessors = 0;
  std::string made;  // when and from what, for people
  std::vector<of_policy> policies;

  // 1 for an unknown policy.
  double factor(std::string_view policy, const tuning_class& of) const {
    for (const of_policy& one : policies)
      if (one.policy == policy) return one.factors[of.index()];
    return 1;
  }
};

// Reads what `antiphase tune` wrote. Throws bad_request that names the file, what is wrong and what was
// expected. Factors of another library version are dropped, since its predictions and policies may differ.
tuning read_tuning(const std::string& path);
// The same for a file's text, named `from` in messages.
tuning parse_tuning(std::string_view text, std::string from);
// The text of such a file.
std::string to_text(const tuning& t);

// Why the tuning does not apply: made for another device or library version. Empty if it applies.
std::string mismatch(const tuning& t, const device_limits& device);

// The tuning that gemm uses on a device: `given` if it applies, else the file named by the environment
// variable ANTIPHASE_TUNING, else the library's own for this device, else null: predictions stay as they are.
// The file is read once, at the first call; later changes of variable or file have no effect in the process.
// Throws bad_request, each time, if the file cannot be read.
const tuning* tuning_for(const device_limits& device, const tuning* given = nullptr);
// The same as a sentence, with the tunings that were ignored and why.
std::string tuning_text(const device_limits& device, const tuning* given = nullptr);

}  // namespace antiphase::gemms
