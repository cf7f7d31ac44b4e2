// SPDX-License-Identifier: Apache-2.0
// Kernels with the Tensor Core operations of a warpgroup and tensor copies (sm_90a).
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/wgmma.cuh>
#include <vector>
#include "tests/device/tensor_cases.hpp"

namespace antiphase::probe {
inline namespace AP_TARGET {

// f(register, row, column) for each of a thread's registers of a 64 x N sum.
template <int N, class Do> AP_DEV void each_register(Do f) {
  const int warp = thread_index() / 32, g = lane_index() / 4, q = lane_index() % 4;
  AP_UNROLL
  for (int i = 0; i < N / 2; ++i) f(i, 16 * warp + g + i / 2 % 2 * 8, i / 4 * 8 + 2 * q + i % 2);
}
AP_DEV std::uint32_t pair_at(const std::uint16_t* of) {
  return of[0] | static_cast<std::uint32_t>(of[1]) << 16;
}

// The thread's fragment of A from a row-major matrix: two elements of each of its rows and columns.
AP_DEV void load_fragment(std::uint32_t (&to)[4], const std::uint16_t* a, int row_length) {
  const std::uint16_t* at =
      a + (16 * (thread_index() / 32) + lane_index() / 4) * row_length + lane_index() % 4 * 2;
  to[0] = pair_at(at);
  to[1] = pair_at(at + 8 * row_length);
  to[2] = pair_at(at + 8);
  to[3] = pair_at(at + 8 * row_length + 8);
}

// Operands as unswizzled core matrices of eight rows by eight k.
template <int N, bool FromRegisters, class Number = f16> struct wgmma_step {
  using params = step_params;
  struct storage {
    alignas(128) std::uint16_t a[2][64][8];
    alignas(128) std::uint16_t b[2][N][8];
  };
  static constexpr int threads = warpgroup_size;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const std::uint16_t* a = p.a + block_index().x * 64 * 16;
    const std::uint16_t* b = p.b + block_index().x * N * 16;
    for (int i = thread_index(); i < 64 * 16; i += threads) s.a[i / 8 % 2][i / 16][i % 8] = a[i];
    for (int i = thread_index(); i < N * 16; i += threads) s.b[i / 8 % 2][i / 16][i % 8] = b[i];
    fence_async();
    block_barrier();
    float sum[N / 2];
    each_register<N>(
        [&](int i, int row, int column) { sum[i] = p.c[(block_index().x * 64 + row) * N + column]; });
    const matrix_descriptor of_b = describe(s.b, sizeof s.b[0], 128, swizzle::none);
    wgmma_fence();
    if constexpr (FromRegisters) {
      std::uint32_t fragment[4];
      load_fragment(fragment, a, 16);
      wgmma_fence();
      wgmma<Number, major::k>(sum, fragment, of_b, !p.fresh);
    } else {
      wgmma<Number, major::k, major::k>(sum, describe(s.a, sizeof s.a[0], 128, swizzle::none), of_b,
                                        !p.fresh);
    }
    wgmma_commit();
    wgmma_wait<0>();
    pin_registers(sum);
    each_register<N>(
        [&](int i, int row, int column) { p.out[(block_index().x * 64 + row) * N + column] = sum[i]; });
  }
};

// Offset of element (mn, k) of a Count x layout_depth operand, and the descriptor of 16 of its k.
template <major M, swizzle S, int Count> struct placed {
  static constexpr int width = static_cast<int>(width_of(S)), per_row = width / 2;
  static AP_DEV int offset(int mn, int k) {
    if (M == major::k) return k / per_row * Count * width + mn * width + k % per_row * 2;
    return mn / per_row * layout_depth * width + k * width + mn % per_row * 2;
  }
  static AP_DEV matrix_descriptor from(const unsigned char* at, int k) {
    if (M == major::k)
      return S == swizzle::none ? describe(at + offset(0, k), Count * 16, 128, S)
                                : describe(at + offset(0, k), 16, 8 * width, S);
    return S == swizzle::none ? describe(at + offset(0, k), 128, layout_depth * 16, S)
                              : describe(at + offset(0, k), layout_depth * width, 8 * width, S);
  }
  static AP_DEV void fill(unsigned char* at, const std::uint16_t* from) {
    for (int i = thread_index(); i < Count * layout_depth; i += warpgroup_size) {
      const auto place = static_cast<std::uint32_t>(offset(i / layout_depth, i % layout_depth));
      *reinterpret_cast<std::uint16_t*>(at + swizzled(place, S)) = from[i];  // `at` is aligned to 1024
    }
  }
};

template <major A, major B, swizzle S, int N> struct layouts {
  using params = layout_params;
  struct storage {
    alignas(1024) unsigned char a[64 * layout_depth * 2];
    alignas(1024) unsigned char b[N * layout_depth * 2];
  };
  static constexpr int threads = warpgroup_size;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    placed<A, S, 64>::fill(s.a, p.a);
    placed<B, S, N>::fill(s.b, p.b);
    fence_async();
    block_barrier();
    float sum[N / 2];
    wgmma_fence();
    AP_UNROLL
    for (int k = 0; k < layout_depth; k += 16)
      wgmma<A, B>(sum, placed<A, S, 64>::from(s.a, k), placed<B, S, N>::from(s.b, k), k > 0);
    wgmma_commit();
    wgmma_wait<0>();
    pin_registers(sum);
    each_register<N>([&](int i, int row, int column) { p.out[row * N + column] = sum[i]; });
  }
};

