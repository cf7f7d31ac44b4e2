// SPDX-License-Identifier: Apache-2.0
// Launches a kernel that a test defines on a CPU executor of its choice.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/warp.cuh>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <memory>
#include <string>
#include <vector>

namespace antiphase::test {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

// Parameters of most test kernels: an output array.
struct numbers {
  std::uint32_t* out;
};

// A scheduling point: any other thread may run here.
inline void point() { warp_sync(1u << lane_index()); }

using shared_executor = std::shared_ptr<const executor>;

// The error that a launch throws; the test fails if it throws none.
template <class K>
std::string failure_of(const executor& on, const typename K::params& params, extent3 grid = {}) {
  try {
    on.launch(kernel_of<K>("broken"), grid, &params, nullptr);
  } catch (const device_error& e) {
    return e.what();
  }
  ADD_FAILURE() << "the launch did not fail";
  return {};
}

template <class K>
launch_counts launch(const executor& on, const typename K::params& params, extent3 grid = {}) {
  return on.launch(kernel_of<K>("good"), grid, &params, nullptr);
}

}  // namespace antiphase::test
