// SPDX-License-Identifier: Apache-2.0
// Arrays for the subcommands that measure scans.
#pragma once
#include <antiphase/scan.hpp>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "tool/base/parallel.hpp"
#include "tool/measure/measure.hpp"
#include "tool/measure/verify.hpp"

namespace antiphase::tool {

// Floats in [-1, 1); integers over the whole range of the type, so that sums wrap around.
template <class T> std::vector<T> scan_input(std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  in_parallel(values.size(), [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const std::uint64_t bits = random_bits(3, i);
      if constexpr (std::is_floating_point_v<T>)
        values[i] = static_cast<T>(bits >> 40) * static_cast<T>(0x1p-23) - 1;
      else
        values[i] = static_cast<T>(bits);
    }
  });
  return values;
}

// Counts one read and one write per element, whatever a kernel really moves.
constexpr double gigabytes_per_second(std::int64_t count, std::size_t size, double us) {
  return 2 * static_cast<double>(count) * static_cast<double>(size) / us * 1e-3;
}

// Input and output of a scan, and the check of its result.
template <class T, class Out = T> struct scan_arrays {
  antiphase::context context;
  std::vector<T> host;
  device_array<T> in;
  device_array<Out> out;

  scan_arrays(const antiphase::context& on, std::int64_t count)
      : context{on}, host{scan_input<T>(count)}, in{on, host}, out{on, static_cast<std::size_t>(count)} {}

  std::int64_t count() const { return static_cast<std::int64_t>(host.size()); }
  scans::problem problem() {
    scans::problem p{
        .type = element_of<T>, .in = std::as_const(in).data(), .out = out.data(), .length = count()};
    if constexpr (!std::is_same_v<T, Out>) p.accumulate = element_of<Out>;
    return p;
  }
  // Runs the work and checks its sums, each tile of `tile` elements separately. The output is filled with
  // wrong values first: otherwise an element that is not written could pass with the previous run's value.
  verdict assess(const work& run, std::int64_t tile) {
    std::vector<Out> wrong(host.size());
    in_parallel(wrong.size(), [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) wrong[i] = static_cast<Out>(7777777 + i % 13);
    });
    out.copy_from(wrong);
    context.runs_on().milliseconds(run, nullptr);
    if constexpr (std::is_same_v<T, Out>)
      return check_sums<T>(host, out.to_host(), std::max<std::int64_t>(tile, 1));
    else
      return check_sums<Out>(std::vector<Out>(host.begin(), host.end()), out.to_host(),
                             std::max<std::int64_t>(tile, 1));
  }
};

}  // namespace antiphase::tool
