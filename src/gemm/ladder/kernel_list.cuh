// Entering instances of the tiled kernel into a list.
#pragma once
#include <antiphase/gemm/ladder.hpp>
#include "src/gemm/ladder/tiled.cuh"
#include <vector>

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <policy P> void add(std::vector<instance>& list, const char* step, const char* name) {
  list.push_back({step, P, kernel_of<tiled<P>>(name)});
}

constexpr policy only(policy p, parts run) {
  p.run = run;
  return p;
}

// Also the kernels that only load and only compute, to measure Tl and Tc.
template <policy P> void add_with_parts(std::vector<instance>& list, const char* step, const char* name) {
  add<P>(list, step, name);
  add<only(P, parts::load_only)>(list, step, name);
  add<only(P, parts::compute_only)>(list, step, name);
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
