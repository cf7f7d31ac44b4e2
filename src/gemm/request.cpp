// SPDX-License-Identifier: Apache-2.0
#include "src/gemm/request.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <cstdint>
#include <limits>

namespace antiphase::gemms {

void require_sensible(const problem& p) {
  const judged_view a = judged("A", p.a), b = judged("B", p.b), c = judged("C", p.c);
  for (const judged_view& v : {a, b, c}) require_extents(v);
  const bool reads_operands = reads(p);
  for (const judged_view& v : {a, b})
    if (reads_operands) require_memory(v);
  require_memory(c);
  if (p.a.rows != p.c.rows) throw bad_request(fmt::format("A has {} rows, C has {}: they must agree", p.a.rows, p.c.rows));
  if (p.b.columns != p.c.columns) throw bad_request(fmt::format("B has {} columns, C has {}: they must agree", p.b.columns, p.c.columns));
  if (p.a.columns != p.b.rows) throw bad_request(fmt::format("A has {} columns, B has {} rows: they must agree", p.a.columns, p.b.rows));
  constexpr std::int64_t limit = std::numeric_limits<int>::max() - 1024;
  if (p.k() > limit) throw not_supported(fmt::format("K = {}: the ladder's kernels take at most {}", p.k(), limit));
  require_distinct(c);
  for (const judged_view& v : {a, b})
    if (reads_operands) require_another_start(c, v);
}

bool reads(const problem& p) { return p.alpha != 0 && p.m() > 0 && p.n() > 0; }

namespace {
void require_apart_from_operands(const problem& p, const judged_view& v) {
  if (!reads(p)) return;
  require_apart(v, judged("A", p.a));
  require_apart(v, judged("B", p.b));
}
}  // namespace

void require_own_memory(const problem& p) { require_apart_from_operands(p, judged("C", p.c)); }
void require_own_memory(const problem& p, const judged_view& v) {
  require_apart(v, judged("C", p.c));
  require_apart_from_operands(p, v);
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
