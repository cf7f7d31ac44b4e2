// SPDX-License-Identifier: Apache-2.0
// bench gemm --random, --suite, --map: many products, each measured briefly, next to the best of cuBLAS and
// the roofline.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tool/commands/bench/bench.hpp"
#include "tool/measure/products/product_list.hpp"

namespace antiphase::tool {

struct product_list_options {
  std::vector<std::int64_t> random;  // seed, count
  std::optional<std::string> suite;  // a file; empty: the suite that is compiled in
  std::optional<std::int64_t> map;   // K
  bool serving = false;
  std::int64_t largest = 0;  // extent of --random, --map and --serving; 0: the default
};
void add_list_options(arguments command, product_list_options& options);

// Whether products are also computed with reproducibility::batch_invariant, to measure its cost.
enum class batch_invariance { left_out, measured };

struct product_list {
  std::string option;  // the option that requests the list
  std::string set;     // name of the list: suite, random 1, map 256
  std::vector<listed_product> products;
  batch_invariance invariance = batch_invariance::left_out;
};
// The requested list, if any. Throws bad_request, or bad_input for a file.
std::optional<product_list> list_of(const product_list_options& options);

struct product_list_request {
  bench_options options;
  product_list list;
  std::string policy = "auto";
  bool beside_cublas = true;
};
// Measures the products and prints the result. Throws verification_failed if a product is wrong.
void bench_products(const product_list_request& r);

}  // namespace antiphase::tool
