// SPDX-License-Identifier: Apache-2.0
// The kernels of policy narrow (sm_90a).
#pragma once
#include <vector>
#include "src/gemm/tf32/tf32_kept.cuh"
#include "src/gemm/tf32/tf32_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <tf32_policy P> tf32_instance tf32_instance_of(const char* name) {
  return {P, kernel_of<tf32_product<P>>(name)};
}
template <bool LongAlongK, int Halves> tf32_instance tf32_kept_of(const char* name) {
  constexpr tf32_policy how{.long_along_k = LongAlongK, .kept_halves = Halves};
  return {how, kernel_of<tf32_kept<how>>(name)};
}

std::vector<tf32_instance> tf32_kernels() {
  return {tf32_instance_of<tf32_policy{true, true}>("gemm.narrow-kk"),
          tf32_instance_of<tf32_policy{true, false}>("gemm.narrow-kn"),
          tf32_instance_of<tf32_policy{false, true}>("gemm.narrow-nk"),
          tf32_instance_of<tf32_policy{false, false}>("gemm.narrow-nn"),
          tf32_instance_of<tf32_policy{true, true, loader::copiers}>("gemm.narrow-async"),
          tf32_kept_of<true, 1>("gemm.narrow-kept-k-16"),
          tf32_kept_of<false, 1>("gemm.narrow-kept-n-16"),
          tf32_kept_of<true, 2>("gemm.narrow-kept-k-32"),
          tf32_kept_of<false, 2>("gemm.narrow-kept-n-32"),
          tf32_kept_of<true, 4>("gemm.narrow-kept-k-64"),
          tf32_kept_of<false, 4>("gemm.narrow-kept-n-64")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
