// SPDX-License-Identifier: Apache-2.0
// Every fault of the Tensor Core kernel of warpgroups is found, by the kind and the words its list names.
#include <antiphase/core/error.hpp>

#include "tests/gemm/f16_ladder/tensor_case.hpp"

#include "tests/gemm/f16_ladder/tensor_mutants.hpp"
#include "tests/support/mutant_runners.hpp"

namespace antiphase::gemms {
namespace {

class tensor_mutants : public testing::TestWithParam<test::mutant<>> {};
TEST_P(tensor_mutants, are_found) {
  const tensor_instance broken{step_of(GetParam().code.name, "", narrow), GetParam().code};
  const auto use = [&](const context& where) {  // two tiles, whose k goes around the ring more than twice
    if (const std::string wrong = wrong_output(where, broken, {37, 90, 5 * warpgroup_depth - 21});
        !wrong.empty())
      throw error(wrong);
  };
  test::expect_accused(GetParam(), use, test::on_multiprocessors(1, 10));
}
INSTANTIATE_TEST_SUITE_P(all, tensor_mutants, testing::ValuesIn(checked::tensor_mutants()),
                         test::name_of<test::as_its_test_says>);

}  // namespace
}  // namespace antiphase::gemms
