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

// Products of which a policy's prediction errs alike. Each class reaches up to its number; one more has no end.
struct tuning_class {
  static constexpr std::array<std::int64_t, 4> lines{8, 32, 128, 512};   // rows or columns of C, whichever are fewer
  static constexpr std::array<std::int64_t, 3> k{32, 256, 2048};         // products of an output
  static constexpr std::array<std::int64_t, 2> bytes{1 << 20, 1 << 25};  // of A, B and C, of all members of a batch
  static constexpr std::size_t count = (lines.size() + 1) * (k.size() + 1) * (bytes.size() + 1);

  std::size_t by_lines = 0, by_k = 0, by_bytes = 0;  // which class, from 0 on
  constexpr bool operator==(const tuning_class&) const = default;
  // Its place among all.
  constexpr std::size_t index() const { return (by_lines * (k.size() + 1) + by_k) * (bytes.size() + 1) + by_bytes; }
};
constexpr tuning_class tuning_class_at(std::size_t index) {
  constexpr std::size_t sizes = tuning_class::bytes.size() + 1, depths = tuning_class::k.size() + 1;
  return {index / sizes / depths, index / sizes % depths, index % sizes};
}
// Of a product whose C has so many lines. `bytes` may have been rounded.
constexpr tuning_class tuning_class_of(std::int64_t lines, std::int64_t k, double bytes) {
  const auto place = [](const auto& ends, auto value) {
    std::size_t i = 0;
    while (i < ends.size() && value > static_cast<decltype(value)>(ends[i])) ++i;
    return i;
  };
  return {place(tuning_class::lines, lines), place(tuning_class::k, k), place(tuning_class::bytes, bytes)};
}

// Factors by which gemm multiplies its predictions before it takes the policy with the least. A value; what it holds follows from the file
// alone, so the same call takes the same policy wherever the same tuning is used. Made by hand it has no factors and leaves predictions as
// they are, on every device.
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

// Reads what `antiphase tune` wrote. Throws bad_request that names the file, what is wrong and what was expected. Factors of another
// version of the library are left out: its predictions were others, and its policies perhaps too.
tuning read_tuning(const std::string& path);
// The same of a file's text, which messages call `from`.
tuning parse_tuning(std::string_view text, std::string from);
// The text of such a file.
std::string to_text(const tuning& t);

// Why the tuning does not suit the device: it is another one's, or another version's. Empty if it does.
std::string mismatch(const tuning& t, const device_limits& device);

// The one that gemm uses on a device: `given` if it suits, else that of the file that the environment variable ANTIPHASE_TUNING names,
// else the one that this library has for the device; null: predictions are taken as they are. The file is read once, when somebody asks for
// the first time; what becomes of the variable or the file afterwards changes nothing in the process. Throws bad_request, each time, if
// the file cannot be read.
const tuning* tuning_for(const device_limits& device, const tuning* given = nullptr);
// The same in a sentence, with what was left aside and why.
std::string tuning_text(const device_limits& device, const tuning* given = nullptr);

}  // namespace antiphase::gemms
