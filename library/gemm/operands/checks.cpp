// SPDX-License-Identifier: Apache-2.0
#include "library/gemm/operands/checks.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace antiphase::gemms {

namespace {

// A matrix of a request as members of its batch. Only for batches by strides: the addresses in arrays of
// pointers are on the device, unknown to the host.
template <class T>
named_view of_batch(std::string_view name, const matrix_view<T>& v, const batch& of, std::int64_t stride) {
  named_view all = named(name, v);
  all.members = of.count, all.member_stride = stride;
  return all;
}
named_view vector_of(std::string_view name, const float* first, std::int64_t length, const batch& of,
                     std::int64_t stride) {
  return of_batch(name, matrix_view<const float>{first, 1, length, 0, 1}, of, stride);
}
// All matrices and vectors of a request.
struct views {
  // empty: neither read nor written
  std::optional<named_view> a, b, c, residual, input, before, row_bias, column_bias;
  auto read() const { return std::array{a, b, residual, input, row_bias, column_bias}; }
};
views views_of(const problem& p, const batch& of, const epilogue& e) {
  views all;
  if (p.m() == 0 || p.n() == 0 || of.count == 0) return all;
  if (!of.by_pointers()) {
    if (reads(p)) all.a = of_batch("A", p.a, of, of.a_stride), all.b = of_batch("B", p.b, of, of.b_stride);
    all.c = of_batch("C", p.c, of, of.c_stride);
  }
  if (e.residual.data != nullptr && p.beta != 0)
    all.residual = of_batch("the residual", e.residual, of, e.residual_stride);
  if (is_gradient(e.function)) all.input = of_batch("the gradient's input", e.input, of, e.input_stride);
  if (e.before.data != nullptr)
    all.before = of_batch("the values before the activation", e.before, of, e.before_stride);
  if (e.row_bias != nullptr)
    all.row_bias = vector_of("the bias of rows", e.row_bias, p.m(), of, e.row_bias_stride);
  if (e.column_bias != nullptr)
    all.column_bias = vector_of("the bias of columns", e.column_bias, p.n(), of, e.column_bias_stride);
  return all;
}

void require_batch(const problem& p, const batch& of) {
  if (of.count < 0) throw bad_request(fmt::format("the batch has {} members: expected 0 or more", of.count));
  if (!of.by_pointers()) {
    for (const auto& [name, stride] : {std::pair{"A", of.a_stride}, {"B", of.b_stride}, {"C", of.c_stride}})
      if (stride > most_bytes || stride < -most_bytes)
        throw bad_request(
            fmt::format("members of {} lie {} elements apart: expected less than 2^52", name, stride));
    return;
  }
  if (of.a_stride != 0 || of.b_stride != 0 || of.c_stride != 0)
    throw bad_request("the batch has arrays of pointers and strides: expected one of them");
  const auto require_array = [&](const char* name, const void* array, bool read) {
    if (!read || of.count == 0) return;
    if (array == nullptr)
      throw bad_request(
          fmt::format("the batch has no array of pointers to {}: expected {} pointers", name, of.count));
    if (const auto address = reinterpret_cast<std::uintptr_t>(array); address % alignof(void*) != 0)
      throw bad_request(
          fmt::format("the array of pointers to {} is at address {:#x}: expected a multiple of {}", name,
                      address, alignof(void*)));
  };
  require_array("A", of.a, reads(p) && p.k() > 0);
  require_array("B", of.b, reads(p) && p.k() > 0);
  require_array("C", of.c, p.m() > 0 && p.n() > 0);
}

void require_epilogue(const problem& p, const epilogue& e) {
  if (e.function > activation::gelu_tanh_gradient)
    throw bad_request(fmt::format("the activation is {}: expected a value of gemms::activation",
                                  static_cast<int>(e.function)));
  if (is_gradient(e.function) && e.input.data == nullptr)
    throw bad_request(
        "the activation is a gradient, and the epilogue's input has no address: expected what the activation "
        "was applied to");
  const auto require_same_extents = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    if (rows != p.m() || columns != p.n())
      throw bad_request(
          fmt::format("{} is {} x {}, C is {} x {}: they must agree", name, rows, columns, p.m(), p.n()));
  };
  if (e.residual.data != nullptr) require_same_extents("the residual", e.residual.rows, e.residual.columns);
  if (e.input.data != nullptr) require_same_extents("the gradient's input", e.input.rows, e.input.columns);
  if (e.before.data != nullptr)
    require_same_extents("the view of values before the activation", e.before.rows, e.before.columns);
}

}  // namespace

