// SPDX-License-Identifier: Apache-2.0
// The split pass against plain host code, on the CPU executor and on a GPU.
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>

#include "tests/gemm/fp16/split_case.hpp"

namespace antiphase::gemms {
namespace {

using enum lies;
// Every K that is just below, at or above something; both ways to lie and any other; every alignment.
std::vector<split_case> small_cases() {
  std::vector<split_case> all;
  for (const int k : {0, 1, 2, 4, 5, 15, 16, 17, 33, 63, 65, 100, 129, 257, 513, 1000, 1300}) {
    all.push_back({k, {41, along_k, 0, 0}, {41, along_lines, 0, 0}});
    all.push_back({k, {23, along_lines, 3, 1}, {33, along_k, 3, 2}});
    all.push_back({k, {21, apart, 0, 3}, {22, along_k, 8, 3}});
  }
  for (int offset = 0; offset < 4; ++offset)
    for (int gap = 0; gap < 4; ++gap)
      all.push_back({84, {20, along_k, gap, offset}, {20, along_lines, gap, offset}});
  all.push_back({48, {1, along_k, 1, 0}, {129, along_lines, 0, 0}});
  all.push_back({48, {0}, {3}});
  all.push_back({48, {3}, {0}});
  all.push_back({16, {300, along_k}, {4, along_lines}});
  return all;
}
// Long lines, which do not fit into registers.
const split_case long_cases[] = {{5000, {20, along_k, 0, 0}, {20, along_lines, 0, 0}},
                                 {5000, {20, along_lines, 1, 1}, {6, along_k, 1, 1}},
                                 {20000, {20, along_k, 0, 0}, {20, along_lines, 0, 0}},
                                 {20001, {3, apart, 0, 0}, {7, along_k, 0, 0}},
                                 {70001, {2, along_k, 3, 0}, {2, along_lines, 1, 0}}};

auto automatic(target where, bool clusters = true) {
  return [=](auto... operands) { return plan_split(where, operands..., clusters); };
}

void expect_right(const context& where) {
  for (const split_case& c : small_cases()) {
    EXPECT_EQ(wrong_split(where, c, automatic(where.kind())), "");
    EXPECT_EQ(wrong_split(where, c, automatic(where.kind(), false)), "");
  }
  for (const split_case& c : long_cases) EXPECT_EQ(wrong_split(where, c, automatic(where.kind())), "");
}

void expect_same_in_all_clusters(const context& where) {
  for (const split_pass_instance& i : split_pass_instances(where.kind()))
    for (const int cluster : {1, 2, 3, 8}) {
      if (cluster > 1 && !i.policy.clusters) continue;
      const auto plan = [&](auto... operands) { return plan_split(i, cluster, operands...); };
      for (const int k : {100, 1000, 3000})
        EXPECT_EQ(wrong_split(where, {k, {41, along_k}, {41, along_lines}}, plan), "");
    }
}

TEST(split_pass, is_right_on_the_cpu_executor) { expect_right(context(make_cpu_executor())); }
TEST(split_pass, gives_the_same_bits_in_clusters_of_any_size) {
  expect_same_in_all_clusters(context(make_cpu_executor()));
}

TEST(split_pass, holds_lines_of_up_to_16384_in_registers) {
  for (std::int64_t k = 1; k <= 16384; k += k < 3100 ? 1 : 61)
    for (const bool strips : {false, true}) {
      const split_policy& how = split_policy_for(k, strips);
      EXPECT_GE(std::int64_t{how.line_threads(k)} * 8 * how.pieces, k) << (strips ? "outside a strip" : "");
      EXPECT_TRUE(!strips || std::int64_t{largest_cluster} * how.block_depth() >= k) << k;
    }
}

TEST(split_pass, rejects_what_does_not_fit) {
  float x[64] = {};
  const operand_lines a{x, 4, 16, 16, 1}, deeper{x, 4, 15, 16, 1};
  const split_operand to{nullptr, nullptr, nullptr, nullptr, 4, 16},
      to_deeper{nullptr, nullptr, nullptr, nullptr, 4, 15};
  EXPECT_NO_THROW(plan_split(target::cpu, a, a, to, to));
  EXPECT_THROW(plan_split(target::cpu, a, deeper, to, to_deeper), bad_request);
  EXPECT_THROW(plan_split(target::cpu, a, a, to, to_deeper), bad_request);
  EXPECT_THROW(plan_split(target::cpu, {nullptr, 4, 16, 16, 1}, a, to, to), bad_request);
}

TEST(split_pass_Cuda, is_right) {
  std::string why;
  const auto devices = cuda_devices(&why);
  if (devices.empty()) GTEST_SKIP() << "no GPU to test on: " << why;
  if (devices.front().major < 9) GTEST_SKIP() << devices.front().name << " has no clusters";
  const context where(make_cuda_executor());
  expect_right(where);
  expect_same_in_all_clusters(where);
  for (const int k : {35, 70, 140, 300, 1003, 4096, 9001})
    for (const lies a : {along_k, along_lines})
      for (const lies b : {along_k, along_lines})
        EXPECT_EQ(wrong_split(where, {k, {515, a, k % 2, 1}, {301, b, k % 3, 0}}, automatic(target::cuda)),
                  "");
}

}  // namespace
}  // namespace antiphase::gemms
