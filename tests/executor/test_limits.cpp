// SPDX-License-Identifier: Apache-2.0
// Limits of a device: refusals with their numbers, and occupancy in blocks per multiprocessor.
#include <antiphase/device/barrier.cuh>

#include "launcher.hpp"

namespace antiphase::test {
namespace {

device_limits device(std::size_t shared_opt_in, std::string name = "a device") {
  return {.name = std::move(name),
          .multiprocessors = 2,
          .shared_opt_in = shared_opt_in,
          .shared_per_multiprocessor = shared_opt_in + 1024};
}
kernel needs(std::size_t bytes, shared_kind kind = shared_kind::dynamic, int threads = 256) {
  return {.name = "big", .threads = threads, .shared_bytes = bytes, .shared = kind};
}

TEST(limits, refuse_one_byte_more_than_the_device_has) {
  for (const std::size_t kib : {48, 64, 99, 163, 227}) {
    const std::size_t limit = kib * 1024;
    const device_limits d = device(limit, "GPU with " + std::to_string(kib) + " KiB");
    EXPECT_EQ(refusal(d, needs(0)), std::nullopt);
    EXPECT_EQ(refusal(d, needs(limit)), std::nullopt);
    EXPECT_EQ(refusal(d, needs(limit + 1)), "big needs " + std::to_string(limit + 1) +
                                                " bytes of shared memory per block, GPU with " +
                                                std::to_string(kib) + " KiB allows " + std::to_string(limit));
    EXPECT_EQ(refusal(d, needs(48 * 1024, shared_kind::fixed)), std::nullopt);
    EXPECT_EQ(refusal(d, needs(48 * 1024 + 1, shared_kind::fixed)),
              "big needs 49153 bytes of shared memory per block, GPU with " + std::to_string(kib) +
                  " KiB allows 49152");
  }
}
TEST(limits, refuse_too_many_threads) {
  EXPECT_EQ(refusal(device(49152), needs(0, shared_kind::fixed, 1024)), std::nullopt);
  EXPECT_EQ(refusal(device(49152), needs(0, shared_kind::fixed, 1025)),
            "big needs 1025 threads per block, a device allows 1024");
}

struct takes_80_kib {
  using params = numbers;
  struct storage {
    std::uint32_t value[20 * 1024];
  };
  static constexpr int threads = 64;
  static constexpr shared_kind shared = shared_kind::dynamic;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    s.value[20 * 1024 - 1 - thread_index()] = static_cast<unsigned>(thread_index());
    block_barrier();
    p.out[thread_index()] = s.value[20 * 1024 - 64 + thread_index()];
  }
};
TEST(limits, hold_on_the_simulated_device) {
  std::vector<std::uint32_t> out(64);
  for (const std::size_t kib : {48, 64}) {
    const auto small = make_cpu_executor({.limits = device(kib * 1024)});
    try {
      launch<takes_80_kib>(*small, {out.data()});
      ADD_FAILURE() << "80 KiB on a device of " << kib;
    } catch (const not_supported& e) {
      EXPECT_EQ(e.what(), "good needs 81920 bytes of shared memory per block, a device allows " +
                              std::to_string(kib * 1024));
    }
    EXPECT_EQ(small->usage(kernel_of<takes_80_kib>("good")).blocks_per_multiprocessor, 0);
  }
  for (const std::size_t kib : {99, 163, 227}) {
    out.assign(64, 0);
    const auto large = make_cpu_executor({.limits = device(kib * 1024)});
    launch<takes_80_kib>(*large, {out.data()});
    for (unsigned i = 0; i < 64; ++i) ASSERT_EQ(out[i], 63 - i);
    EXPECT_EQ(large->usage(kernel_of<takes_80_kib>("good")).blocks_per_multiprocessor, kib == 99    ? 1
                                                                                       : kib == 163 ? 2
                                                                                                    : 2);
  }
}

// Reference: CUDA 13.0's occupancy calculator for these devices.
constexpr std::size_t kib = 1024;
const device_limits turing{.name = "sm_75",
                           .threads_per_multiprocessor = 1024,
                           .blocks_per_multiprocessor = 16,
                           .shared_opt_in = 64 * kib,
                           .shared_per_multiprocessor = 64 * kib,
                           .shared_reserved = 0};
const device_limits a100{.name = "sm_80", .shared_opt_in = 163 * kib, .shared_per_multiprocessor = 164 * kib};
const device_limits ga10x{.name = "sm_86",
                          .threads_per_multiprocessor = 1536,
                          .blocks_per_multiprocessor = 16,
                          .shared_opt_in = 99 * kib,
                          .shared_per_multiprocessor = 100 * kib};
const device_limits hopper{
    .name = "sm_90", .shared_opt_in = 227 * kib, .shared_per_multiprocessor = 228 * kib};

struct occupancy {
  int threads, registers;
  std::size_t shared;
  int expected[4];  // turing, a100, ga10x, hopper
};
TEST(limits, give_the_blocks_that_fit_on_a_multiprocessor) {
  const occupancy cases[] = {
      {256, 32, 0, {4, 8, 6, 8}},      {256, 64, 8192, {4, 4, 4, 4}},   {128, 168, 40960, {1, 3, 2, 3}},
      {96, 40, 0, {10, 16, 16, 16}},   {1024, 32, 49152, {1, 2, 1, 2}}, {256, 40, 20000, {3, 6, 4, 6}},
      {384, 168, 0, {1, 1, 1, 1}},     {32, 255, 1000, {8, 8, 8, 8}},   {1, 16, 0, {16, 32, 16, 32}},
      {33, 16, 100, {16, 32, 16, 32}}, {288, 72, 16640, {3, 3, 3, 3}}};
  const device_limits* devices[] = {&turing, &a100, &ga10x, &hopper};
  for (const occupancy& c : cases)
    for (int d = 0; d < 4; ++d)
      EXPECT_EQ(resident_blocks(*devices[d], needs(c.shared, shared_kind::dynamic, c.threads), c.registers),
                c.expected[d])
          << devices[d]->name << ": " << c.threads << " threads, " << c.registers << " registers, "
          << c.shared << " bytes";
}
TEST(limits, registers_of_zero_do_not_limit) {
  EXPECT_EQ(resident_blocks(hopper, needs(0, shared_kind::fixed, 64), 0), 32);
  EXPECT_EQ(resident_blocks(hopper, needs(100 * kib, shared_kind::dynamic, 64), 0), 2);
  EXPECT_EQ(resident_blocks(turing, needs(0, shared_kind::fixed, 1024), 0), 1);
}

}  // namespace
}  // namespace antiphase::test
