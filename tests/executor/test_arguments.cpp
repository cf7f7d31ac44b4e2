// SPDX-License-Identifier: Apache-2.0
// Arguments that executors and device arrays refuse, and their messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/device/kernel.cuh>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tests/sanitized.hpp"

namespace antiphase {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <class Error, class Call> std::string refusal_of(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

class device_arrays : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why;
    if (GetParam() == std::string("cuda") && cuda_devices(&why).empty())
      GTEST_SKIP() << "no GPU to test on: " << why;
  }
  context any() const { return context::on(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Cpu, device_arrays, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Cuda, device_arrays, testing::Values("cuda"));

TEST_P(device_arrays, of_more_elements_than_memory_has_are_refused) {
  const context where = any();
  constexpr std::size_t wraps = (std::size_t{1} << 62) + 16;  // 64 bytes after wrapping around
  EXPECT_THAT(refusal_of<bad_request>([&] { device_array<float>(where, wraps); }),
              AllOf(HasSubstr("4611686018427387920 elements of 4 bytes"), HasSubstr("2^63")));
  EXPECT_THAT(refusal_of<bad_request>([&] { device_array<char>(where, std::size_t{1} << 63); }),
              HasSubstr("2^63"));
  EXPECT_THAT(
      refusal_of<bad_request>([&] { device_array<double>(where, std::numeric_limits<std::size_t>::max()); }),
      HasSubstr("2^63"));
  EXPECT_THAT(refusal_of<device_error>([&] { device_array<char>(where, (std::size_t{1} << 63) - 1); }),
              AllOf(HasSubstr("allocating 9223372036854775807 bytes on"), HasSubstr("failed")));
  if (test::sanitized) return;  // the sanitizer would end the program at such an attempt
  EXPECT_THAT(refusal_of<device_error>([&] { device_array<char>(where, std::size_t{1} << 60); }),
              HasSubstr("allocating"));
}

TEST_P(device_arrays, take_no_more_than_they_have_room_for) {
  const context where = any();
  const std::vector<float> five{1, 2, 3, 4, 5}, two{6, 7};
  device_array<float> array(where, std::span<const float>(five).first(4));
  EXPECT_THAT(refusal_of<bad_request>([&] { array.copy_from(five); }),
              AllOf(HasSubstr("copy_from of 5 elements"), HasSubstr("room for 4")));
  EXPECT_EQ(array.to_host(), (std::vector<float>{1, 2, 3, 4}));
  const float* const nowhere = nullptr;
  EXPECT_THAT(refusal_of<bad_request>([&] {
                array.copy_from({nowhere, 3});
              }),
              HasSubstr("3 elements from a null pointer"));
  EXPECT_THAT(refusal_of<bad_request>([&] {
                device_array<float>(where, {nowhere, 3});
              }),
              HasSubstr("null pointer"));
  array.copy_from(two);
  EXPECT_EQ(array.to_host(), (std::vector<float>{6, 7, 3, 4}))
      << "a shorter span replaces the first elements";
  array.copy_from({});
  EXPECT_EQ(array.to_host(), (std::vector<float>{6, 7, 3, 4}));
}

TEST_P(device_arrays, of_no_elements_are_fine) {
  const context where = any();
  device_array<double> none(where, 0), moved_from(where, std::vector<double>{1, 2});
  const device_array<double> moved = std::move(moved_from);
  EXPECT_EQ(moved.to_host(), (std::vector<double>{1, 2}));
  for (device_array<double>* const empty :
       {&none, &moved_from}) {  // NOLINT(bugprone-use-after-move): under test
    EXPECT_EQ(empty->size(), 0u);
    EXPECT_EQ(empty->to_host(), std::vector<double>());
    empty->copy_from({});
    EXPECT_THAT(refusal_of<bad_request>([&] { empty->copy_from(std::vector<double>{1}); }),
                HasSubstr("room for 0"));
  }
}

TEST(cpu_copies, from_and_to_null_pointers_are_refused) {
  const auto on = make_cpu_executor();
  char byte = 'x';
  EXPECT_THAT(refusal_of<bad_request>([&] { on->copy_in(nullptr, &byte, 1, nullptr); }),
              HasSubstr("copying 1 bytes to a null pointer"));
  EXPECT_THAT(refusal_of<bad_request>([&] { on->copy_out(&byte, nullptr, 1, nullptr); }),
              HasSubstr("from a null pointer"));
  EXPECT_THAT(refusal_of<bad_request>([&] { on->copy(nullptr, nullptr, 9, nullptr); }), HasSubstr("9 bytes"));
  on->copy(nullptr, nullptr, 0, nullptr);
  EXPECT_EQ(byte, 'x');
}

TEST(cpu_options, that_do_not_exist_are_named) {
  EXPECT_THAT(refusal_of<bad_request>([] { make_cpu_executor({.order = static_cast<schedule>(6)}); }),
              HasSubstr("order is 6"));
  EXPECT_THAT(refusal_of<bad_request>([] { make_cpu_executor({.copies = static_cast<landing>(-1)}); }),
              HasSubstr("copies is -1"));
  EXPECT_THAT(refusal_of<bad_request>([] { make_cpu_executor({.sums = static_cast<tensor_sums>(2)}); }),
              HasSubstr("sums is 2"));
}

struct writes {
  struct params {
    int* out;
  };
  struct storage {};
  static constexpr int threads = 32;
  void operator()(const params& p) const { ++*p.out; }
};

// 2^64 blocks would wrap around to none.
TEST(cpu_launches, of_more_blocks_than_can_be_counted_are_refused) {
  const auto on = make_cpu_executor({.workers = 1});
  int out = 0;
  const writes::params params{&out};
  constexpr unsigned many = 1u << 31;
  for (const extent3 grid : {extent3{many, many, 4}, extent3{~0u, ~0u, 1}, extent3{~0u, ~0u, ~0u}})
    EXPECT_THAT(
        refusal_of<bad_request>([&] { on->launch(kernel_of<writes>("writes"), grid, &params, nullptr); }),
        AllOf(HasSubstr("kernel writes: a grid of " + std::to_string(grid.x)), HasSubstr("2^63")));
  EXPECT_EQ(out, 0);
  for (const unsigned side : {many, ~0u})
    on->launch(kernel_of<writes>("writes"), {side, side, 0}, &params, nullptr);
  EXPECT_EQ(out, 0);
}

}  // namespace
}  // namespace antiphase