void require_sensible(const problem& p, const batch& of, const epilogue& after) {
  for (const named_view& v : {named("A", p.a), named("B", p.b), named("C", p.c)}) require_extents(v);
  require_batch(p, of);
  if (p.a.rows != p.c.rows)
    throw bad_request(fmt::format("A has {} rows, C has {}: they must agree", p.a.rows, p.c.rows));
  if (p.b.columns != p.c.columns)
    throw bad_request(fmt::format("B has {} columns, C has {}: they must agree", p.b.columns, p.c.columns));
  if (p.a.columns != p.b.rows)
    throw bad_request(fmt::format("A has {} columns, B has {} rows: they must agree", p.a.columns, p.b.rows));
  require_epilogue(p, after);
  const views all = views_of(p, of, after);
  for (const auto& v : all.read())
    if (v) require_memory(*v);
  if (all.c) require_memory(*all.c);
  if (all.before) require_memory(*all.before);
  constexpr std::int64_t limit = std::numeric_limits<int>::max() - 1024;
  if (p.k() > limit) throw not_supported(fmt::format("K = {}: a product takes at most {}", p.k(), limit));
  if (all.c) require_distinct(*all.c);
  if (all.before) require_distinct(*all.before);
  for (const auto& v : {all.a, all.b})
    if (all.c && v) require_another_start(*all.c, *v);
}

bool reads(const problem& p) { return p.alpha != 0 && p.m() > 0 && p.n() > 0; }

void require_own_memory(const problem& p, const batch& of, const epilogue& after) {
  const views all = views_of(p, of, after);
  const auto is_c = [&](const named_view& v) { return all.c && same_places(v, *all.c); };
  for (const auto& v : all.read()) {
    if (!v) continue;
    // An element of C depends on the same element of these alone, so they may be C itself.
    const bool by_element = v->name == "the residual" || v->name == "the gradient's input";
    if (all.c && !(by_element && is_c(*v))) require_apart(*all.c, *v);
    if (all.before) require_apart(*all.before, *v);
  }
  if (all.before && all.c) require_apart(*all.before, *all.c);
}
void require_own_memory(const problem& p, const batch& of, const epilogue& after, const named_view& v) {
  const views all = views_of(p, of, after);
  for (const auto& other :
       {all.c, all.before, all.a, all.b, all.residual, all.input, all.row_bias, all.column_bias})
    if (other) require_apart(v, *other);
}

bool is_c(const matrix_view<const float>& v, std::int64_t member_stride, const problem& p, const batch& of) {
  return v.data != nullptr && !of.by_pointers() &&
         same_places(of_batch("", v, of, member_stride), of_batch("C", p.c, of, of.c_stride));
}

problem without_idle_strides(const problem& p) {
  problem q = p;
  q.a = without_idle_strides(p.a);
  q.b = without_idle_strides(p.b);
  q.c = without_idle_strides(p.c);
  if (!reads(p)) q.a.row_stride = q.a.column_stride = q.b.row_stride = q.b.column_stride = 0;
  return q;
}

problem with_rows_together(const problem& p) {
  if (p.c.column_stride == 1 || p.c.row_stride != 1) return p;
  return {transposed(p.b), transposed(p.a), transposed(p.c), p.alpha, p.beta};
}

}  // namespace antiphase::gemms
