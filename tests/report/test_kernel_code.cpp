// SPDX-License-Identifier: Apache-2.0
// The compiled code that a figure belongs to: the list entry that a device runs, and the kernels of a call.
#include "tool/measure/kernel_code.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/scan.hpp>

#include "tool/measure/graphs/graph.hpp"
#include "tool/measure/provenance.hpp"

namespace antiphase::tool {

// Stand-ins for the program's own definitions.
std::string_view built_from() { return "a test"; }
std::span<const kernel_code> kernel_codes() {
  static constexpr kernel_code all[] = {{"a", "sm_90a:1"}};
  return all;
}

namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> codes_on(std::initializer_list<kernel_code> list, int major, int minor,
                                  std::vector<std::string> kernels = {"a"}) {
  return codes_of({list.begin(), list.size()}, kernels, major, minor);
}

TEST(kernel_code, sorted_and_each_once) {
  const auto list = {kernel_code{"a", "sm_90a:5"}, kernel_code{"b", "sm_90a:3"}, kernel_code{"c", "sm_90a:5"},
                     kernel_code{"d", "sm_90a:1"}};
  EXPECT_THAT(codes_on(list, 9, 0, {"a", "b", "c", "a"}), ElementsAre("sm_90a:3", "sm_90a:5"));
}
TEST(kernel_code, is_not_known_if_that_of_one_kernel_is_not) {
  EXPECT_THAT(codes_on({{"a", "sm_90a:5"}}, 9, 0, {"a", "other"}), IsEmpty());
  EXPECT_THAT(codes_on({{"a", "sm_90a:5"}}, 9, 0, {}), IsEmpty());
  EXPECT_THAT(codes_on({}, 9, 0), IsEmpty());
}
TEST(kernel_code, machine_code_comes_before_ptx) {
  const auto list = {kernel_code{"a", "compute_80:1"}, kernel_code{"a", "sm_90a:2"}};
  EXPECT_THAT(codes_on(list, 9, 0), ElementsAre("sm_90a:2"));
  EXPECT_THAT(codes_on(list, 8, 0), ElementsAre("compute_80:1"));
  EXPECT_THAT(codes_on(list, 8, 9), ElementsAre("compute_80:1"));
  EXPECT_THAT(codes_on(list, 9, 1), ElementsAre("compute_80:1"));  // sm_90a runs on 9.0 only
  EXPECT_THAT(codes_on(list, 10, 0), ElementsAre("compute_80:1"));
  EXPECT_THAT(codes_on(list, 7, 5), IsEmpty());
}
TEST(kernel_code, of_several_the_latest) {
  const auto list = {kernel_code{"a", "sm_86:2"}, kernel_code{"a", "sm_80:1"},
                     kernel_code{"a", "compute_75:3"}, kernel_code{"a", "compute_80:4"}};
  EXPECT_THAT(codes_on(list, 8, 0), ElementsAre("sm_80:1"));
  EXPECT_THAT(codes_on(list, 8, 9), ElementsAre("sm_86:2"));
  EXPECT_THAT(codes_on(list, 7, 5), ElementsAre("compute_75:3"));
  // machine code runs on its own major version only
  EXPECT_THAT(codes_on(list, 9, 0), ElementsAre("compute_80:4"));
  EXPECT_THAT(codes_on(list, 12, 1), ElementsAre("compute_80:4"));
}

struct multiply_and_add {  // C = A B + 2 C, of 5 x 5
  const context& where;
  device_array<float> a{where, std::vector<float>(25, 3)}, b{where, std::vector<float>(25, 4)},
      c{where, std::vector<float>(25, 7)};

  launch_counts operator()(stream on) {
    return gemm(where,
                {.a = row_major(std::as_const(a).data(), 5, 5),
                 .b = row_major(std::as_const(b).data(), 5, 5),
                 .c = row_major(c.data(), 5, 5),
                 .beta = 2},
                {.stream = on});
  }
};

TEST(kernel_code, is_not_known_on_the_cpu_executor) {
  const context where = context::on("cpu");
  multiply_and_add call{where};
  EXPECT_THAT(code_of(where, std::vector<work>{[&](stream on) { call(on); }}), IsEmpty());
  EXPECT_THROW(kernels_of(where, [&](stream on) { call(on); }), not_supported);
  EXPECT_THAT(call.c.to_host(), Each(7));
}
TEST(kernel_code, kernels_of_a_call_Cuda) {
  std::string why;
  if (cuda_devices(&why).empty()) GTEST_SKIP() << "no GPU to test on: " << why;
  const context where = context::on("cuda");
  multiply_and_add call{where};
  call(nullptr);
  const work run = [&](stream on) { call(on); };
  EXPECT_THAT(kernels_of(where, run), Not(IsEmpty()));
  EXPECT_THAT(kernels_of(where, run), Each(AllOf(testing::StartsWith("_Z"), HasSubstr("antiphase"))));
  EXPECT_THAT(call.c.to_host(), Each(5 * 3 * 4 + 2 * 7)) << "the call was run when it was looked at";
  EXPECT_THAT(code_of(where, std::vector{run}), IsEmpty()) << "kernels that are not in the list";

  // This one needs memory that is kept per stream.
  constexpr std::int64_t n = 100000;
  device_array<int> in(where, std::vector<int>(n, 1)), out(where, n);
  const work sum = [&](stream on) {
    scan(where, {.type = element::i32, .in = in.data(), .out = out.data(), .length = n}, {.stream = on});
  };
  EXPECT_THAT(kernels_of(where, sum), Not(IsEmpty()));
  const work both = [&](stream on) { sum(on), sum(on); };
  EXPECT_EQ(kernels_of(where, both).size(), 2 * kernels_of(where, sum).size());
}

}  // namespace
}  // namespace antiphase::tool
