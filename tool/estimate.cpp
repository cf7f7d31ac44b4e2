// How long the CPU executor will need for a matrix product.
#include "tool/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <vector>

#include "tool/console.hpp"

namespace antiphase::tool {
namespace {

constexpr double worth_a_word = 10;   // seconds
constexpr double surely_quick = 1e9;  // multiply-adds; the slowest step needs 6 s for them on two old cores
constexpr std::int64_t probe_extent = 256;

// Multiply-adds that a kernel does for a product, those of tiles' edges included.
double work(const gemm_choice& chosen, std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto rounded = [](std::int64_t extent, std::int64_t tile) { return static_cast<double>(ceil_div(extent, tile) * tile); };
  return rounded(m, chosen.tile.m) * rounded(n, chosen.tile.n) * rounded(k, chosen.tile_k);
}

}  // namespace

double estimated_seconds(const context& where, const mm::problem& p, const gemm_options& how) {
  if (where.kind() != target::cpu) return 0;
  const gemm_choice chosen = explain(where, p, how);
  const double whole = work(chosen, p.m(), p.n(), p.alpha == 0 ? 0 : p.k());
  if (whole < surely_quick) return 0;
  const std::int64_t m = std::min(p.m(), probe_extent), n = std::min(p.n(), probe_extent), k = std::min(p.k(), probe_extent);
  const std::vector<float> operand(static_cast<std::size_t>(probe_extent * probe_extent), 0.5f);
  const device_array<float> a(where, operand), b(where, operand);
  device_array<float> c(where, operand);
  const mm::problem probe{.a = row_major(a.data(), m, k), .b = row_major(b.data(), k, n), .c = row_major(c.data(), m, n)};
  const double milliseconds = where.runs_on().milliseconds(
      [&](stream on) { gemm(where, probe, {.accuracy = how.accuracy, .policy = how.policy, .on = on}); }, nullptr);
  return milliseconds / 1000 * whole / work(explain(where, probe, how), m, n, k);
}

void warn_if_slow(const common_options& options, const context& where, const mm::problem& p, const gemm_options& how, reference also) {
  const double seconds = estimated_seconds(where, p, how);
  if (seconds < worth_a_word) return;
  const std::string time = seconds < 120 ? fmt::format("{:.0f} seconds", seconds) : fmt::format("{:.0f} minutes", seconds / 60);
  say(options, fmt::format("{} will take about {} on the CPU executor{}", explain(where, p, how).kernel, time,
                           also == reference::offered ? "; --on reference (OpenBLAS) takes a fraction of that" : ""));
}

}  // namespace antiphase::tool