// A from registers, in groups: sums of the even and of the odd steps; the odd ones are waited for later.
template <major B, int N> struct layouts_of_b {
  using params = layout_params;
  struct storage {
    alignas(1024) unsigned char b[N * layout_depth * 2];
  };
  static constexpr int threads = warpgroup_size;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    using place = placed<B, swizzle::bytes_128, N>;
    place::fill(s.b, p.b);
    fence_async();
    block_barrier();
    float even[N / 2], odd[N / 2];
    std::uint32_t a[4][4];
    AP_UNROLL
    for (int step = 0; step < 4; ++step) load_fragment(a[step], p.a + 16 * step, layout_depth);
    wgmma_fence();
    wgmma<B>(even, a[0], place::from(s.b, 0), false);
    wgmma<B>(even, a[2], place::from(s.b, 32), true);
    wgmma_commit();
    wgmma<B>(odd, a[1], place::from(s.b, 16), false);
    wgmma<B>(odd, a[3], place::from(s.b, 48), true);
    wgmma_commit();
    wgmma_wait<1>();
    pin_registers(even);
    each_register<N>([&](int i, int row, int column) { p.out[row * N + column] = even[i]; });
    wgmma_wait<0>();
    pin_registers(odd);
    each_register<N>([&](int i, int row, int column) { p.out[row * N + column] += odd[i]; });
  }
};

template <int Dimensions> struct box_of {
  using params = box_params;
  struct storage {
    alignas(1024) unsigned char box[box_limit];
    mbarrier landed;
  };
  static constexpr int threads = 64;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    if (thread_index() == 0) {
      s.landed.init(1);
      fence_mbarrier_init();
    }
    block_barrier();
    if (thread_index() == 0) {
      s.landed.arrive(bytes{p.bytes});
      if constexpr (Dimensions == 2) tensor_load(s.box, p.map, s.landed, p.first[0], p.first[1]);
      if constexpr (Dimensions == 3) tensor_load(s.box, p.map, s.landed, p.first[0], p.first[1], p.first[2]);
      if constexpr (Dimensions == 4)
        tensor_load(s.box, p.map, s.landed, p.first[0], p.first[1], p.first[2], p.first[3]);
    }
    s.landed.wait(0);
    for (int i = thread_index(); i < p.bytes; i += threads) p.out[i] = s.box[i];
  }
};

