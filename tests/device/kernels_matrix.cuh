// SPDX-License-Identifier: Apache-2.0
// Kernels with the Tensor Core operations of a warp (sm_80).
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/matrix_bf16.cuh>
#include <vector>
#include "tests/device/tensor_cases.hpp"

namespace antiphase::probe {
inline namespace AP_TARGET {

AP_DEV std::uint32_t two(const std::uint16_t* of) { return of[0] | static_cast<std::uint32_t>(of[1]) << 16; }

// One step of 16 x 8 outputs per block.
template <class Number> struct mma_step {
  using params = step_params;
  struct storage {};
  static constexpr int threads = 32;
  AP_DEV void operator()(const params& p) const {
    const int g = lane_index() / 4, q = lane_index() % 4;
    const std::uint16_t* a = p.a + block_index().x * 256 + g * 16 + 2 * q;
    const std::uint16_t* b = p.b + block_index().x * 128 + g * 16 + 2 * q;
    const float* c = p.c + block_index().x * 128 + g * 8 + 2 * q;
    float* out = p.out + block_index().x * 128 + g * 8 + 2 * q;
    const std::uint32_t of_a[4] = {two(a), two(a + 8 * 16), two(a + 8), two(a + 8 * 16 + 8)},
                        of_b[2] = {two(b), two(b + 8)};
    float sum[4] = {};
    if (!p.fresh)
      for (int i = 0; i < 4; ++i) sum[i] = c[i / 2 * 64 + i % 2];
    mma<Number>(sum, of_a, of_b);
    for (int i = 0; i < 4; ++i) out[i / 2 * 64 + i % 2] = sum[i];
  }
};

// The same in FP64: 4 values of k, or 8.
template <int Depth> struct mma_double_step {
  using params = double_step_params;
  struct storage {};
  static constexpr int threads = 32;
  AP_DEV void operator()(const params& p) const {
    const int g = lane_index() / 4, q = lane_index() % 4;
    const double *a = p.a + block_index().x * 16 * Depth + g * Depth + q,
                 *b = p.b + block_index().x * 8 * Depth + g * Depth + q;
    const auto at = [&](int i) {
      return block_index().x * 128 + static_cast<unsigned>((g + i / 2 * 8) * 8 + 2 * q + i % 2);
    };
    double sum[4];
    for (int i = 0; i < 4; ++i) sum[i] = p.c[at(i)];
    if constexpr (Depth == 4)
      mma(sum, {a[0], a[8 * Depth]}, *b);
    else
      mma(sum, {a[0], a[8 * Depth], a[4], a[8 * Depth + 4]}, {b[0], b[4]});
    for (int i = 0; i < 4; ++i) p.out[at(i)] = sum[i];
  }
};

// Lanes pass addresses in reverse order, of rows that another lane wrote.
template <bool Barrier> struct load_four {
  using params = load_params;
  struct storage {
    alignas(16) std::uint16_t row[32][24];
  };
  static constexpr int threads = 32;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int lane = thread_index();
    for (int i = 0; i < 8; ++i) s.row[lane][i] = p.in[lane * 8 + i];
    if (Barrier) block_barrier();
    std::uint32_t value[2][4];
    ldmatrix(value[0], s.row[31 - lane]);
    ldmatrix_transposed(value[1], s.row[31 - lane]);
    for (int form = 0; form < 2; ++form)
      for (int m = 0; m < 4; ++m) p.out[(form * 4 + m) * 32 + lane] = value[form][m];
  }
};

std::vector<kernel> matrix_kernels() {
  return {kernel_of<mma_step<f16>>("mma-step"),
          kernel_of<mma_step<bf16>>("mma-bf16"),
          kernel_of<mma_double_step<4>>("mma-double-step-4"),
          kernel_of<mma_double_step<8>>("mma-double-step-8"),
          kernel_of<load_four<true>>("ldmatrix"),
          kernel_of<load_four<false>>("ldmatrix without the barrier")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::probe
