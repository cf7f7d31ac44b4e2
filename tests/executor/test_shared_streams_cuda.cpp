// SPDX-License-Identifier: Apache-2.0
// Streams of a GPU shared by host threads: needs a build with CUDA.
#include <antiphase/executor/cuda/cuda_executor.hpp>

#include "tests/executor/shared_calls.hpp"
#include "tests/own_stream.hpp"

namespace antiphase::test {
namespace {

TEST(shared_streams_Cuda, every_policy_on_three_streams) {
  std::string why;
  if (cuda_devices(&why).empty()) GTEST_SKIP() << "no GPU to test on: " << why;
  const context where = context::on("cuda");
  const own_stream first, second, third;
  std::vector<shared_call> calls = calls_of_every_policy();
  leave_out_what_is_missing(calls, where);
  expect_as_alone(calls, where, {first.get, second.get, third.get}, where, 4);
}

}  // namespace
}  // namespace antiphase::test