// Both operands by tensor copies into two slots: the warpgroup loads the next while it computes. A checker
// must find each omission.
enum class left_out { nothing, wait_for_copies, wait_for_wgmma, barrier };
template <left_out Slip> struct product {
  using params = product_params;
  struct storage {
    alignas(1024) std::uint16_t a[2][64][64];
    alignas(1024) std::uint16_t b[2][64][64];
    mbarrier full[2];
  };
  static constexpr int threads = warpgroup_size;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    if (thread_index() == 0) {
      for (mbarrier& b : s.full) b.init(1);
      fence_mbarrier_init();
    }
    block_barrier();
    release_registers<160>();  // of the 255 that the launch allocates
    request_registers<200>();
    const auto load = [&](int step) {
      if (thread_index() != 0 || 64 * step >= p.k) return;
      mbarrier& full = s.full[step % 2];
      full.arrive(bytes{sizeof s.a[0] + sizeof s.b[0]});
      tensor_load(s.a[step % 2], p.a, full, 64 * step, 0);
      tensor_load(s.b[step % 2], p.b, full, 0, 64 * step);
    };
    float sum[32] = {};
    load(0);
    for (int step = 0; 64 * step < p.k; ++step) {
      load(step + 1);
      const int slot = step % 2;
      if (Slip != left_out::wait_for_copies) s.full[slot].wait(static_cast<unsigned>(step / 2 % 2));
      wgmma_fence();
      AP_UNROLL
      for (int k = 0; k < 64; k += 16)
        wgmma<major::k, major::mn>(sum, describe(&s.a[slot][0][k], 16, 1024, swizzle::bytes_128),
                                   describe(&s.b[slot][k][0], 16, 1024, swizzle::bytes_128), true);
      wgmma_commit();
      if (Slip != left_out::wait_for_wgmma) wgmma_wait<0>();
      pin_registers(sum);
      if (Slip != left_out::barrier) block_barrier();
    }
    if (Slip == left_out::wait_for_wgmma) wgmma_wait<0>();
    each_register<64>([&](int i, int row, int column) { p.out[row * 64 + column] = sum[i]; });
  }
};

// An operand by ordinary stores, used by the Tensor Core without a proxy fence.
struct without_proxy_fence {
  using params = layout_params;
  struct storage {
    alignas(1024) unsigned char a[64 * layout_depth * 2];
    alignas(1024) unsigned char b[64 * layout_depth * 2];
  };
  static constexpr int threads = warpgroup_size;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    placed<major::k, swizzle::bytes_128, 64>::fill(s.a, p.a);
    placed<major::k, swizzle::bytes_128, 64>::fill(s.b, p.b);
    block_barrier();
    float sum[32];
    wgmma_fence();
    wgmma<major::k, major::k>(sum, placed<major::k, swizzle::bytes_128, 64>::from(s.a, 0),
                              placed<major::k, swizzle::bytes_128, 64>::from(s.b, 0), false);
    wgmma_commit();
    wgmma_wait<0>();
    pin_registers(sum);
    each_register<64>([&](int i, int row, int column) { p.out[row * 64 + column] = sum[i]; });
  }
};

// After its wait a warp may overwrite the rows of A that only it has read, each lane those of other lanes,
// without a barrier.
struct reuse_of_own_rows {
  using params = layout_params;
  struct storage {
    alignas(1024) std::uint16_t a[64][64];
    alignas(1024) unsigned char b[64 * layout_depth * 2];
  };
  static constexpr int threads = warpgroup_size;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    placed<major::k, swizzle::bytes_128, 64>::fill(reinterpret_cast<unsigned char*>(s.a), p.a);
    placed<major::k, swizzle::bytes_128, 64>::fill(s.b, p.b);
    fence_async();
    block_barrier();
    float sum[32];
    wgmma_fence();
    AP_UNROLL
    for (int k = 0; k < 64; k += 16)
      wgmma<major::k, major::k>(sum, describe(&s.a[0][k], 16, 1024, swizzle::bytes_128),
                                placed<major::k, swizzle::bytes_128, 64>::from(s.b, k), k > 0);
    wgmma_commit();
    wgmma_wait<0>();
    pin_registers(sum);
    for (int i = 0; i < 32; ++i)
      s.a[thread_index() / 32 * 16 + lane_index() / 2][lane_index() % 2 * 32 + i] = 0;
    each_register<64>([&](int i, int row, int column) { p.out[row * 64 + column] = sum[i]; });
  }
};

