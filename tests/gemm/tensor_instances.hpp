// The kernels of kernels_tensor_core.cuh and kernels_tensor_core_tma.cuh, for each target.
#pragma once
#include <antiphase/gemm/half_ladder.hpp>
#include <vector>

namespace antiphase::mm {

struct tensor_instance {
  half_step how;
  kernel what;
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

}  // namespace antiphase::mm
