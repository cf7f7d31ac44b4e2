// SPDX-License-Identifier: Apache-2.0
// Products that are only asked about, and what auto loses by the policy that it takes for them.
#pragma once
#include <antiphase/gemm/policies.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/gemm/an_h200.hpp"
#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {

// At addresses that are not read.
struct asked {
  std::int64_t m, n, k;
  std::string layout = "nn";  // of A, B and C, as the benchmark has it: n or nothing by rows, t by columns
  float beta = 0;
  std::int64_t count = 1;
  float alpha = 1;
  int offset = 0;  // of A, in floats

  gemm_problem what() const {
    const auto view = [&](std::size_t which, std::int64_t rows, std::int64_t columns, int off = 0) {
      float* const data = reinterpret_cast<float*>(std::uintptr_t{which + 1} << 44) + off;
      return which < layout.size() && layout[which] == 't' ? column_major(data, rows, columns)
                                                           : row_major(data, rows, columns);
    };
    return {.a = view(0, m, k, offset), .b = view(1, k, n), .c = view(2, m, n), .alpha = alpha, .beta = beta};
  }
  gemm_batch of() const {
    if (count == 1) return {};
    return {.count = count, .a_stride = m * k, .b_stride = k * n, .c_stride = m * n};
  }
};
inline std::ostream& operator<<(std::ostream& to, const asked& q) {
  return to << q.count << " times " << q.m << " x " << q.n << " x " << q.k << " " << q.layout << ", offset "
            << q.offset << ", " << q.alpha << " and " << q.beta;
}

inline context on_paper(const device_limits& d) { return context(make_cpu_executor({.limits = d})); }
inline gemm_choice explained(const context& where, const asked& q, std::string_view policy = "auto") {
  return explain(where, q.what(), {.policy = policy, .batch = q.of()});
}

// The policies outside the ladder that may be asked for there, each with what is reported of it.
inline std::vector<gemm_choice> able(const context& where, const asked& q) {
  std::vector<gemm_choice> all;
  for (const gemms::policy_info& p : gemms::policies()) try {
      if (p.ladder == nullptr) all.push_back(explained(where, q, p.name));
    } catch (const not_supported&) {
    }
  return all;
}

// How often auto takes a policy that is not the fastest, and by how much. A ratio: of what it takes to the
// least.
struct regret {
  int products = 0, within_a_tenth = 0;
  double worst = 1, logarithms = 0;
  std::string of;  // the worst
  void add(double ratio, const auto& about) {
    ++products, within_a_tenth += ratio <= 1.1, logarithms += std::log(ratio);
    if (ratio <= worst) return;
    worst = ratio;
    of = testing::PrintToString(about);
  }
  double mean() const { return std::exp(logarithms / products); }
  double share() const { return static_cast<double>(within_a_tenth) / products; }
  void print() const {
    std::printf(
        "%d products, %.1f %% within a tenth of the fastest, %.3f times as long in the mean, %.2f at worst: "
        "%s\n",
        products, 100 * share(), mean(), worst, of.c_str());
  }
};

}  // namespace antiphase::gemm_test
