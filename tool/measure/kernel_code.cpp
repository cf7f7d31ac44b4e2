// SPDX-License-Identifier: Apache-2.0
// Compiled code that a measured time belongs to: fingerprints of the kernels that the call runs.
#include "tool/measure/kernel_code.hpp"

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <charconv>

#include "tool/measure/graphs/graph.hpp"

namespace antiphase::tool {
namespace {

// Target of compiled code: of sm_90a the number 90, and that no other device runs it.
struct architecture {
  bool is_ptx;
  int number = 0;
  bool alone;  // suffix a: no other device

  explicit architecture(std::string_view code) {
    const std::string_view text = code.substr(0, code.find(':'));
    is_ptx = text.starts_with("compute_");
    std::from_chars(text.data() + text.find('_') + 1, text.data() + text.size(), number);
    alone = text.ends_with('a');
  }
  // Machine code runs on devices of the same major version that are not older; PTX on all that are not older.
  bool runs_on(int major, int minor) const {
    const int device = 10 * major + minor;
    return alone ? number == device : number <= device && (is_ptx || number / 10 == major);
  }
  // CUDA prefers machine code to PTX and, among several, the latest.
  auto rank() const { return std::pair(!is_ptx, number); }
};

}  // namespace

std::vector<std::string> codes_of(std::span<const kernel_code> list, std::span<const std::string> kernels,
                                  int major, int minor) {
  std::vector<std::string> codes;
  for (const std::string& kernel : kernels) {
    const kernel_code* best = nullptr;
    for (const kernel_code& one : list)
      if (one.kernel == kernel && architecture(one.code).runs_on(major, minor) &&
          (best == nullptr || architecture(best->code).rank() < architecture(one.code).rank()))
        best = &one;
    if (best == nullptr) return {};
    codes.emplace_back(best->code);
  }
  std::ranges::sort(codes);
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

std::vector<std::string> code_of(const context& where, std::span<const work> works) {
  if (kernel_codes().empty()) return {};
  std::vector<std::string> kernels;
  try {
    for (const work& run : works) {
      const std::vector<std::string> more = kernels_of(where, run);
      kernels.insert(kernels.end(), more.begin(), more.end());
    }
  } catch (const error&) {
    // The CPU executor has no graphs. On a GPU the time is valid, but cannot be tied to its code.
    return {};
  }
  return codes_of(kernel_codes(), kernels, where.limits().major, where.limits().minor);
}

}  // namespace antiphase::tool
