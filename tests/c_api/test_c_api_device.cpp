// SPDX-License-Identifier: Apache-2.0
// antiphase.h on a device, together with the C++ library in one program: products and scans of GPU memory,
// with the library's pool and with a user's allocator.
#include <antiphase.h>
#include <gtest/gtest.h>

#include <antiphase/context.hpp>
#include <antiphase/core/out_of_memory.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <cstddef>
#include <vector>

namespace {

using antiphase::context, antiphase::device_array;

// A(i, j) = i + 2 j and B the same, both small: sums are exact.
void expect_right_on(const context& where, int device, const char* policy) {
  constexpr int m = 133, n = 70, k = 65;
  std::vector<float> a(m * k), b(k * n);
  for (int i = 0; i < m; ++i)
    for (int p = 0; p < k; ++p) a[static_cast<std::size_t>(i * k + p)] = static_cast<float>((i + 2 * p) % 13);
  for (int p = 0; p < k; ++p)
    for (int j = 0; j < n; ++j) b[static_cast<std::size_t>(p * n + j)] = static_cast<float>((p + 3 * j) % 11);
  const device_array<float> on_a(where, a), on_b(where, b);
  device_array<float> on_c(where, m * n);
  antiphase_sgemm_args args = ANTIPHASE_SGEMM_ARGS_INIT;
  args.device = device;
  args.m = m, args.n = n, args.k = k;
  args.a = on_a.data(), args.b = on_b.data(), args.c = on_c.data();
  args.policy = policy;
  ASSERT_EQ(antiphase_sgemm(&args, nullptr), ANTIPHASE_OK) << antiphase_last_message();
  ASSERT_EQ(antiphase_synchronize(device, nullptr), ANTIPHASE_OK) << antiphase_last_message();
  const std::vector<float> c = on_c.to_host();
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int p = 0; p < k; ++p)
        sum += a[static_cast<std::size_t>(i * k + p)] * b[static_cast<std::size_t>(p * n + j)];
      ASSERT_EQ(c[static_cast<std::size_t>(i * n + j)], sum) << i << ", " << j;
    }
}

// The executor's own memory, with its allocations counted.
struct counted {
  const antiphase::executor* from;
  int lent = 0, back = 0;
};
void* lend(void* user, std::size_t bytes, int, antiphase_stream on) {
  auto& x = *static_cast<counted*>(user);
  ++x.lent;
  return x.from->borrow(bytes, on);
}
void take_back(void* user, void* memory, std::size_t, int, antiphase_stream on) {
  auto& x = *static_cast<counted*>(user);
  ++x.back;
  x.from->give_back(memory, on);
}

void expect_all_of_it(const context& where, int device) {
  for (const char* policy : {static_cast<const char*>(nullptr), "fp16"})
    expect_right_on(where, device, policy);
  counted memory{&where.runs_on()};
  ASSERT_EQ(antiphase_set_allocator(lend, take_back, &memory), ANTIPHASE_OK);
  expect_right_on(where, device, "fp16");
  ASSERT_EQ(antiphase_set_allocator(nullptr, nullptr, nullptr), ANTIPHASE_OK);
  EXPECT_EQ(memory.lent, 1);
  EXPECT_EQ(memory.back, 1);
  ASSERT_EQ(antiphase_trim(device), ANTIPHASE_OK) << antiphase_last_message();
  expect_right_on(where, device, "fp16");

  device_array<float> sums(where, std::vector<float>(10007, 1));
  antiphase_scan_args args = ANTIPHASE_SCAN_ARGS_INIT;
  args.device = device;
  args.in = sums.data(), args.out = sums.data(), args.length = 10007;
  ASSERT_EQ(antiphase_scan(&args, nullptr), ANTIPHASE_OK) << antiphase_last_message();
  ASSERT_EQ(antiphase_synchronize(device, nullptr), ANTIPHASE_OK) << antiphase_last_message();
  const std::vector<float> found = sums.to_host();
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], static_cast<float>(i + 1));
}

TEST(CApi, works_beside_the_library) { expect_all_of_it(context::on("cpu"), ANTIPHASE_CPU); }

TEST(CApiCuda, works_beside_the_library) {
  std::string why;
  if (antiphase::cuda_devices(&why).empty()) GTEST_SKIP() << why;
  ASSERT_GT(antiphase_device_count(), 0);
  expect_all_of_it(context::on("cuda"), 0);
  expect_all_of_it(context::on("cuda"), ANTIPHASE_CURRENT_DEVICE);
}

// More than any device has: the pool releases its cached memory, and keeps working.
TEST(CApiCuda, memory_that_is_not_there) {
  std::string why;
  if (antiphase::cuda_devices(&why).empty()) GTEST_SKIP() << why;
  const context where = context::on("cuda");
  expect_right_on(where, 0, "fp16");
  EXPECT_THROW(where.runs_on().borrow(std::size_t{1} << 50, nullptr), antiphase::out_of_memory);
  expect_right_on(where, 0, "fp16");
}

}  // namespace
