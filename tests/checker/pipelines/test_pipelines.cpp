// SPDX-License-Identifier: Apache-2.0
// Kernels in the style of libraries get no finding, and each of their faults gets one.
#include "tests/checker/pipelines/pipelines.hpp"
#include "tests/support/mutant_runners.hpp"
#include "tests/support/word_buffers.hpp"

namespace antiphase::pipelines {
namespace checked {
std::vector<mutant> blocks();
std::vector<mutant> engines();
}  // namespace checked
namespace {

void run(const context& where, const mutant& m) {
  test::word_buffers on(where, words, flags, input);
  const auto map_of = [&](const void* data) {
    return where.runs_on().encode(
        {.data = data, .element_bytes = 4, .extent = {32, 32}, .stride = {0, 128}, .box = {8, 8}});
  };
  const params p{map_of(on.in.data()), map_of(on.out.data()), on.in.data(), on.out.data(), on.flag.data()};
  for (int i = 0; i < m.policy.launches; ++i)
    where.runs_on().launch(m.code, {m.policy.blocks, 1, 1}, &p, nullptr);
  if (m.policy.right != nullptr && !m.policy.right(on.out.to_host())) throw device_error("wrong numbers");
}

class pipelines : public testing::TestWithParam<mutant> {};
TEST_P(pipelines, are_followed) {
  const mutant& m = GetParam();
  test::expect_accused(m, [&](const context& where) { run(where, m); }, {.schedules = 20});
}

std::vector<mutant> all() {
  std::vector<mutant> list = checked::blocks();
  for (const mutant& m : checked::engines()) list.push_back(m);
  return list;
}
INSTANTIATE_TEST_SUITE_P(all, pipelines, testing::ValuesIn(all()), test::name_of<use>);

}  // namespace
}  // namespace antiphase::pipelines
