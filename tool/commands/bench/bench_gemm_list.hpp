// SPDX-License-Identifier: Apache-2.0
// bench gemm --random, --suite, --map: many products, each quickly, beside the best of cuBLAS and the roof.
#pragma once
#include <string>
#include <vector>

#include "tool/commands/bench/bench.hpp"
#include "tool/measure/product_list.hpp"

namespace antiphase::tool {

struct product_list_request {
  bench_options how;
  std::string set;  // what the list is called: suite, random 1, map 256
  std::vector<listed_product> products;
  std::string policy = "auto";
  bool beside_cublas = true;
};

// Measures them, and prints the result. Throws verification_failed if a product is wrong.
void bench_products(const product_list_request& r);

}  // namespace antiphase::tool
