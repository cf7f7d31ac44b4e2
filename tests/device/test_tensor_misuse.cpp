// SPDX-License-Identifier: Apache-2.0
// Errors that the CPU executor reports for Tensor Core operations and tensor copies, where the GPU is silent
// or faults.
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/matrix.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/wgmma.cuh>
#include <cmath>
#include <functional>

#include "tests/executor/launcher.hpp"

namespace antiphase::test {
namespace {

const shared_executor late = make_cpu_executor({.copies = landing::late, .workers = 1});
const shared_executor early = make_cpu_executor({.copies = landing::early, .workers = 1});

struct memory {
  alignas(1024) unsigned char a[64 * 16 * 2];
  alignas(1024) unsigned char b[64 * 16 * 2];
  mbarrier barrier;
};
template <int Threads = warpgroup_size> struct with_operands {
  struct params {
    float* out;
    const tensor_map* map;
  };
  using storage = memory;
  static constexpr int threads = Threads;
  static storage& operands() {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    for (int i = thread_index(); i < 64 * 16; i += threads) {
      reinterpret_cast<std::uint16_t*>(s.a)[i] = 0x3C00;
      reinterpret_cast<std::uint16_t*>(s.b)[i] = 0x3C00;
    }
    fence_async();
    block_barrier();
    return s;
  }
  static matrix_descriptor of(const void* at) { return describe(at, 1024, 128, swizzle::none); }
  static void step(float (&sum)[32]) {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    wgmma<major::k, major::k>(sum, of(s.a), of(s.b), true);
  }
};
template <class K> std::string why(const executor& on = *late) {
  float out[32 * 128] = {};
  return failure_of<K>(on, {out, nullptr});
}

struct no_fence : with_operands<> {
  void operator()(const params&) const {
    operands();
    float sum[32] = {};
    step(sum);
  }
};
TEST(tensor_misuse, registers_without_a_fence) {
  EXPECT_THAT(
      why<no_fence>(),
      HasSubstr("a wgmma takes registers that the thread may still be using: wgmma_fence comes before it"));
}

struct no_fence_again : with_operands<> {
  void operator()(const params&) const {
    operands();
    float sum[32] = {};
    wgmma_fence();
    step(sum);
    step(sum);  // its registers are in flight: the fence is missing
    wgmma_commit();
    wgmma_wait<0>();
    sum[3] += 1;
    step(sum);
  }
};
TEST(tensor_misuse, registers_touched_since_the_fence) {
  EXPECT_THAT(why<no_fence_again>(), HasSubstr("wgmma_fence comes before it"));
}

// Registers untouched since a wgmma returned them need no fence, for an operation of the same shape.
template <bool OtherShape> struct untouched : with_operands<> {
  void operator()(const params& p) const {
    operands();
    float sum[64] = {};
    float(&half)[32] = *reinterpret_cast<float(*)[32]>(sum);
    wgmma_fence();
    step(half);
    wgmma_commit();
    wgmma_wait<0>();
    if constexpr (OtherShape) {
      storage& s = antiphase::shared<storage, shared_kind::fixed>();
      wgmma<major::k, major::k>(sum, of(s.a), describe(s.b, 0, 128, swizzle::none), true);
    } else {
      step(half);
    }
    wgmma_commit();
    wgmma_wait<0>();
    p.out[thread_index()] = half[5];
  }
};
TEST(tensor_misuse, untouched_registers_need_no_fence) {
  float out[128];
  launch<untouched<false>>(*late, {out, nullptr});
  for (const float x : out) EXPECT_EQ(x, 32);
  EXPECT_THAT(why<untouched<true>>(), HasSubstr("wgmma_fence comes before it"));
}

// A in registers, twice: unchanged, written after the wait, or written while the first may still be reading
// it.
enum class fragment { kept, written_after_wait, fenced_after_wait, written_before_wait, fenced_before_wait };
template <fragment F> struct fragment_twice : with_operands<> {
  void operator()(const params& p) const {
    storage& s = operands();
    float sum[32] = {};
    std::uint32_t a[4] = {0x3C003C00, 0x3C003C00, 0x3C003C00, 0x3C003C00};
    wgmma_fence();
    wgmma<major::k>(sum, a, of(s.b), true);
    wgmma_commit();
    if constexpr (F == fragment::written_before_wait || F == fragment::fenced_before_wait) a[1] = 7;
    if constexpr (F == fragment::fenced_before_wait) wgmma_fence();
    if constexpr (F != fragment::fenced_before_wait) wgmma_wait<0>();
    if constexpr (F == fragment::written_after_wait || F == fragment::fenced_after_wait) a[1] = 7;
    if constexpr (F == fragment::fenced_after_wait) wgmma_fence();
    wgmma<major::k>(sum, a, of(s.b), true);
    wgmma_commit();
    wgmma_wait<0>();
    p.out[thread_index()] = sum[0];
  }
};
TEST(tensor_misuse, fragment_written_since_the_fence) {
  EXPECT_THAT(why<fragment_twice<fragment::written_after_wait>>(),
              HasSubstr("a wgmma takes A from registers"));
  float out[128];
  launch<fragment_twice<fragment::kept>>(*late, {out, nullptr});
  EXPECT_EQ(out[77], 32);
  launch<fragment_twice<fragment::fenced_after_wait>>(*late, {out, nullptr});
}
TEST(tensor_misuse, fragment_written_before_the_wait) {
  for (const auto& on : {late, early}) {
    EXPECT_THAT(why<fragment_twice<fragment::written_before_wait>>(*on),
                HasSubstr("registers of a wgmma's A were written before"));
    EXPECT_THAT(why<fragment_twice<fragment::fenced_before_wait>>(*on),
                HasSubstr("registers of a wgmma's A were written before"));
  }
}

struct writes_in_flight : with_operands<> {
  void operator()(const params&) const {
    operands();
    float sum[32] = {};
    wgmma_fence();
    step(sum);
    wgmma_commit();
    sum[31] = 1;
    wgmma_wait<0>();
  }
};
TEST(tensor_misuse, registers_written_before_the_wait) {
  for (const auto& on : {late, early})
    EXPECT_THAT(why<writes_in_flight>(*on),
                HasSubstr("registers of a wgmma's sum were written before the wgmma_wait that covers it"));
}

struct in_flight_at_the_end : with_operands<> {
  void operator()(const params&) const {
    operands();
    float sum[32] = {};
    wgmma_fence();
    step(sum);
    wgmma_commit();
  }
};
TEST(tensor_misuse, never_waited_for) {
  EXPECT_THAT(why<in_flight_at_the_end>(),
              HasSubstr("the thread ended with Tensor Core operations in flight"));
}

// Reading too early is no error, but gives NaN, whether operands are read early or late; after the wait the
// sum is there.
struct reads_early : with_operands<> {
  void operator()(const params& p) const {
    operands();
    float sum[32] = {};
    wgmma_fence();
    step(sum);
    wgmma_commit();
    const float before = sum[5];
    wgmma_wait<0>();
    p.out[thread_index() * 2] = before;
    p.out[thread_index() * 2 + 1] = sum[5];
  }
};
TEST(tensor_misuse, reads_before_the_wait_are_poisoned) {
  for (const auto& on : {late, early}) {
    float out[256];
    launch<reads_early>(*on, {out, nullptr});
    for (int i = 0; i < 128; ++i) {
      EXPECT_TRUE(std::isnan(out[2 * i]));
      EXPECT_EQ(out[2 * i + 1], 16);
    }
  }
}

// An operand overwritten before the wait: late landing shows the overwrite, early landing the value at issue.
struct overwrites : with_operands<> {
  void operator()(const params& p) const {
    storage& s = operands();
    float sum[32] = {};
    wgmma_fence();
    step(sum);
    wgmma_commit();
    block_barrier();
    for (int i = thread_index(); i < 64 * 16; i += threads) reinterpret_cast<std::uint16_t*>(s.b)[i] = 0x4000;
    block_barrier();
    wgmma_wait<0>();
    p.out[thread_index()] = sum[5];
  }
};
TEST(tensor_misuse, landing_says_when_operands_are_read) {
  float out[128];
  launch<overwrites>(*early, {out, nullptr});
  EXPECT_EQ(out[77], 16);
  launch<overwrites>(*late, {out, nullptr});
  EXPECT_EQ(out[77], 32);
}

struct outside : with_operands<> {
  void operator()(const params&) const {
    storage& s = operands();
    float sum[32] = {};
    wgmma_fence();
    wgmma<major::k, major::mn>(sum, of(s.a), describe(s.b, 16, 4096, swizzle::bytes_128), true);
  }
};
TEST(tensor_misuse, descriptor_that_leaves_shared_memory) {
  EXPECT_THAT(
      why<outside>(),
      HasSubstr(
          "column 0 of B at k = 8 lies at byte 6144 of shared memory, of which the block has 5120: start "
          "2048, leading 16, stride 4096, 128 bytes a row"));
}

struct strange_bits : with_operands<> {
  void operator()(const params&) const {
    storage& s = operands();
    float sum[32] = {};
    wgmma_fence();
    wgmma<major::k, major::k>(sum, {of(s.a).bits | 1ull << 49}, of(s.b), true);
  }
};
TEST(tensor_misuse, descriptor_with_strange_bits) {
  EXPECT_THAT(why<strange_bits>(), HasSubstr("the descriptor of A, 0x000"));
}

struct different : with_operands<> {
  void operator()(const params&) const {
    storage& s = operands();
    float sum[32] = {};
    wgmma_fence();
    wgmma<major::k, major::k>(sum, of(thread_index() < 64 ? s.a : s.b), of(s.b), true);
  }
};
TEST(tensor_misuse, warps_that_disagree) {
  EXPECT_THAT(why<different>(), HasSubstr("call wgmma with different descriptors"));
}

struct one_warp_missing : with_operands<> {
  void operator()(const params&) const {
    operands();
    float sum[32] = {};
    wgmma_fence();
    if (thread_index() >= 32) step(sum);
  }
};
TEST(tensor_misuse, a_warp_that_stays_away) {
  EXPECT_THAT(why<one_warp_missing>(), MatchesRegex(".*cannot go on.*threads 0-31 finished, threads 32-127 "
                                                    "waiting for other warps of the warpgroup in .*"));
}

struct half_a_group : with_operands<64> {
  void operator()(const params&) const {
    operands();
    float sum[32] = {};
    wgmma_fence();
    step(sum);
  }
};
TEST(tensor_misuse, half_a_warpgroup) {
  EXPECT_THAT(why<half_a_group>(), HasSubstr("of 128 threads: the block's 64 are not a multiple"));
}

struct other_shape : with_operands<> {
  void operator()(const params&) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    operands();
    float sum[64] = {};
    wgmma_fence();
    step(reinterpret_cast<float(&)[32]>(sum));
    wgmma<major::k, major::k>(sum, of(s.a), describe(s.b, 16, 128, swizzle::none), true);
  }
};
TEST(tensor_misuse, registers_in_flight_in_another_shape) {
  EXPECT_THAT(why<other_shape>(), HasSubstr("adds to registers that are in flight for one of another shape"));
}

struct misaligned_row : with_operands<32> {
  void operator()(const params&) const {
    storage& s = operands();
    std::uint32_t to[4];
    ldmatrix(to, s.a + 16 * lane_index() + 8 * (lane_index() == 9));
  }
};
TEST(tensor_misuse, misaligned_row_of_ldmatrix) {
  EXPECT_THAT(why<misaligned_row>(), HasSubstr("thread 9: a row of ldmatrix is not aligned to 16 bytes"));
}

struct lanes_apart : with_operands<32> {
  void operator()(const params&) const {
    storage& s = operands();
    std::uint32_t to[4];
    if (lane_index() < 5)
      ldmatrix(to, s.a);
    else
      ldmatrix_transposed(to, s.a);
  }
};
TEST(tensor_misuse, lanes_at_different_operations) {
  EXPECT_THAT(why<lanes_apart>(), HasSubstr("divergent Tensor Core operation: other threads of the warp"));
}

struct any_box : with_operands<32> {
  static inline int to = 0, indices = 2, from = 0;
  void operator()(const params& p) const {
    storage& s = operands();
    if (thread_index() != 0) return;
    s.barrier.init(1);
    fence_mbarrier_init();
    s.barrier.arrive(bytes{2048});
    if (indices == 2) tensor_load(s.a + to, *p.map, s.barrier, from, 0);
    if (indices == 3) tensor_load(s.a + to, *p.map, s.barrier, 0, 0, 0);
    s.barrier.wait(0);
  }
};
TEST(tensor_misuse, tensor_copies) {
  alignas(256) static unsigned char global[4096];
  const tensor_layout layout{
      .data = global, .extent = {64, 16}, .stride = {0, 128}, .box = {64, 16}, .pattern = swizzle::bytes_128};
  const tensor_map map = late->encode(layout), none{};
  const auto why_not = [&](int to, int indices, const tensor_map& m) {
    any_box::to = to;
    any_box::indices = indices;
    return failure_of<any_box>(*late, {nullptr, &m});
  };
  EXPECT_THAT(why_not(64, 2, map),
              HasSubstr("a tensor load to byte 64 of shared memory: expected a multiple of 128"));
  any_box::from = 12;
  EXPECT_THAT(
      why_not(0, 2, map),
      HasSubstr(
          "a tensor load from index 12 on, 24 bytes into a row: the engine takes multiples of 16 bytes"));
  any_box::from = 0;
  EXPECT_THAT(why_not(0, 3, map), HasSubstr("a tensor load by 3 indices of a tensor of 2 dimensions"));
  EXPECT_THAT(why_not(0, 2, none), HasSubstr("a tensor load takes a map that was not encoded"));
  EXPECT_THAT(
      why_not(4096, 2, map),
      HasSubstr("a tensor load of 2048 bytes does not lie in the block's 5120 bytes of shared memory"));
}

}  // namespace
}  // namespace antiphase::test
