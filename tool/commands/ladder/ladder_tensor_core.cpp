// SPDX-License-Identifier: Apache-2.0
// The steps of the GEMM ladder on Tensor Cores: f16 operands, FP32 sums.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <limits>

#include "tool/commands/ladder/ladder_gemm_rows.hpp"

namespace antiphase::tool {
namespace {

// Random values representable in f16: contiguous as floats, and as f16 in rows aligned to 16 bytes.
struct rounded {
  std::int64_t rows, columns, stride = ceil_div<std::int64_t>(std::max<std::int64_t>(columns, 1), 8) * 8;
  std::vector<float> as_floats;
  device_array<f16> as_halves;

  rounded(const context& where, std::int64_t m, std::int64_t n, std::uint64_t seed)
      : rows(m),
        columns(n),
        as_floats(random_values(static_cast<std::size_t>(m * n), seed)),
        as_halves(where, static_cast<std::size_t>(m * stride)) {
    std::vector<f16> padded(as_halves.size());
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float& value = as_floats[static_cast<std::size_t>(i * n + j)];
        const f16 half = to_f16(value);
        padded[static_cast<std::size_t>(i * stride + j)] = half;
        value = to_float(half);
      }
    as_halves.copy_from(padded);
  }
  matrix_view<const f16> view() const { return row_major(as_halves.data(), rows, columns, stride); }
};

struct half_bench {
  extents size;
  rounded a, b;
  product_check check;
  device_array<float> c;

  half_bench(const context& where, const extents& e)
      : size(e),
        a(where, e.m, e.k, 1),
        b(where, e.k, e.n, 2),
        check(a.as_floats, b.as_floats, e.m, e.n, e.k, arithmetic::tensor_cores),
        c(where, static_cast<std::size_t>(e.m * e.n)) {}
  gemms::tensor_core_problem problem() { return {a.view(), b.view(), row_major(c.data(), size.m, size.n)}; }
  void forget_result() { c.copy_from(std::vector<float>(c.size(), std::numeric_limits<float>::quiet_NaN())); }
};

// Bytes loaded: A once per column of tiles, B once per row of tiles.
std::int64_t bytes_moved(const gemms::tensor_core_step& s, const extents& e) {
  const std::int64_t halves =
      ceil_div<std::int64_t>(e.n, s.tile.n) * e.m * e.k + ceil_div<std::int64_t>(e.m, s.tile.m) * e.k * e.n;
  return halves * static_cast<std::int64_t>(sizeof(f16));
}

counted_step counts_of(const gemms::tensor_core_step& s, const extents& e) {
  const extents few = few_of(e);
  return {.asked = count_requests([&](const context& on) {
            half_bench data(on, few);
            gemms::run(on.runs_on(), gemms::prepare(on.runs_on(), s, data.problem()), nullptr);
          }),
          .operations = operations(few)};
}

}  // namespace

void run_halves(const context& where, const extents& e,
                const std::vector<const gemms::tensor_core_step*>& steps, const ladder_options& options,
                gemm_results& results, const std::function<void()>& progress) {
  half_bench data(where, e);
  std::vector<work> works;
  for (const gemms::tensor_core_step* s : steps) {
    say_progress(options.common, fmt::format("running {}", s->name));
    gemm_row row;
    row.step = s->name;
    row.adds = s->adds;
    row.bytes_moved = bytes_moved(*s, e);
    row.takes = gemms::predict(profile_of(where.limits()), *s, {.m = e.m, .n = e.n, .k = e.k});
    if (const auto why = gemms::refuses(where.runs_on(), *s)) {
      row.refused = *why;
    } else {
      const gemms::tensor_core_plan plan = gemms::prepare(where.runs_on(), *s, data.problem());
      data.forget_result();
      row.usage = where.runs_on().usage(plan.code);
      row.counts = gemms::run(where.runs_on(), plan, nullptr);
      where.runs_on().synchronize(nullptr);
      row.result = data.check(data.c.to_host());
      if (options.counts) row.counted = counts_of(*s, e);
      works.push_back([where, plan](stream on) { gemms::run(where.runs_on(), plan, on); });
    }
    results.rows.push_back(std::move(row));
    progress();
  }
  if (!is_timed(where, e)) return;

  timed_works all;
  auto next = works.begin();
  for (gemm_row& row : results.rows)
    if (row.refused.empty()) all.add(*next++, row.time, &row);
  results.cublas.rival = cublas_product(data.problem());
  if (results.cublas.rival) {
    data.forget_result();
    where.runs_on().milliseconds(results.cublas.rival.run, nullptr);
    results.cublas.result = data.check(data.c.to_host());
    all.add(results.cublas.rival.run, results.cublas.time);
  } else {
    say(options.common, fmt::format("cuBLAS is not compared with: {}", results.cublas.rival.why_not));
  }
  say_progress(options.common, "taking times");
  all.measure(where, {.kind = parse_protocol(options.protocol)}, progress);
}

}  // namespace antiphase::tool
