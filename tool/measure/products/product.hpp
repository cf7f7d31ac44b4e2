// SPDX-License-Identifier: Apache-2.0
// Texts and JSON about matrix products, shared by several subcommands.
#pragma once
#include <antiphase/gemm.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "tool/program/text/console.hpp"

namespace antiphase::tool {

struct extents {
  std::int64_t m, n, k;
};
double tflops(const extents& e, double us);
json to_json(const extents& e);
std::string shape_text(const extents& e);  // 4096^3, 4095 x 4097 x 1003

// Contiguous A and B in one of the layouts nn, nt, tn, tt; n is row-major, t transposed.
inline bool a_by_rows(std::string_view layout) { return layout[0] == 'n'; }
inline bool b_by_rows(std::string_view layout) { return layout[1] == 'n'; }
template <class T> matrix_view<T> view_of_a(T* at, const extents& e, std::string_view layout) {
  return a_by_rows(layout) ? row_major(at, e.m, e.k) : column_major(at, e.m, e.k);
}
template <class T> matrix_view<T> view_of_b(T* at, const extents& e, std::string_view layout) {
  return b_by_rows(layout) ? row_major(at, e.k, e.n) : column_major(at, e.k, e.n);
}

// Throws bad_request if a matrix has implausibly many elements.
void require_sensible(const extents& e);

std::string_view name(precision p);
precision parse_precision(std::string_view text);  // throws bad_request

weaker_bound parse_weaker_bound(std::string_view text);  // value of --if-weaker; throws bad_request

json to_json(const gemm_choice& chosen);
json bound_json(const gemm_choice& chosen);          // bound, asked_bound, bound_kept
std::string choice_text(const gemm_choice& chosen);  // one line, without reasons
std::string predicted_text(const gemm_choice& chosen);
// The bound that holds and, if different, the one that the precision asks for.
std::string bound_text(const gemm_choice& chosen, precision asked);

}  // namespace antiphase::tool
