// SPDX-License-Identifier: Apache-2.0
// The kernels of policy narrow (sm_90a).
#pragma once
#include <vector>
#include "src/gemm/narrow/narrow_kept.cuh"
#include "src/gemm/narrow/narrow_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <narrow_policy P> narrow_instance narrow_instance_of(const char* name) {
  return {P, kernel_of<narrow_product<P>>(name)};
}
template <bool LongAlongK, int Halves> narrow_instance narrow_kept_of(const char* name) {
  constexpr narrow_policy how{.long_along_k = LongAlongK, .kept_halves = Halves};
  return {how, kernel_of<narrow_kept<how>>(name)};
}

std::vector<narrow_instance> narrow_kernels() {
  return {narrow_instance_of<narrow_policy{true, true}>("gemm.narrow-kk"),
          narrow_instance_of<narrow_policy{true, false}>("gemm.narrow-kn"),
          narrow_instance_of<narrow_policy{false, true}>("gemm.narrow-nk"),
          narrow_instance_of<narrow_policy{false, false}>("gemm.narrow-nn"),
          narrow_instance_of<narrow_policy{true, true, stream_loader::copiers}>("gemm.narrow-async"),
          narrow_kept_of<true, 1>("gemm.narrow-kept-k-16"),
          narrow_kept_of<false, 1>("gemm.narrow-kept-n-16"),
          narrow_kept_of<true, 2>("gemm.narrow-kept-k-32"),
          narrow_kept_of<false, 2>("gemm.narrow-kept-n-32"),
          narrow_kept_of<true, 4>("gemm.narrow-kept-k-64"),
          narrow_kept_of<false, 4>("gemm.narrow-kept-n-64")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
