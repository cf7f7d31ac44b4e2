// SPDX-License-Identifier: Apache-2.0
// Lists of products: drawn, read, and the summary of their figures.
#include "tool/measure/products/product_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

#include "tool/base/errors.hpp"
#include "tool/commands/bench/list/bench_gemm_list_text.hpp"
#include "tool/measure/provenance.hpp"

namespace antiphase::tool {

std::string_view built_from() { return ""; }  // defined in the program, not in its library

namespace {

using testing::HasSubstr;
using shape = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string>;

shape shape_of(const listed_product& p) { return {p.size.m, p.size.n, p.size.k, p.layout}; }
std::vector<shape> shapes_of(const std::vector<listed_product>& products) {
  std::vector<shape> shapes;
  for (const listed_product& p : products) shapes.push_back(shape_of(p));
  return shapes;
}

TEST(random_products, are_the_same_for_a_seed_everywhere) {
  const std::vector<shape> first{{2, 11, 4, "nn"}, {1, 29, 16, "tt"}, {9, 4, 11, "tt"}, {52, 4, 2, "nt"}};
  EXPECT_EQ(shapes_of(random_products(1, 4, 200)), first);
  std::vector<shape> more = shapes_of(random_products(1, 100, 200));
  more.resize(4);
  EXPECT_EQ(more, first) << "more of them begin with the same";
  EXPECT_NE(shapes_of(random_products(2, 4, 200)), first);
}
TEST(random_products, have_extents_of_every_size_some_odd_in_all_layouts) {
  const std::vector<listed_product> products = random_products(7, 2000, 16384);
  std::map<std::string, int> layouts;
  int above_3 = 0, odd = 0, below_128 = 0;
  for (const listed_product& p : products) {
    ++layouts[p.layout];
    for (const std::int64_t extent : {p.size.m, p.size.n, p.size.k}) {
      ASSERT_TRUE(extent >= 1 && extent <= 16384);
      below_128 += extent < 128 ? 1 : 0;
      if (extent <= 3) continue;
      ++above_3;
      odd += static_cast<int>(extent % 2);
      EXPECT_TRUE(extent % 2 == 1 || extent % 4 == 0) << extent;
    }
  }
  EXPECT_NEAR(odd, .3 * above_3, .03 * above_3);
  EXPECT_NEAR(below_128, 3000, 200) << "half of all, on a scale of logarithms";
  EXPECT_EQ(layouts.size(), 4u);
  for (const auto& [layout, count] : layouts) EXPECT_NEAR(count, 500, 75) << layout;
}
TEST(random_products, that_take_too_much_memory_are_drawn_again) {
  const std::vector<listed_product> products = random_products(3, 500, 1 << 20);
  std::int64_t most = 0;
  for (const listed_product& p : products) most = std::max(most, p.of_a() + p.of_b() + p.of_c());
  EXPECT_LE(most, std::int64_t{1} << 29);
  EXPECT_GT(most, std::int64_t{1} << 26);
  for (const listed_product& p : random_products(1, 5, 1)) EXPECT_EQ(shape_of(p), (shape{1, 1, 1, p.layout}));
}

TEST(map_of_products, is_a_grid_of_powers_of_two) {
  const std::vector<shape> four{{1, 1, 7, "nn"}, {1, 2, 7, "nn"}, {2, 1, 7, "nn"}, {2, 2, 7, "nn"}};
  EXPECT_EQ(shapes_of(map_of_products(7, 3)), four);
  EXPECT_EQ(map_of_products(7, 16384).size(), 15u * 15u);
}

TEST(suite, has_the_shapes_that_were_promised) {
  const std::vector<listed_product> products = suite_of_products();
  EXPECT_EQ(products.size(), 48u);
  const std::vector<shape> shapes = shapes_of(products);
  for (const shape& wanted :
       {shape{1, 4096, 4096, "nt"}, shape{16, 4096, 4096, "nt"}, shape{64, 4096, 4096, "nt"},
        shape{128, 4096, 4096, "nt"}, shape{1000000, 64, 64, "nn"}, shape{64, 64, 1000000, "nn"},
        shape{4096, 256, 7168, "nn"}})
    EXPECT_THAT(shapes, testing::Contains(wanted));
  const auto is = [&](shape wanted, float beta, std::int64_t count) {
    return std::ranges::any_of(products, [&](const listed_product& p) {
      return shape_of(p) == wanted && p.beta == beta && p.count == count;
    });
  };
  EXPECT_TRUE(is({7680, 7680, 128, "nn"}, 1, 1));
  EXPECT_TRUE(is({32, 32, 32, "nn"}, 0, 4096));
}

std::string complaint_about(const std::string& text) {
  try {
    parse_products(text, "'f.json'");
  } catch (const bad_input& e) {
    return e.what();
  }
  return "none";
}
TEST(read_products, tells_what_is_wrong_with_a_file) {
  const auto one = [](const std::string& members) {
    return R"({"products": [{"name": "a", "group": "g")" + members + "}]}";
  };
  const std::string good = R"(, "m": 3, "n": 4, "k": 5, "layout": "tn")";
  EXPECT_EQ(complaint_about(one(good)), "none");
  EXPECT_THAT(complaint_about("{"), HasSubstr("'f.json': not JSON"));
  EXPECT_THAT(complaint_about("[]"), HasSubstr("no products"));
  EXPECT_THAT(complaint_about(R"({"products": []})"), HasSubstr("no products"));
  EXPECT_THAT(complaint_about(R"({"products": [3]})"), HasSubstr("product 1: expected an object"));
  EXPECT_THAT(complaint_about(one("")), HasSubstr("'m' is missing: expected an integer"));
  EXPECT_THAT(complaint_about(one(R"(, "m": 0, "n": 4, "k": 5, "layout": "tn")")),
              HasSubstr("'m' is '0': expected an integer from 1"));
  EXPECT_THAT(complaint_about(one(R"(, "m": 3, "n": 4.5, "k": 5, "layout": "tn")")),
              HasSubstr("'n' is '4.5'"));
  EXPECT_THAT(complaint_about(one(R"(, "m": 3, "n": 4, "k": "5", "layout": "tn")")), HasSubstr("'k' is"));
  EXPECT_THAT(complaint_about(one(R"(, "m": 3, "n": 4, "k": 5, "layout": "NN")")),
              HasSubstr("expected nn, nt, tn or tt"));
  EXPECT_THAT(complaint_about(one(good + R"(, "beta": "1")")), HasSubstr("'beta' is"));
  EXPECT_THAT(complaint_about(one(good + R"(, "beta": 1e60)")), HasSubstr("fits FP32"));
  EXPECT_THAT(complaint_about(one(good + R"(, "count": 0)")), HasSubstr("'count' is '0'"));
  EXPECT_THAT(complaint_about(one(good + R"(, "counts": 2)")), HasSubstr("there is no member 'counts'"));
  EXPECT_THAT(complaint_about(one(R"(, "m": 2000000, "n": 2000000, "k": 5, "layout": "tn")")),
              HasSubstr("too large"));
  const std::string twice = R"({"name": "a", "group": "g", "m": 3, "n": 4, "k": 5, "layout": "tn"})";
  EXPECT_THAT(complaint_about(R"({"products": [)" + twice + "," + twice + "]}"),
              HasSubstr("product 2: there are two"));
}

// A product that took `us`; cuBLAS took `sgemm` and `lt` by its two functions.
product_outcome measured(const std::string& name, double us, double sgemm, double lt) {
  product_outcome o{.product = {.name = name, .group = "g", .size = {1000, 1000, 1000}}};
  o.chosen.bound = {.units = 100};
  o.time.median_us = us;
  o.rivals = {{.rival = {.key = "cublas_sgemm", .name = "cuBLAS"}, .error = {}, .time = {.median_us = sgemm}},
              {.rival = {.key = "cublas_lt", .name = "cublasLt"}, .error = {}, .time = {.median_us = lt}}};
  return o;
}
constexpr device_roofline roofline{
    .device = "", .fp32 = 200, .strict = 50, .terabytes = 4, .shortest_launch = 2};

TEST(records_of_products, tell_the_faster_rival_and_the_roof) {
  const json record = records_of_products({measured("a", 20, 60, 40)}, "suite", &roofline, true)[0];
  EXPECT_EQ(record["time_us"],
            (json{{"ours", 20.}, {"cublas_sgemm", 60.}, {"cublas_lt", 40.}, {"cublas_fp32", 40.}}));
  EXPECT_EQ(record["times_cublas"], 2);
  EXPECT_EQ(record["tflops"], 100);
  EXPECT_EQ(record["roof"]["us"], 10) << "2e9 operations";
  EXPECT_EQ(record["roof"]["by"], "arithmetic");
  EXPECT_EQ(record["roof"]["share"], .5);
  EXPECT_EQ(record["roof"]["cublas_share"], .25);
}
TEST(rivals_of_products, are_told_once) {
  product_outcome first = measured("a", 1, 1, 1), second = measured("b", 1, 1, 1);
  first.rivals[0].rival.version = "13";
  first.rivals.pop_back();
  EXPECT_EQ(rivals_of_products({first, first}), (json{{"cublas_sgemm", {{"version", "13"}, {"mode", ""}}}}));
  EXPECT_EQ(rivals_of_products({first, second}).size(), 2u);
  EXPECT_EQ(rivals_of_products({}), json::object());
}
TEST(records_of_products, know_what_beta_and_a_batch_cost) {
  product_outcome o = measured("a", 20, 60, 40);
  o.product.size = {1000, 1000, 4};  // 4 MB of C, 32 kB of A and B
  EXPECT_NEAR((records_of_products({o}, "", &roofline, true)[0]["roof"]["us"]), 2, 1e-9)
      << "1.008 us of memory are less than a launch";
  o.product.count = 10;
  EXPECT_NEAR((records_of_products({o}, "", &roofline, true)[0]["roof"]["us"]), 10.08, 1e-9);
  o.product.beta = 1;
  EXPECT_NEAR((records_of_products({o}, "", &roofline, true)[0]["roof"]["us"]), 20.08, 1e-9);
  EXPECT_NEAR((records_of_products({o}, "", &roofline, true)[0]["tflops"]), 4, 1e-9);
}
TEST(summary_of_products, are_geometric_means_and_the_slowest) {
  const std::vector<product_outcome> all{measured("a", 10, 40, 50), measured("b", 10, 10, 10),
                                         measured("c", 10, 5, 20),  measured("d", 20, 40, 40),
                                         measured("e", 10, 40, 40), measured("f", 10, 40, 40),
                                         measured("g", 10, 160, 80)};
  const json summary = summary_of_products(all, &roofline);
  EXPECT_NEAR((summary["all"]["times_cublas"]), std::pow(4 * 1 * .5 * 2 * 4 * 4 * 8, 1. / 7), 1e-9);
  EXPECT_NEAR((summary["all"]["slower"]), 1. / 7, 1e-12);
  EXPECT_EQ(summary["worst"].size(), 5u);
  EXPECT_EQ(summary["worst"][0]["name"], "c");
  EXPECT_EQ(summary["worst"][1]["name"], "b");
  EXPECT_EQ(summary["groups"]["g"], summary["all"]);
}
TEST(summary_of_products, says_nothing_of_what_is_not_known) {
  product_outcome alone = measured("a", 10, 0, 0);
  alone.rivals.clear();
  const json summary = summary_of_products({alone}, nullptr);
  EXPECT_EQ(summary["all"], (json{{"products", 1}}));
  EXPECT_EQ(summary["worst"], json::array());
  EXPECT_THAT(text_of_products({alone}, nullptr, true), HasSubstr("all"));
}

TEST(require_verified, names_the_wrong_ones) {
  std::vector<product_outcome> all{measured("right", 1, 1, 1), measured("wrong", 1, 1, 1),
                                   measured("not finite", 1, 1, 1)};
  all[0].error.component = 100;
  EXPECT_NO_THROW(require_verified({all[0]}));
  all[1].error.component = 101;
  all[2].error.finite = false;
  try {
    require_verified(all);
    FAIL();
  } catch (const verification_failed& e) {
    EXPECT_THAT(e.what(), testing::AllOf(HasSubstr("wrong: 1000^3 nn"), HasSubstr("not finite"),
                                         testing::Not(HasSubstr("right"))));
  }
  EXPECT_THAT(text_of_products(all, &roofline, true), testing::AllOf(HasSubstr("yes"), HasSubstr("NO")));
}

// The two results of a --serving product are both checked, each by its own bound, and the price is the ratio
// of their times.
TEST(require_verified, looks_at_invariant_results_too) {
  std::vector<product_outcome> all{measured("served", 10, 40, 40)};
  all[0].invariant.emplace();
  all[0].invariant->time.median_us = 25;
  all[0].invariant->chosen.bound.units = 3;
  all[0].invariant->error.component = 3;
  EXPECT_NO_THROW(require_verified(all));
  EXPECT_THAT(text_of_products(all, &roofline, true),
              testing::AllOf(HasSubstr("price"), HasSubstr("25.0  x2.50"), HasSubstr("yes")));
  const json record = records_of_products(all, "serving", &roofline, true)[0];
  EXPECT_EQ(record["time_us"]["ours_batch_invariant"], 25);
  EXPECT_EQ(record["batch_invariant"]["price"], 2.5);
  all[0].invariant->error.component = 4;
  EXPECT_THROW(require_verified(all), verification_failed);
  EXPECT_EQ(records_of_products(all, "serving", &roofline, true)[0]["verified"], false);
}

}  // namespace
}  // namespace antiphase::tool
