// SPDX-License-Identifier: Apache-2.0
// Calls of linear() that make no sense, or that nothing takes.
#include <gmock/gmock.h>
#include <algorithm>
#include <functional>

#include "library/linear/plan.hpp"
#include "tests/linear/layer.hpp"

namespace antiphase::test {
namespace {

struct call {
  context where{make_cpu_executor()};
  device_array<std::uint16_t> x{where, 64 * 64}, w{where, 64 * 64}, y{where, 64 * 64};
  linear_problem p{.x = {x.data(), 16}, .w = {w.data(), 16}, .y = {y.data(), 8}, .m = 4, .n = 8, .k = 16};
  linear_options options;

  std::string refusal(const std::function<void(call&)>& change) {
    change(*this);
    try {
      linear(where, p, options);
    } catch (const error& e) {
      return e.what();
    }
    return "";
  }
};

TEST(linear_requests, wrong_arguments_are_named) {
  using testing::HasSubstr;
  EXPECT_EQ(call().refusal([](call&) {}), "");
  const std::pair<std::function<void(call&)>, const char*> wrong[] = {
      {[](call& c) { c.p.in = element::f32; }, "X and W are of f32: expected f16 or bf16"},
      {[](call& c) { c.p.out = element::f64; }, "Y is of f64: expected f32, f16 or bf16"},
      {[](call& c) { c.p.m = -1; }, "m is -1: expected 0 to 2^30 - 1"},
      {[](call& c) { c.p.members = std::int64_t{1} << 30; }, "members is 1073741824"},
      {[](call& c) { c.p.x.data = nullptr; }, "X is null"},
      {[](call& c) { c.p.w.data = reinterpret_cast<const char*>(c.w.data()) + 1; }, "W is at address"},
      {[](call& c) { c.p.x.row_stride = -16; }, "X has a stride of -16 elements"},
      {[](call& c) { c.p.y.row_stride = 7; }, "rows of Y overlap"},
      {[](call& c) { c.p.members = 2; }, "rows of Y overlap"},
      {[](call& c) { c.p.y.data = c.x.data(); }, "Y and X overlap"},
      {[](call& c) { c.p.bias = c.y.data(); }, "Y and the bias overlap"},
      {[](call& c) {
         c.p.residual = {c.y.data() + 1, 8};
       },
       "Y and the residual overlap"},
      {[](call& c) { c.p.function = gemms::activation::relu_gradient; }, "the activation is a gradient"},
      {[](call& c) { c.options.kernel = "bf16-64x33"; }, "there is no kernel of linear layers 'bf16-64x33'"},
      {[](call& c) {
         c.options.kernel = "bf16-64x32";
         c.p.x.k_stride = 2, c.p.x.row_stride = 32;
       },
       "it takes X and W that lie otherwise"},
      {[](call& c) {
         c.options.kernel = "bf16-64x32";
         c.p.x.row_stride = 17;
       },
       "tiles take contiguous rows at multiples of 16 bytes"},
  };
  for (const auto& [change, expected] : wrong) EXPECT_THAT(call().refusal(change), HasSubstr(expected));
}

// On the CPU. In a call that is remembered, too: what the memory holds may have changed.
TEST(linear_requests, groups_rise_to_at_most_m) {
  call c;
  std::int32_t ends[3] = {1, 1, 4};
  c.p.members = 3, c.p.group_ends = ends;
  const auto refusal = [&](std::int32_t a, std::int32_t b, std::int32_t last) {
    ends[0] = a, ends[1] = b, ends[2] = last;
    return c.refusal([](call&) {});
  };
  EXPECT_EQ(refusal(1, 1, 4), "");
  EXPECT_EQ(refusal(0, 3, 3), "");
  const std::vector<std::uint16_t> before = c.y.to_host();
  EXPECT_THAT(refusal(2, 9, 4), testing::EndsWith("group 1 of rows ends at 9: expected 2 to 4"));
  EXPECT_THAT(refusal(-3, 1, 4), testing::EndsWith("group 0 of rows ends at -3: expected 0 to 4"));
  EXPECT_THAT(refusal(1, 3, 2), testing::EndsWith("group 2 of rows ends at 2: expected 3 to 4"));
  EXPECT_THAT(refusal(0, 2, 5), testing::EndsWith("group 2 of rows ends at 5: expected 2 to 4"));
  EXPECT_EQ(c.y.to_host(), before);
}

TEST(linear_requests, nothing_to_do_and_nothing_to_multiply) {
  call empty;
  empty.p.m = 0, empty.p.x.data = nullptr;
  linear(empty.where, empty.p);
  call zeros;
  zeros.p.k = 0;
  linear(zeros.where, zeros.p);
  const std::vector<std::uint16_t> y = zeros.y.to_host();
  for (int i = 0; i < 32; ++i) EXPECT_EQ(y[static_cast<std::size_t>(i)], 0) << i;
}

TEST(linear_requests, launches_overlap_where_that_pays) {
  using linears::early_start;
  const auto of = [](std::int64_t m, std::int64_t n, int groups, int columns, bool w_complete = false,
                     std::int64_t experts = 0) {
    const std::int32_t ends = 0;
    return linears::early_start_of({.m = m,
                                    .n = n,
                                    .k = 4096,
                                    .members = std::max<std::int64_t>(experts, 1),
                                    .group_ends = experts > 0 ? &ends : nullptr},
                                   {true, groups, columns}, w_complete);
  };
  EXPECT_EQ(of(1, 4096, 1, 32), early_start::launch);
  EXPECT_EQ(of(64, 4096, 1, 32, true), early_start::loads);
  EXPECT_EQ(of(65, 4096, 1, 64, true), early_start::none);
  EXPECT_EQ(of(65, 4096, 2, 64, true), early_start::loads);
  EXPECT_EQ(of(256, 4096, 2, 96), early_start::none);
  EXPECT_EQ(of(512, 4096, 2, 128, true), early_start::launch);
  EXPECT_EQ(of(1024, 512, 1, 64, true), early_start::launch);
  EXPECT_EQ(of(512, 4096, 1, 64, true, 8), early_start::loads);
  EXPECT_EQ(of(520, 4096, 1, 64, true, 8), early_start::none);
  EXPECT_EQ(of(1, 128256, 1, 256, true), early_start::none);
  EXPECT_EQ(of(256, 1024, 1, 32), early_start::launch);
  EXPECT_EQ(of(257, 1024, 1, 32), early_start::none);
}

// A call that is repeated is remembered: operands at other addresses are not confused.
TEST(linear_requests, remembered_calls_are_their_own) {
  call c;
  const halves a(element::bf16, kind::normal, 4, 16, 1), b(element::bf16, kind::normal, 8, 16, 2);
  const device_array<std::uint16_t> x(c.where, std::span<const std::uint16_t>(a.bits)),
      w(c.where, std::span<const std::uint16_t>(b.bits));
  c.p.x.data = x.data(), c.p.w.data = w.data();
  for (int i = 0; i < 3; ++i) linear(c.where, c.p);
  const std::vector<std::uint16_t> first = c.y.to_host();
  c.p.x.data = w.data();
  for (int i = 0; i < 3; ++i) linear(c.where, c.p);
  EXPECT_NE(c.y.to_host(), first);
  EXPECT_GT(explain(c.where, c.p).blocks, 0U);
}

// On Ampere: large tiles where they fill the device, and rows fill them.
TEST(linear_requests, whole_warps_take_large_tiles_where_there_are_enough) {
  device_limits ampere = simulated_device();
  ampere.major = 8, ampere.minor = 0, ampere.multiprocessors = 4;
  const context where(make_cpu_executor({.limits = ampere}));
  const auto chosen = [&](std::int64_t m, std::int64_t n) {
    std::vector<std::uint16_t> x(static_cast<std::size_t>(m * 16)), w(static_cast<std::size_t>(n * 16)),
        y(static_cast<std::size_t>(m * n));
    return std::string(
        explain(where,
                {.x = {x.data(), 16}, .w = {w.data(), 16}, .y = {y.data(), n}, .m = m, .n = n, .k = 16})
            .kernel);
  };
  EXPECT_EQ(chosen(256, 256), "bf16-mma-128");
  EXPECT_EQ(chosen(256, 128), "bf16-mma");
  EXPECT_EQ(chosen(64, 1024), "bf16-mma");
}

TEST(linear_requests, take_the_kernel_that_explain_names) {
  call c;
  const std::string named = explain(c.where, c.p).kernel;
  EXPECT_EQ(explain(c.where, c.p, {.kernel = named}).kernel, named);
}

}  // namespace
}  // namespace antiphase::test
