// Entering scan kernels into a list.
#pragma once
#include <antiphase/core/element.hpp>
#include <antiphase/scan/detail/device_wide.cuh>
#include <antiphase/scan/ladder.hpp>
#include <vector>

namespace antiphase::scans {
inline namespace AP_TARGET {

// The names of a step's kernels, as literals.
struct names {
  const char *step, *totals, *scan;
};

template <class T, class Op, policy P> void add(std::vector<instance>& list, const names& called, scan_operation operation) {
  list.push_back(
      {.step = called.step,
       .type = element_of<T>,
       .operation = operation,
       .how = P,
       .kernels = {kernel_of<tile_totals<T, Op, P>>(called.totals), kernel_of<tile_scan<T, Op, P>>(called.scan), P.tile(sizeof(T))}});
}

constexpr names items_names{"items", "scan.items.totals", "scan.items"};

}  // namespace AP_TARGET
}  // namespace antiphase::scans
