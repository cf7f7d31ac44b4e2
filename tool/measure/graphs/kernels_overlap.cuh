// SPDX-License-Identifier: Apache-2.0
// The kernels of `bench overlap`, for each target.
#include <antiphase/channel/async_copies.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/vector.cuh>

#include "tool/measure/graphs/overlap_kernels.hpp"

namespace antiphase::tool::AP_TARGET {
namespace {

// Every thread loads (cp.async) and computes, in the order of pipeline::run.
template <int Stages> struct overlap {
  using params = overlap_params;
  static constexpr int threads = overlap_threads;
  static constexpr shared_kind shared = shared_kind::dynamic;
  struct storage {
    alignas(16) float tile[Stages][overlap_tile];
  };

  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    const int t = thread_index();
    const std::int64_t block = block_index().x, blocks = grid_extent().x;
    if (p.loads == 0) {
      for (int i = t; i < Stages * overlap_tile; i += threads)
        s.tile[i / overlap_tile][i % overlap_tile] = p.a;
      block_barrier();
    }
    const auto load = [&](int step, int slot) {
      if (p.loads == 0) return;
      const float* const from = p.source + (step % p.distinct * blocks + block) * overlap_tile;
      AP_UNROLL
      for (int i = 0; i < overlap_floats / 4; ++i) {
        const int at = 4 * (i * threads + t);
        copy_async<16>(&s.tile[slot][at], from + at, 16);
      }
    };
    float sum = 0;
    const auto compute = [&](int, int slot) {
      float x[overlap_floats];
      AP_UNROLL
      for (int i = 0; i < overlap_floats / 4; ++i) {
        const pack<float, 4> four = load_pack<4>(&s.tile[slot][4 * (i * threads + t)]);
        AP_UNROLL
        for (int e = 0; e < 4; ++e) x[4 * i + e] = four.element[e];
      }
      AP_ROLLED
      for (int round = 0; round < p.rounds; ++round) {
        AP_UNROLL
        for (int i = 0; i < overlap_floats; ++i) x[i] = multiply_add(x[i], p.a, p.b);
      }
      AP_UNROLL
      for (int i = 0; i < overlap_floats; ++i) sum += x[i];
    };
    async_copies<Stages> ring;
    pipeline{ring}.run(p.steps, load, compute);
    p.sums[block * threads + t] = sum;
  }
};

}  // namespace

std::vector<overlap_kernel> overlap_kernels() {
  return {{1, kernel_of<overlap<1>>("overlap-1")},
          {2, kernel_of<overlap<2>>("overlap-2")},
          {3, kernel_of<overlap<3>>("overlap-3")},
          {4, kernel_of<overlap<4>>("overlap-4")},
          {8, kernel_of<overlap<8>>("overlap-8")}};
}

}  // namespace antiphase::tool::AP_TARGET
