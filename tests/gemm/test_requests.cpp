// SPDX-License-Identifier: Apache-2.0
// Invalid requests are refused with a message that names the argument; nothing is launched or changed.
#include <cstddef>
#include <limits>

#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

using testing::HasSubstr;

class gemm_requests : public on_device {
 protected:
  // A valid request, 3 x 4 = (3 x 5) (5 x 4), that `spoil` makes invalid.
  template <class Error, class Spoil> void expect_refused(Spoil spoil, const std::vector<std::string>& says,
                                                          float alpha = 1, std::string_view policy = "auto") {
    expect_refused_with<Error>(
        [&](auto& request, gemm_options& options) { spoil(request), options.policy = policy; }, says, alpha);
  }
  // The same, for changes of the options.
  template <class Error, class Spoil>
  void expect_refused_with(Spoil spoil, const std::vector<std::string>& says, float alpha = 1) {
    const context where = any();
    const product p = product_of(random_reals(3, 5, 1), random_reals(5, 4, 2), alpha, 0.5);
    matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
    gemms::problem request{.a = a.view(), .b = b.view(), .c = c.view(), .alpha = p.alpha, .beta = p.beta};
    gemm_options options;
    spoil(request, options);
    try {
      gemm(where, request, options);
      ADD_FAILURE() << "not refused: " << testing::PrintToString(says);
    } catch (const Error& e) {
      for (const std::string& part : says) EXPECT_THAT(e.what(), HasSubstr(part));
    }
    where.runs_on().synchronize(nullptr);
    EXPECT_TRUE(same_bits(c.read(), p.c)) << "C was changed";
  }
};

