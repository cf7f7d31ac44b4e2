// SPDX-License-Identifier: Apache-2.0
// The Tensor Core kernels, of whole warps and of warpgroups, against FP64, on the CPU executor and on a GPU.
#include <gmock/gmock.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <cstring>

#include "tests/linear/ladder/ladder_case.hpp"

namespace antiphase::gemms {
namespace {

// The kernels for the tests and those of the ladder.
std::vector<tensor_instance> all(target where) {
  std::vector<tensor_instance> instances = joined(cpu::tensor_instances(), cpu::tensor_tma_instances());
#if ANTIPHASE_HAS_CUDA
  if (where == target::cuda) instances = joined(cuda::tensor_instances(), cuda::tensor_tma_instances());
#endif
  for (const tensor_core_instance& i : tensor_core_instances(where))
    instances.push_back({find_tensor_core_step(i.step), i.code});
  return instances;
}

TEST(tensor_core, is_as_exact_as_the_hardware_on_the_cpu_executor) {
  for (const landing copies : {landing::late, landing::early}) {
    const context where(make_cpu_executor({.copies = copies}));
    for (const tensor_instance& k : all(target::cpu))
      for (const tensor_shape& s : tensor_shapes) EXPECT_EQ(wrong_output(where, k, s), "");
  }
}

// One block and several tiles: the ring goes on from one to the next.
TEST(tensor_core, of_warpgroups_walks_over_tiles) {
  device_limits device = simulated_device();
  device.multiprocessors = 2;
  const context where(make_cpu_executor({.limits = device}));
  for (const tensor_instance& k : all(target::cpu))
    if (k.step.feed == feeding::engine) {
      EXPECT_EQ(wrong_output(where, k, {300, 290, 200}), "");
    }
}

// The same sums in the same order, 16 products at a time, whoever loads and multiplies.
TEST(tensor_core, all_steps_give_the_same_bits) {
  const context where(make_cpu_executor());
  const tensor_shape s{77, 141, 203};
  const half_operands in(where, s);
  const std::vector<float> first = in.product(where, all(target::cpu).front());
  for (const tensor_instance& k : all(target::cpu)) {
    const std::vector<float> c = in.product(where, k);
    EXPECT_EQ(std::memcmp(c.data(), first.data(), c.size() * sizeof(float)), 0) << k.kernel.name;
  }
}

TEST(tensor_core, is_refused_with_a_reason) {
  const auto reason = [](auto change, const char* step) {
    device_limits device = simulated_device();
    change(device);
    return refuses(*make_cpu_executor({.limits = device}), find_tensor_core_step(step)).value_or("nothing");
  };
  EXPECT_EQ(reason([](auto&) {}, "tensor-core-tma"), "nothing");
  const auto ampere = [](device_limits& d) { d.major = 8, d.minor = 6, d.shared_opt_in = 99 * 1024; };
  EXPECT_THAT(reason(ampere, "tensor-core-tma"),
              testing::AllOf(testing::HasSubstr("9.0"), testing::HasSubstr("has 8.6")));
  EXPECT_EQ(reason(ampere, "tensor-core-4"), "nothing");
  EXPECT_THAT(reason([](device_limits& d) { d.major = 7, d.minor = 5; }, "tensor-core-2"),
              testing::HasSubstr("8.0"));
  EXPECT_THAT(reason([](device_limits& d) { d.shared_opt_in = 64 * 1024; }, "tensor-core-tma"),
              testing::HasSubstr("65536"));
}

TEST(tensor_core, rejects_what_makes_no_sense) {
  const context where(make_cpu_executor());
  alignas(16) const f16 in[64] = {};
  float out[64] = {};
  const tensor_core_problem good{row_major<const f16>(in, 4, 5, 8), row_major<const f16>(in, 5, 4, 8),
                                 row_major(out, 4, 4)};
  const tensor_core_step& step = find_tensor_core_step("tensor-core-2");
  EXPECT_NO_THROW(prepare(where.runs_on(), step, good));
  const auto said = [&](auto change) {
    tensor_core_problem p = good;
    change(p);
    try {
      prepare(where.runs_on(), step, p);
    } catch (const bad_request& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  EXPECT_THAT(said([](auto& p) { p.a.row_stride = 5; }), testing::StartsWith("A has rows"));
  EXPECT_THAT(said([](auto& p) { p.b.data += 1; }), testing::StartsWith("B has rows"));
  EXPECT_THAT(said([](auto& p) { p.b.column_stride = 2; }), testing::StartsWith("B has column stride 2"));
  EXPECT_THAT(said([](auto& p) { p.c.rows = 3; }), testing::HasSubstr("must agree"));
  EXPECT_THAT(said([](auto& p) { p.c.data = nullptr; }), testing::StartsWith("C is a null pointer"));
  EXPECT_THAT(said([](auto& p) { p.c.row_stride = 3; }), testing::HasSubstr("its elements would overlap"));
  EXPECT_THAT(said([](auto& p) { p.c.row_stride = std::int64_t{1} << 62; }),
              testing::HasSubstr("less than 2^52 bytes"));
  EXPECT_THAT(said([](auto& p) { p.a.row_stride = std::int64_t{1} << 62; }),
              testing::HasSubstr("less than 2^52 bytes"));
  EXPECT_THAT(
      said([](auto& p) { p.c.data = reinterpret_cast<float*>(reinterpret_cast<char*>(p.c.data) + 2); }),
      testing::HasSubstr("multiple of 4"));
  EXPECT_THAT(said([&](auto& p) { p.c.data = reinterpret_cast<float*>(const_cast<f16*>(in)) + 14; }),
              testing::HasSubstr("overlaps A"));
}

TEST(tensor_core_Cuda, is_right) {
#if ANTIPHASE_HAS_CUDA
  std::string why;
  const auto devices = cuda_devices(&why);
  if (devices.empty()) GTEST_SKIP() << "no GPU to test on: " << why;
  if (devices.front().major < 8) GTEST_SKIP() << devices.front().name << " has no asynchronous copies";
  const context where(make_cuda_executor());
  for (const tensor_instance& k : all(target::cuda)) {
    if (k.step.feed == feeding::engine && devices.front().major != 9) continue;
    for (const tensor_shape& s : tensor_shapes) EXPECT_EQ(wrong_output(where, k, s), "");
    for (const tensor_shape& s : {tensor_shape{515, 301, 1003}, {900, 700, 333}})
      EXPECT_EQ(wrong_output(where, k, s), "");
  }
#else
  GTEST_SKIP() << "no GPU to test on: built without the GPU part";
#endif
}
// On Hopper, whose arithmetic the CPU executor has.
TEST(tensor_core_Cuda, gives_the_bits_of_the_cpu_executor) {
#if ANTIPHASE_HAS_CUDA
  std::string why;
  const auto devices = cuda_devices(&why);
  if (devices.empty()) GTEST_SKIP() << "no GPU to test on: " << why;
  if (devices.front().major != 9) GTEST_SKIP() << devices.front().name << " rounds in another way";
  const context gpu(make_cuda_executor()), simulated(make_cpu_executor());
  const tensor_shape s{300, 290, 1000};
  const half_operands on_cpu(simulated, s), on_gpu(gpu, s);
  const std::vector<float> expected = on_cpu.product(simulated, all(target::cpu).front());
  for (const tensor_instance& k : all(target::cuda)) {
    const std::vector<float> c = on_gpu.product(gpu, k);
    EXPECT_EQ(std::memcmp(c.data(), expected.data(), c.size() * sizeof(float)), 0) << k.kernel.name;
  }
#else
  GTEST_SKIP() << "no GPU to test on: built without the GPU part";
#endif
}

}  // namespace
}  // namespace antiphase::gemms
