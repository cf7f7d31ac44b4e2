// SPDX-License-Identifier: Apache-2.0
// Kernels with the Tensor Core operation of tf32 (sm_90a).
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/mbarrier.cuh>
#include <antiphase/device/wgmma_tf32.cuh>
#include <vector>
#include "tests/device/tensor_cases.hpp"

namespace antiphase::probe {
inline namespace AP_TARGET {

// B occupies the 32 bytes from k = 8 p.piece on, in rows of 32 floats that are NaN otherwise.
template <bool Fences> struct tf32_step {
  using params = tf32_step_params;
  struct storage {
    alignas(1024) float b[64][32];
  };
  static constexpr int threads = warpgroup_size;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const float *const a = p.a + block_index().x * 64 * 8, *const b = p.b + block_index().x * 64 * 8;
    for (int i = thread_index(); i < 64 * 32; i += threads) {
      const int column = i / 32, k = i % 32;
      s.b[column][(k / 4 ^ column % 8) * 4 + k % 4] =
          k / 8 == p.piece ? b[column * 8 + k % 8] : bit_cast<float>(0x7FC00000u);
    }
    if constexpr (Fences) fence_async();
    block_barrier();
    const int first = 16 * (thread_index() / 32) + lane_index() / 4, q = lane_index() % 4;
    const auto each = [&](auto use) {
      AP_UNROLL
      for (int i = 0; i < 32; ++i)
        use(i, (block_index().x * 64 + first + i / 2 % 2 * 8) * 64 + i / 4 * 8 + 2 * q + i % 2);
    };
    std::uint32_t fragment[4];
    for (int i = 0; i < 4; ++i)
      fragment[i] = bit_cast<std::uint32_t>(a[(first + i % 2 * 8) * 8 + q + i / 2 * 4]);
    float sum[32];
    each([&](int i, auto at) { sum[i] = p.c[at]; });
    wgmma_fence();
    wgmma_tf32(sum, fragment, describe(&s.b[0][8 * p.piece], 16, 8 * sizeof s.b[0], swizzle::bytes_128),
               !p.fresh);
    wgmma_commit();
    wgmma_wait<0>();
    pin_registers(sum);
    each([&](int i, auto at) { p.out[at] = sum[i]; });
  }
};

std::vector<kernel> tf32_kernels() {
  return {kernel_of<tf32_step<true>>("tf32-step"),
          kernel_of<tf32_step<false>>("tf32-step without the fence")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::probe
