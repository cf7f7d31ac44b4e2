// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels_ladder_mma_test.cuh and kernels_ladder_tiles_test.cuh, for each target.
#pragma once
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <vector>

namespace antiphase::gemms {

struct tensor_instance {
  tensor_core_step step;
  antiphase::kernel kernel;
};
namespace cpu {
std::vector<tensor_instance> tensor_instances();
std::vector<tensor_instance> tensor_tma_instances();
}  // namespace cpu
namespace cuda {
std::vector<tensor_instance> tensor_instances();
std::vector<tensor_instance> tensor_tma_instances();
}  // namespace cuda
namespace checked {
std::vector<tensor_instance> tensor_instances();
std::vector<tensor_instance> tensor_tma_instances();
}  // namespace checked

template <class T> std::vector<T> joined(std::vector<T> one, const std::vector<T>& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

}  // namespace antiphase::gemms