TEST_P(gemm_requests, negative_extents) {
  expect_refused<bad_request>([](auto& r) { r.a.rows = -3; }, {"A is -3 x 5"});
  expect_refused<bad_request>([](auto& r) { r.a.columns = -1; }, {"A is 3 x -1"});
  expect_refused<bad_request>([](auto& r) { r.b.rows = -5; }, {"B is -5 x 4"});
  expect_refused<bad_request>([](auto& r) { r.b.columns = -4; }, {"B is 5 x -4"});
  expect_refused<bad_request>([](auto& r) { r.c.rows = -3; }, {"C is -3 x 4"});
  expect_refused<bad_request>([](auto& r) { r.c.columns = -4; }, {"C is 3 x -4"});
}
TEST_P(gemm_requests, null_pointers) {
  expect_refused<bad_request>([](auto& r) { r.a.data = nullptr; }, {"A is a null pointer", "3 x 5"});
  expect_refused<bad_request>([](auto& r) { r.b.data = nullptr; }, {"B is a null pointer", "5 x 4"});
  expect_refused<bad_request>([](auto& r) { r.c.data = nullptr; }, {"C is a null pointer", "3 x 4"});
  // alpha = 0: C is still written
  expect_refused<bad_request>([](auto& r) { r.c.data = nullptr; }, {"C is a null pointer", "3 x 4"}, 0);
}
TEST_P(gemm_requests, extents_that_do_not_agree) {
  expect_refused<bad_request>([](auto& r) { r.a.rows = 2; }, {"A has 2 rows", "C has 3"});
  expect_refused<bad_request>([](auto& r) { r.b.columns = 3; }, {"B has 3 columns", "C has 4"});
  expect_refused<bad_request>([](auto& r) { r.a.columns = 4; }, {"A has 4 columns", "B has 5 rows"});
  expect_refused<bad_request>([](auto& r) { r.a.columns = 4; }, {"A has 4 columns", "B has 5 rows"}, 0);
}
TEST_P(gemm_requests, rows_of_c_that_overlap) {
  for (const auto& [row, column] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {3, 1}, {0, 1}, {4, 0}, {1, 2}, {-3, 1}, {3, -1}, {-2, -2}, {0, 0}}) {
    expect_refused<bad_request>(
        [&](auto& r) { r.c.row_stride = row, r.c.column_stride = column; },
        {"C is 3 x 4", "strides " + std::to_string(row) + " and " + std::to_string(column)});
  }
}
TEST_P(gemm_requests, output_on_top_of_an_input) {
  expect_refused<bad_request>([](auto& r) { r.a.data = r.c.data; }, {"C has the same address as A"});
  expect_refused<bad_request>([](auto& r) { r.b.data = r.c.data; }, {"C has the same address as B"});
}
TEST_P(gemm_requests, output_that_shares_memory_with_an_input) {
  expect_refused<bad_request>([](auto& r) { r.a.data = r.c.data - 14; },
                              {"C at 0x", "overlaps A at 0x", "must lie apart"});
  expect_refused<bad_request>([](auto& r) { r.b.data = r.c.data + 11; }, {"C at 0x", "overlaps B at 0x"});
  expect_refused<bad_request>(
      [](auto& r) {
        r.b = {&r.c(2, 3), 5, 4, -4, -1};
      },
      {"C at 0x", "overlaps B at 0x"});
}
TEST_P(gemm_requests, addresses_that_are_not_those_of_floats) {
  const auto shift = [](auto& data) {
    data =
        reinterpret_cast<std::remove_reference_t<decltype(data)>>(reinterpret_cast<std::uintptr_t>(data) + 2);
  };
  expect_refused<bad_request>([&](auto& r) { shift(r.a.data); }, {"A is at address 0x", "multiple of 4"});
  expect_refused<bad_request>([&](auto& r) { shift(r.b.data); }, {"B is at address 0x", "multiple of 4"});
  expect_refused<bad_request>([&](auto& r) { shift(r.c.data); }, {"C is at address 0x", "multiple of 4"});
  expect_refused<bad_request>([&](auto& r) { shift(r.c.data); }, {"C is at address 0x", "multiple of 4"}, 0);
}
TEST_P(gemm_requests, strides_that_reach_beyond_memory) {
  for (const std::int64_t huge : {std::int64_t{1} << 62, (std::int64_t{1} << 62) + 3,
                                  -(std::int64_t{1} << 61), std::int64_t{1} << 50}) {
    const std::string strides = "strides " + std::to_string(huge) + " and 1";
    expect_refused<bad_request>([&](auto& r) { r.a.row_stride = huge; }, {"A is 3 x 5", strides, "2^52"});
    expect_refused<bad_request>([&](auto& r) { r.b.row_stride = huge; }, {"B is 5 x 4", strides, "2^52"});
    expect_refused<bad_request>([&](auto& r) { r.c.row_stride = huge; }, {"C is 3 x 4", strides, "2^52"});
  }
  expect_refused<bad_request>([](auto& r) { r.c.rows = r.a.rows = std::int64_t{1} << 61; },
                              {"A is 2305843009213693952 x 5", "2^52"});
}
TEST_P(gemm_requests, options) {
  expect_refused_with<bad_request>([](auto&, gemm_options& o) { o.accuracy = static_cast<precision>(7); },
                                   {"accuracy is 7", "fp32", "strict"});
  expect_refused_with<bad_request>(
      [](auto&, gemm_options& o) {
        std::byte* const nowhere = nullptr;
        o.workspace = {nowhere, 4096};
      },
      {"workspace is a null pointer", "4096 bytes"});
  expect_refused_with<bad_request>(
      [](auto& r, gemm_options& o) {
        o.workspace = {reinterpret_cast<std::byte*>(r.c.data) + 4, 4096};
      },
      {"workspace is at address 0x", "multiple of 256"});
  expect_refused_with<bad_request>(
      [](auto& r, gemm_options& o) {
        o.recomputed =
            reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::uintptr_t>(r.c.data) / 8 * 8 + 4);
      },
      {"recomputed is at address 0x", "multiple of 8"});
  expect_refused_with<bad_request>(
      [](auto& r, gemm_options& o) {
        o.recomputed = reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::uintptr_t>(&r.c(1, 1)) / 8 * 8);
      },
      {"recomputed at 0x", "overlaps C at 0x"});
}
TEST_P(gemm_requests, first_bad_argument_is_named) {
  expect_refused<bad_request>([](auto& r) { r.a.rows = r.b.rows = r.c.rows = -1; }, {"A is -1"});
  expect_refused<bad_request>([](auto& r) { r.b.data = nullptr, r.c.data = nullptr; },
                              {"B is a null pointer"});
}
TEST_P(gemm_requests, unknown_policies) {
  std::vector<std::string> says{"no GEMM policy 'warp_tile'"};
  for (const gemms::step& s : gemms::steps) says.push_back(s.name);
  expect_refused<bad_request>([](auto&) {}, says, 1, "warp_tile");
  expect_refused<bad_request>([](auto&) {}, {"''"}, 1, "");
  expect_refused<bad_request>([](auto&) {}, {"'Auto'"}, 1, "Auto");
}
TEST_P(gemm_requests, larger_than_the_kernels_can_count) {
  const std::int64_t huge = std::int64_t{1} << 40;
  expect_refused<not_supported>([&](auto& r) { r.a.columns = r.b.rows = huge; },
                                {"K = 1099511627776: a product takes at most 2147482623"});
  expect_refused<not_supported>([&](auto& r) { r.a.rows = r.c.rows = huge; },
                                {"1099511627776 x 4", "blocks"});
}

