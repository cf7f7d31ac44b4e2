// SPDX-License-Identifier: Apache-2.0
// What was measured of how long gemm's policies take on one device, beside what is predicted of them.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::gemms {

// Products of which a policy's prediction errs alike, by what errors were seen to follow. A class reaches up
// to its number; one more has no end.
struct tuning_class {
  static constexpr std::array<std::int64_t, 6> shorter{2, 4, 8, 32, 128, 512};  // side of C
  // side, of all members of a batch together
  static constexpr std::array<std::int64_t, 3> longer{64, 512, 2048};
  static constexpr std::array<std::int64_t, 6> k{4, 16, 64, 256, 1024, 4096};
  // are 1 or multiples of 4, so that rows without gaps lie at multiples of 16 bytes
  enum alignment { all, not_m_or_n, not_k };
  static constexpr std::array<std::size_t, 4> extents{shorter.size() + 1, longer.size() + 1, k.size() + 1, 3};
  static constexpr std::size_t count = extents[0] * extents[1] * extents[2] * extents[3];

  std::array<std::size_t, 4> at = {};  // which class of each, from 0 on
  constexpr bool operator==(const tuning_class&) const = default;
  // Its place among all, from 0 on.
  constexpr std::size_t index() const {
    std::size_t place = 0;
    for (std::size_t i = 0; i < at.size(); ++i) place = place * extents[i] + at[i];
    return place;
  }
};
constexpr tuning_class tuning_class_at(std::size_t index) {
  tuning_class of;
  for (std::size_t i = of.at.size(); i-- > 0; index /= tuning_class::extents[i])
    of.at[i] = index % tuning_class::extents[i];
  return of;
}
// Of `count` products; extents may be 0.
constexpr tuning_class tuning_class_of(std::int64_t m, std::int64_t n, std::int64_t k,
                                       std::int64_t count = 1) {
  const auto place = [](const auto& ends, std::int64_t value) {
    std::size_t i = 0;
    while (i < ends.size() && value > ends[i]) ++i;
    return i;
  };
  const std::int64_t shorter = m < n ? m : n, longer = m < n ? n : m;
  // longer * count may be more than a number holds
  const bool many = longer > 0 && count > tuning_class::longer.back() / longer;
  const auto whole = [](std::int64_t extent) { return extent == 1 || extent % 4 == 0; };
  const tuning_class::alignment a = k % 4 != 0               ? tuning_class::not_k
                                    : !whole(m) || !whole(n) ? tuning_class::not_m_or_n
                                                             : tuning_class::all;
  return {{place(tuning_class::shorter, shorter),
           many ? tuning_class::longer.size() : place(tuning_class::longer, longer * count),
           place(tuning_class::k, k), static_cast<std::size_t>(a)}};
}

// Factors by which gemm multiplies its predictions before it takes the policy with the least. A value; what
// it holds follows from the file alone, so the same call takes the same policy wherever the same tuning is
// used. Made by hand it has no factors and leaves predictions as they are, on every device.
struct tuning {
  struct of_policy {
    std::string policy;
    std::array<double, tuning_class::count> factors;  // time / prediction, by tuning_class::index()
  };

  std::string from;                // what messages call it: a file's name
  std::string version;             // of the library whose predictions the factors belong to
  std::string device;              // its name; empty: all devices
  std::string compute_capability;  // of it, "9.0"
  int multiprocessors = 0;
  std::string made;  // when and of what, for people
  std::vector<of_policy> policies;

  // 1 for a policy that it does not know.
  double factor(std::string_view policy, const tuning_class& of) const {
    for (const of_policy& one : policies)
      if (one.policy == policy) return one.factors[of.index()];
    return 1;
  }
};

// Reads what `antiphase tune` wrote. Throws bad_request that names the file, what is wrong and what was
// expected. Factors of another version of the library are left out: its predictions were others, and its
// policies perhaps too.
tuning read_tuning(const std::string& path);
// The same of a file's text, which messages call `from`.
tuning parse_tuning(std::string_view text, std::string from);
// The text of such a file.
std::string to_text(const tuning& t);

// Why the tuning does not suit the device: it is another one's, or another version's. Empty if it does.
std::string mismatch(const tuning& t, const device_limits& device);

// The one that gemm uses on a device: `given` if it suits, else that of the file that the environment
// variable ANTIPHASE_TUNING names, else the one that this library has for the device; null: predictions are
// taken as they are. The file is read once, when somebody asks for the first time; what becomes of the
// variable or the file afterwards changes nothing in the process. Throws bad_request, each time, if the file
// cannot be read.
const tuning* tuning_for(const device_limits& device, const tuning* given = nullptr);
// The same in a sentence, with what was left aside and why.
std::string tuning_text(const device_limits& device, const tuning* given = nullptr);

}  // namespace antiphase::gemms
