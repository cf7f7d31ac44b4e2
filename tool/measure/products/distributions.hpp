// SPDX-License-Identifier: Apache-2.0
// Named distributions of operands, from the usual ones to those that are hard for splitting schemes.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace antiphase::tool {

// Position of an element: a line is a row of A or a column of B, k the other index.
struct element_place {
  std::uint64_t seed;  // differs between A and B
  std::int64_t line, k;
  std::int64_t lines, depth;  // number of lines, and their length
};

struct distribution {
  const char* name;
  const char* description;
  double (*a)(const element_place&);
  double (*b)(const element_place&);
};

std::span<const distribution> distributions();
const distribution& find_distribution(std::string_view name);  // throws bad_request

// Elements of A, M x K, or of B, K x N, stored by rows or by columns. Their values depend only on their place
// in the matrix.
std::vector<float> left_operand(const distribution& d, std::int64_t m, std::int64_t k, bool by_rows);
std::vector<float> right_operand(const distribution& d, std::int64_t k, std::int64_t n, bool by_rows);

}  // namespace antiphase::tool