template <swizzle S, int N>
void add_layouts(std::vector<kernel>& to, const char* kk, const char* kn, const char* mk, const char* mn) {
  to.push_back(kernel_of<layouts<major::k, major::k, S, N>>(kk));
  to.push_back(kernel_of<layouts<major::k, major::mn, S, N>>(kn));
  to.push_back(kernel_of<layouts<major::mn, major::k, S, N>>(mk));
  to.push_back(kernel_of<layouts<major::mn, major::mn, S, N>>(mn));
}

std::vector<kernel> wgmma_kernels() {
  std::vector<kernel> all{
      kernel_of<wgmma_step<64, false>>("wgmma-step-64"),
      kernel_of<wgmma_step<128, false>>("wgmma-step-128"),
      kernel_of<wgmma_step<256, false>>("wgmma-step-256"),
      kernel_of<wgmma_step<64, true>>("wgmma-step-registers-64"),
      kernel_of<wgmma_step<128, true>>("wgmma-step-registers-128"),
      kernel_of<wgmma_step<256, true>>("wgmma-step-registers-256"),
      kernel_of<wgmma_step<8, false>>("wgmma-step-8"),
      kernel_of<wgmma_step<200, false>>("wgmma-step-200"),
      kernel_of<wgmma_step<24, true>>("wgmma-step-registers-24"),
      kernel_of<wgmma_step<8, false, bf16>>("wgmma-bf16-8"),
      kernel_of<wgmma_step<256, false, bf16>>("wgmma-bf16-256"),
      kernel_of<wgmma_step<120, true, bf16>>("wgmma-bf16-registers-120"),
      kernel_of<layouts_of_b<major::k, 64>>("layout-registers-k-64"),
      kernel_of<layouts_of_b<major::mn, 64>>("layout-registers-mn-64"),
      kernel_of<layouts_of_b<major::mn, 128>>("layout-registers-mn-128"),
      kernel_of<box_of<2>>("box-2"),
      kernel_of<box_of<3>>("box-3"),
      kernel_of<box_of<4>>("box-4"),
      kernel_of<product<left_out::nothing>>("product"),
      kernel_of<product<left_out::wait_for_copies>>("product without the wait for copies"),
      kernel_of<product<left_out::wait_for_wgmma>>("product without the wait for wgmma"),
      kernel_of<product<left_out::barrier>>("product without the barrier"),
      kernel_of<without_proxy_fence>("no proxy fence"),
      kernel_of<reuse_of_own_rows>("layout-reuse-of-own-rows")};
  add_layouts<swizzle::none, 64>(all, "layout-none-k-k-64", "layout-none-k-mn-64", "layout-none-mn-k-64",
                                 "layout-none-mn-mn-64");
  add_layouts<swizzle::bytes_32, 64>(all, "layout-32-k-k-64", "layout-32-k-mn-64", "layout-32-mn-k-64",
                                     "layout-32-mn-mn-64");
  add_layouts<swizzle::bytes_64, 64>(all, "layout-64-k-k-64", "layout-64-k-mn-64", "layout-64-mn-k-64",
                                     "layout-64-mn-mn-64");
  add_layouts<swizzle::bytes_128, 64>(all, "layout-128-k-k-64", "layout-128-k-mn-64", "layout-128-mn-k-64",
                                      "layout-128-mn-mn-64");
  add_layouts<swizzle::bytes_128, 128>(all, "layout-128-k-k-128", "layout-128-k-mn-128",
                                       "layout-128-mn-k-128", "layout-128-mn-mn-128");
  add_layouts<swizzle::bytes_128, 256>(all, "layout-128-k-k-256", "layout-128-k-mn-256",
                                       "layout-128-mn-k-256", "layout-128-mn-mn-256");
  return all;
}

}  // namespace AP_TARGET
}  // namespace antiphase::probe
