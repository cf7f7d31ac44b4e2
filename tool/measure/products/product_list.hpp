// SPDX-License-Identifier: Apache-2.0
// Lists of products to measure: random, from a file, or a map of sizes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tool/measure/products/product.hpp"

namespace antiphase::tool {

// One product, or a batch of `count` equal ones, contiguous in memory.
struct listed_product {
  std::string name, group;
  extents size;
  std::string layout = "nn";
  float beta = 0;  // C = A B + beta C
  std::int64_t count = 1;

  std::int64_t of_a() const { return count * size.m * size.k; }  // elements of the whole batch
  std::int64_t of_b() const { return count * size.k * size.n; }
  std::int64_t of_c() const { return count * size.m * size.n; }
};

// Reproducible: equal arguments give equal products on every platform. Extents are log-uniform in
// 1...largest; of those above 3, 30 % are made odd, the others a multiple of 4. A product whose matrices
// exceed 2 GiB is drawn again.
std::vector<listed_product> random_products(std::uint64_t seed, std::int64_t count, std::int64_t largest);
// M x N for all powers of two up to `largest`, row-major.
std::vector<listed_product> map_of_products(std::int64_t k, std::int64_t largest);
// Tokens times the weights of a layer, 4096 and 14336 wide: 1 to 512 tokens. No extent exceeds `largest`.
std::vector<listed_product> products_of_serving(std::int64_t largest);
// The products of bench/suite.json, which is compiled in.
std::vector<listed_product> suite_of_products();
// Products of a file in the format of suite.json. Throws bad_input with the file's name and what was
// expected.
std::vector<listed_product> read_products(const std::string& path);
// Products of such a file's text. Throws bad_input; `from` is its name in messages.
std::vector<listed_product> parse_products(const std::string& text, const std::string& from);

}  // namespace antiphase::tool
