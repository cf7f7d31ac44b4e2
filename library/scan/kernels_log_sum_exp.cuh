// SPDX-License-Identifier: Apache-2.0
// Kernels of running log(exp(a) + exp(b)), declared in log_sum_exp.hpp.
#include <antiphase/context.hpp>
#include <antiphase/scan.cuh>
#include <antiphase/scan/problem.hpp>
#include <cmath>

namespace antiphase::scans {
inline namespace AP_TARGET {
namespace {

// log(exp(a) + exp(b)) without overflow; NaN if either is.
struct log_sum_exp {
  template <class T> AP_FN T operator()(const T& a, const T& b) const {
    const T larger = a < b ? b : a, smaller = a < b ? a : b;
    const T apart = smaller == larger ? T(0) : smaller - larger;  // of two equal infinities, NaN
    return larger + std::log1p(std::exp(apart));
  }
};

template <class T> launch_counts scan_of(const context& where, const problem& p, stream on) {
  return inclusive_scan(where, static_cast<const T*>(p.in), static_cast<T*>(p.out), p.length, log_sum_exp{},
                        {.outer = p.outer, .inner = p.inner, .direction = p.direction, .stream = on});
}

}  // namespace

launch_counts log_sum_exps(const context& where, const problem& p, stream on) {
  return p.type == element::f64 ? scan_of<double>(where, p, on) : scan_of<float>(where, p, on);
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
