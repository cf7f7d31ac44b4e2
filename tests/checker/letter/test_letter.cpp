// SPDX-License-Identifier: Apache-2.0
// Kernels allowed by the PTX ISA and the CUDA guide get no finding; violations do.
#include "tests/checker/letter/letter.hpp"
#include "tests/support/mutant_runners.hpp"
#include "tests/support/word_buffers.hpp"

namespace antiphase::letter {
namespace checked {
std::vector<mutant> order();
std::vector<mutant> engines();
std::vector<mutant> copies();
}  // namespace checked
namespace {

void run(const context& where, const mutant& m) {
  test::word_buffers on(where, words, flags, input);
  const tensor_map map = where.runs_on().encode(
      {.data = on.out.data(), .element_bytes = 4, .extent = {16, 16}, .stride = {0, 64}, .box = {8, 8}});
  const params p{map, on.in.data(), on.out.data(), on.flag.data()};
  where.runs_on().launch(m.code, {m.policy.blocks, 1, 1}, &p, nullptr);
  if (m.policy.right != nullptr && !m.policy.right(on.out.to_host())) throw device_error("wrong numbers");
}

constexpr int schedules = 20;
class letter : public testing::TestWithParam<mutant> {};
TEST_P(letter, is_followed) {
  const mutant& m = GetParam();
  test::expect_accused(m, [&](const context& where) { run(where, m); }, {.schedules = schedules});
}
TEST_P(letter, is_followed_in_every_schedule_where_that_is_possible) {
  const mutant& m = GetParam();
  if (!m.policy.in_every_schedule) return;
  const check_report report = check([&](const context& where) { run(where, m); },
                                    {.schedules = schedules, .workers = 1, .shorten = false});
  const auto found =
      std::ranges::find_if(report.findings, [&](const finding& f) { return test::is_the_one(m.found, f); });
  ASSERT_NE(found, report.findings.end());
  EXPECT_GE(found->times, static_cast<std::uint64_t>(schedules));
  EXPECT_THAT(found->access.place.file, testing::AnyOf(testing::EndsWith("kernels_engines.cuh"),
                                                       testing::EndsWith("kernels_copies.cuh")));
}

std::vector<mutant> all() {
  std::vector<mutant> list = checked::order();
  for (auto more : {&checked::engines, &checked::copies})
    for (const mutant& m : more()) list.push_back(m);
  return list;
}
INSTANTIATE_TEST_SUITE_P(all, letter, testing::ValuesIn(all()), test::name_of<use>);

}  // namespace
}  // namespace antiphase::letter
