// SPDX-License-Identifier: Apache-2.0
// Findings of the checker on kernels with Tensor Core operations and tensor copies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <antiphase/checker.hpp>
#include <antiphase/core/half.hpp>
#include <string>

#include "tests/device/tensor_cases.hpp"

namespace antiphase::probe {
namespace checked {
std::vector<kernel> matrix_kernels();
std::vector<kernel> wgmma_kernels();
std::vector<kernel> tf32_kernels();
}  // namespace checked

namespace {

kernel find(const std::string& name) {
  for (const auto& list : {checked::matrix_kernels(), checked::wgmma_kernels(), checked::tf32_kernels()})
    for (const kernel& k : list)
      if (name == k.name) return k;
  throw std::logic_error("there is no kernel " + name);
}

std::vector<std::uint16_t> ones(int count) {
  return std::vector<std::uint16_t>(static_cast<std::size_t>(count), to_f16(1).bits);
}

check_options schedules(int count) {
  check_options options;
  options.schedules = count;
  return options;
}

check_report check_product(const std::string& name) {
  constexpr int k = 5 * 64;
  return check(
      [&](const context& where) {
        const auto host = ones(64 * k);
        const device_array<std::uint16_t> a(where, std::span<const std::uint16_t>(host)),
            b(where, std::span<const std::uint16_t>(host));
        device_array<float> out(where, 64 * 64);
        const auto map = [&](const void* data, std::uint64_t columns, std::uint64_t rows) {
          return where.runs_on().encode({.data = data,
                                         .extent = {columns, rows},
                                         .stride = {0, 2 * columns},
                                         .box = {64, 64},
                                         .pattern = swizzle::bytes_128});
        };
        const product_params params{map(a.data(), k, 64), map(b.data(), 64, k), out.data(), k};
        where.runs_on().launch(find(name), {}, &params, nullptr);
        if (name != "product") return;
        for (const float x : out.to_host())
          if (x != k) throw std::runtime_error("the product is wrong");
      },
      schedules(15));
}
check_report check_layout(const std::string& name, int columns) {
  return check(
      [&](const context& where) {
        const auto of_a = ones(64 * layout_depth), of_b = ones(columns * layout_depth);
        const device_array<std::uint16_t> a(where, std::span<const std::uint16_t>(of_a)),
            b(where, std::span<const std::uint16_t>(of_b));
        device_array<float> out(where, static_cast<std::size_t>(64 * columns));
        const layout_params params{a.data(), b.data(), out.data()};
        where.runs_on().launch(find(name), {}, &params, nullptr);
        out.to_host();
      },
      schedules(6));
}

bool has(const check_report& r, finding_kind kind) {
  return std::any_of(r.findings.begin(), r.findings.end(), [&](const finding& f) { return f.kind == kind; });
}
// Checks the kinds of findings and the text of the first of them.
testing::AssertionResult found(const check_report& r, finding_kind kind, const std::string& text) {
  const std::string all = to_text(r);
  if (!has(r, kind)) return testing::AssertionFailure() << "no " << name(kind) << " in\n" << all;
  if (all.find(text) == std::string::npos)
    return testing::AssertionFailure() << "no \"" << text << "\" in\n" << all;
  return testing::AssertionSuccess();
}

TEST(tensor_checked, correct_kernels_are_clean) {
  for (const auto& r :
       {check_product("product"), check_layout("layout-128-k-mn-64", 64),
        check_layout("layout-registers-mn-64", 64), check_layout("layout-reuse-of-own-rows", 64)})
    EXPECT_TRUE(r.clean()) << to_text(r);
}

TEST(tensor_checked, copies_not_waited_for) {
  EXPECT_TRUE(found(check_product("product without the wait for copies"), finding_kind::read_before_landing,
                    "a wait for the end of the mbarrier's phase that counts the copy"));
}
TEST(tensor_checked, operands_overwritten_before_the_wait) {
  EXPECT_TRUE(found(check_product("product without the wait for wgmma"), finding_kind::overwritten_in_use,
                    "a wait for the group of the Tensor Core operation"));
}
// A group belongs to the whole warpgroup (PTX ISA, wgmma.commit_group): a thread that has waited for it may
// overwrite operands that all four warps read.
TEST(tensor_checked, a_group_belongs_to_the_warpgroup) {
  const check_report r = check_product("product without the barrier");
  EXPECT_TRUE(r.clean()) << to_text(r);
}
TEST(tensor_checked, ordinary_stores_without_the_proxy_fence) {
  EXPECT_TRUE(found(check_layout("no proxy fence", 64), finding_kind::missing_proxy_fence,
                    "fence_async by the thread that wrote it"));
}

TEST(tensor_checked, rows_of_ldmatrix_are_reads) {
  const auto check_rows = [](const char* name) {
    return check(
        [&](const context& where) {
          const auto host = ones(256);
          const device_array<std::uint16_t> in(where, std::span<const std::uint16_t>(host));
          device_array<std::uint32_t> out(where, 256);
          const load_params params{in.data(), out.data()};
          where.runs_on().launch(find(name), {}, &params, nullptr);
        },
        schedules(6));
  };
  const auto good = check_rows("ldmatrix");
  EXPECT_TRUE(good.clean()) << to_text(good);
  EXPECT_TRUE(found(check_rows("ldmatrix without the barrier"), finding_kind::uninitialised,
                    "also seen as uninitialised memory read at"));
}

}  // namespace
}  // namespace antiphase::probe
