// The kernels of kernels_tensor_core.cuh, for each target.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/tensor_core.hpp>
#include <vector>

namespace antiphase::mm {

struct tensor_instance {
  tensor_policy policy;
  kernel what;
};
namespace cpu {
std::vector<tensor_instance> tensor_instances();
}
namespace cuda {
std::vector<tensor_instance> tensor_instances();
}
namespace checked {
std::vector<tensor_instance> tensor_instances();
}

}  // namespace antiphase::mm
