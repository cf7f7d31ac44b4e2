// SPDX-License-Identifier: Apache-2.0
// Tests on the CPU executor and, where there is one, on a GPU.
#pragma once
#include <gtest/gtest.h>

#include <antiphase/context.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <string>

namespace antiphase::attention_test {

class on_device : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why;
    if (on_gpu() && cuda_devices(&why).empty()) GTEST_SKIP() << "no GPU to test on: " << why;
  }
  bool on_gpu() const { return GetParam() == std::string("cuda"); }
  context where() const { return context::on(GetParam()); }
};
#define AP_ATTENTION_ON_BOTH(suite)                             \
  INSTANTIATE_TEST_SUITE_P(Cpu, suite, testing::Values("cpu")); \
  INSTANTIATE_TEST_SUITE_P(Cuda, suite, testing::Values("cuda"))

}  // namespace antiphase::attention_test