// Empty requests are valid with any pointers.
TEST_P(gemm_requests, empty_ones_do_nothing) {
  const context where = any();
  for (const gemms::step& s : gemms::steps)
    for (const auto& [m, n, k] : {std::tuple{0, 4, 5}, {3, 0, 5}, {0, 0, 0}, {0, 4, 0}}) {
      const launch_counts done =
          gemm(where, {.a = {nullptr, m, k, k, 1}, .b = {nullptr, k, n, n, 1}, .c = {nullptr, m, n, n, 1}},
               {.policy = s.name});
      EXPECT_EQ(done.switches, 0u) << s.name;
    }
}
TEST_P(gemm_requests, same_address_is_fine_where_nothing_is_read) {
  const context where = any();
  const product p = product_of(dense{4, 4}, dense{4, 4}, 0, -1.5);
  matrix c(where, p.c, p.place_c);
  gemm(where, {.a = c.view(), .b = c.view(), .c = c.view(), .alpha = 0, .beta = -1.5});
  where.runs_on().synchronize(nullptr);
  EXPECT_TRUE(same(c.read(), expected(p)));
}
// A and C are left and right, or odd and even, columns of one buffer.
TEST_P(gemm_requests, views_of_one_buffer_that_lie_apart) {
  const context where = any();
  const product p = product_of(random_integers(6, 5, 1), random_integers(5, 4, 2));
  const dense both = made(6, 12, [&](auto i, auto j) { return j % 2 == 0 && j < 10 ? p.a(i, j / 2) : 7.5f; });
  // C: every other column from column 1 on, or the last two columns
  for (const std::int64_t first : {1, 10}) {
    matrix buffer(where, both, {12, 1}), b(where, p.b, p.place_b);
    const std::int64_t columns = first == 1 ? 4 : 2;
    const matrix_view<float> all = buffer.view();
    gemm(where, {.a = {all.data, 6, 5, 12, 2},
                 .b = {b.view().data, 5, columns, b.view().row_stride, b.view().column_stride},
                 .c = {&all(0, first), 6, columns, 12, first == 1 ? 2 : 1}});
    where.runs_on().synchronize(nullptr);
    const dense after = buffer.read(), right = expected(p);
    for (std::int64_t i = 0; i < 6; ++i)
      for (std::int64_t j = 0; j < 12; ++j) {
        const std::int64_t of_c = first == 1 ? (j % 2 == 1 ? j / 2 : 4) : j - first;
        EXPECT_EQ(after(i, j), of_c >= 0 && of_c < columns ? right(i, of_c) : both(i, j)) << i << ", " << j;
      }
  }
}
// The stride of a single column or row may have any value: it is unused.
TEST_P(gemm_requests, strides_of_single_rows_and_columns_do_not_matter) {
  const context where = any();
  product row = product_of(random_reals(1, 5, 1), random_reals(5, 4, 2));
  row.place_c = {0, 1};
  EXPECT_TRUE(same(computed(where, "auto", row), expected(row)));
  product column = product_of(random_reals(4, 5, 1), random_reals(5, 1, 2));
  column.place_c = {1, 0};
  EXPECT_TRUE(same(computed(where, "auto", column), expected(column)));
  for (const gemms::step& s : gemms::steps) {
    matrix a(where, row.a, row.place_a), b(where, row.b, row.place_b), c(where, row.c, row.place_c);
    gemms::problem request{.a = a.view(), .b = b.view(), .c = c.view(), .alpha = row.alpha, .beta = row.beta};
    request.a.row_stride = request.c.row_stride = (std::int64_t{1} << 62) + 1;
    gemm(where, request, {.policy = s.name});
    where.runs_on().synchronize(nullptr);
    EXPECT_TRUE(same(c.read(), expected(row))) << s.name;
  }
}

AP_ON_BOTH_DEVICES(gemm_requests);

}  // namespace
}  // namespace antiphase::gemm_test
