// The Tensor Core kernel of whole warps against FP64, on the CPU executor and on a GPU.
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>

#include <tests/gemm/tensor_case.hpp>

namespace antiphase::mm {
namespace {

TEST(tensor_core, is_as_exact_as_the_hardware_on_the_cpu_executor) {
  for (const landing copies : {landing::late, landing::early}) {
    const context where(make_cpu_executor({.copies = copies}));
    for (const tensor_instance& k : cpu::tensor_instances())
      for (const tensor_shape& s : tensor_shapes) EXPECT_EQ(wrong_output(where, k, s), "");
  }
}

TEST(tensor_core_Cuda, is_right) {
#if ANTIPHASE_HAS_CUDA
  std::string why;
  const auto devices = cuda_devices(&why);
  if (devices.empty()) GTEST_SKIP() << "no GPU to test on: " << why;
  if (devices.front().major < 8) GTEST_SKIP() << devices.front().name << " has no asynchronous copies";
  const context where(make_cuda_executor());
  for (const tensor_instance& k : cuda::tensor_instances()) {
    for (const tensor_shape& s : tensor_shapes) EXPECT_EQ(wrong_output(where, k, s), "");
    EXPECT_EQ(wrong_output(where, k, {515, 301, 1003}), "");
  }
#else
  GTEST_SKIP() << "no GPU to test on: built without the GPU part";
#endif
}

}  // namespace
}  // namespace antiphase::mm
