// Every fault of the Tensor Core kernel of warpgroups is found, by the kind and the words its list names.
#include <antiphase/core/error.hpp>

#include "tests/gemm/tensor_core/tensor_case.hpp"

#include "tests/gemm/mutant_case.hpp"
#include "tests/gemm/tensor_core/tensor_mutants.hpp"

namespace antiphase::gemms {
namespace {

class tensor_mutants : public testing::TestWithParam<kernel_mutant> {};
TEST_P(tensor_mutants, are_found) {
  const tensor_instance broken{step_of(GetParam().code.name, "", narrow), GetParam().code};
  expect_found(GetParam(), [&](const context& where) {  // two tiles, whose k goes around the ring more than twice
    if (const std::string wrong = wrong_output(where, broken, {37, 90, 5 * warpgroup_depth - 21}); !wrong.empty()) throw error(wrong);
  });
}
INSTANTIATE_TEST_SUITE_P(all, tensor_mutants, testing::ValuesIn(checked::tensor_mutants()), name_of);

}  // namespace
}  // namespace antiphase::gemms
