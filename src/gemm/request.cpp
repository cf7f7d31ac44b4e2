#include "request.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <cstdint>
#include <limits>

namespace antiphase::mm {
namespace {

template <class T> void require_matrix(const char* name, const matrix_view<T>& v, bool must_have_data) {
  if (v.rows < 0 || v.columns < 0) throw bad_request(fmt::format("{} is {} x {}: extents must not be negative", name, v.rows, v.columns));
  if (must_have_data && v.rows > 0 && v.columns > 0 && v.data == nullptr)
    throw bad_request(fmt::format("{} is a null pointer: expected {} x {} elements", name, v.rows, v.columns));
}

}  // namespace

void require_sensible(const problem& p) {
  const bool reads_operands = p.alpha != 0 && p.m() > 0 && p.n() > 0;
  require_matrix("A", p.a, reads_operands);
  require_matrix("B", p.b, reads_operands);
  require_matrix("C", p.c, true);
  if (p.a.rows != p.c.rows) throw bad_request(fmt::format("A has {} rows, C has {}: they must agree", p.a.rows, p.c.rows));
  if (p.b.columns != p.c.columns) throw bad_request(fmt::format("B has {} columns, C has {}: they must agree", p.b.columns, p.c.columns));
  if (p.a.columns != p.b.rows) throw bad_request(fmt::format("A has {} columns, B has {} rows: they must agree", p.a.columns, p.b.rows));
  constexpr std::int64_t limit = std::numeric_limits<int>::max() - 1024;
  if (p.k() > limit) throw not_supported(fmt::format("K = {}: the ladder's kernels take at most {}", p.k(), limit));
  const bool row_major = p.c.column_stride >= 1 && (p.m() <= 1 || p.c.row_stride >= (p.n() - 1) * p.c.column_stride + 1);
  const bool column_major = p.c.row_stride >= 1 && (p.n() <= 1 || p.c.column_stride >= (p.m() - 1) * p.c.row_stride + 1);
  if (p.m() > 0 && p.n() > 0 && !row_major && !column_major)
    throw bad_request(
        fmt::format("C is {} x {} with strides {} and {}: its elements would overlap", p.m(), p.n(), p.c.row_stride, p.c.column_stride));
  if (p.c.data != nullptr && reads_operands && p.m() > 0 && p.n() > 0 && p.k() > 0 && (p.c.data == p.a.data || p.c.data == p.b.data))
    throw bad_request(fmt::format("C has the same address as {}: they must not overlap", p.c.data == p.a.data ? "A" : "B"));
}

problem with_rows_together(const problem& p) {
  if (p.c.column_stride == 1 || p.c.row_stride != 1) return p;
  return {transposed(p.b), transposed(p.a), transposed(p.c), p.alpha, p.beta};
}

}  // namespace antiphase::mm
