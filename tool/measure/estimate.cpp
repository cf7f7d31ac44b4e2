// SPDX-License-Identifier: Apache-2.0
// How long the CPU executor will need: a small piece of the work, by the same kernel, tells.
#include "tool/measure/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <vector>

#include "tool/program/console.hpp"

namespace antiphase::tool {
namespace {

constexpr double worth_a_word = 10;   // seconds
constexpr double surely_quick = 1e9;  // multiply-adds; the slowest step needs 6 s for them on two old cores
constexpr std::int64_t probe_extent = 256;
constexpr double surely_quick_threads = 5e5;  // of a scan's tiles; fibers of its kernels take a few microseconds each
constexpr std::int64_t probe_threads = 1 << 15;

// Multiply-adds that a kernel does for a product, those of tiles' edges included.
double work(const gemm_choice& chosen, std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto rounded = [](std::int64_t extent, std::int64_t tile) { return static_cast<double>(ceil_div(extent, tile) * tile); };
  return rounded(m, chosen.tile.m) * rounded(n, chosen.tile.n) * rounded(k, chosen.tile_k);
}

void say_if_slow(const common_options& options, std::string_view kernel, double seconds, std::string_view faster) {
  if (seconds < worth_a_word) return;
  const std::string time = seconds < 120 ? fmt::format("{:.0f} seconds", seconds) : fmt::format("{:.0f} minutes", seconds / 60);
  say(options, fmt::format("{} will take about {} on the CPU executor{}", kernel, time, faster));
}

// A piece of a scan: of few lines the first elements, of many short lines the first lines.
scans::problem piece_of(const scans::problem& p, const scan_choice& chosen) {
  const std::int64_t elements = std::max<std::int64_t>(2, probe_threads / chosen.threads) * chosen.tile;
  scans::problem piece = p;
  piece.length = std::min(p.length, elements);
  const bool by_the_line = p.length < chosen.tile && p.inner * p.outer > 1 && chosen.tiles >= p.outer * p.inner;  // a tile for each
  const std::int64_t lines = std::max<std::int64_t>(1, elements / (by_the_line ? chosen.tile : piece.length));
  piece.inner = std::min(p.inner, lines);
  piece.outer = std::min(p.outer, std::max<std::int64_t>(1, lines / piece.inner));
  return piece;
}

}  // namespace

namespace {

// The seconds that a choice takes on the CPU executor; 0 if it cannot be long.
double seconds_of(const gemm_choice& chosen, const context& where, const gemm_problem& p, const gemm_options& how) {
  const double whole = work(chosen, p.m(), p.n(), p.alpha == 0 ? 0 : p.k());
  if (whole < surely_quick) return 0;
  const std::int64_t m = std::min(p.m(), probe_extent), n = std::min(p.n(), probe_extent), k = std::min(p.k(), probe_extent);
  const std::vector<float> operand(static_cast<std::size_t>(probe_extent * probe_extent), 0.5f);
  const device_array<float> a(where, operand), b(where, operand);
  device_array<float> c(where, operand);
  const gemm_problem probe{.a = row_major(a.data(), m, k), .b = row_major(b.data(), k, n), .c = row_major(c.data(), m, n)};
  gemm_choice probed;
  const double milliseconds = where.runs_on().milliseconds(
      [&](stream on) { gemm(where, probe, {.accuracy = how.accuracy, .policy = how.policy, .on = on, .ran = &probed}); }, nullptr);
  return milliseconds / 1000 * whole / work(probed, m, n, k);
}

}  // namespace

double estimated_seconds(const context& where, const gemm_problem& p, const gemm_options& how) {
  return where.kind() != target::cpu ? 0 : seconds_of(explain(where, p, how), where, p, how);
}

void warn_if_slow(const common_options& options, const context& where, const gemm_problem& p, const gemm_options& how, reference also) {
  if (where.kind() != target::cpu) return;
  const gemm_choice chosen = explain(where, p, how);
  say_if_slow(options, chosen.kernel, seconds_of(chosen, where, p, how),
              also == reference::offered ? "; --on reference (OpenBLAS) takes a fraction of that" : "");
}

double estimated_seconds(const context& where, const scans::problem& p, const scans::scan_keys* keys, const scan_options& how) {
  if (where.kind() != target::cpu) return 0;
  const auto explained = [&](const scans::problem& of, const scan_options& by) {
    return keys != nullptr ? explain(where, of, *keys, by) : explain(where, of, by);
  };
  const scan_choice chosen = explained(p, how);
  if (static_cast<double>(chosen.tiles) * chosen.threads < surely_quick_threads) return 0;
  scans::problem probe = piece_of(p, chosen);
  const auto count = static_cast<std::size_t>(probe.outer * probe.length * probe.inner);
  const auto zeros = [&](element type) { return device_array<std::byte>(where, std::vector<std::byte>(count * size_of(type))); };
  device_array<std::byte> in = zeros(p.type), out = zeros(p.accumulate.value_or(p.type));
  probe.in = in.data();
  probe.out = out.data();
  const scan_options by{.policy = chosen.kernel};
  const double share = static_cast<double>(explained(probe, by).tiles) / static_cast<double>(chosen.tiles);
  double milliseconds = 0;
  for (int turn = 0; turn < 2; ++turn)  // the first makes the fibers
    milliseconds = where.runs_on().milliseconds(
        [&](stream) { keys != nullptr ? scan_by_key(where, probe, *keys, by) : scan(where, probe, by); }, nullptr);
  return milliseconds / 1000 / share;
}

void warn_if_slow(const common_options& options, const context& where, const scans::problem& p, const scans::scan_keys* keys,
                  const scan_options& how) {
  const double seconds = estimated_seconds(where, p, keys, how);
  if (seconds < worth_a_word) return;
  const std::string kernel = keys != nullptr ? explain(where, p, *keys, how).kernel : explain(where, p, how).kernel;
  say_if_slow(options, kernel, seconds, "; --on reference (plain loops) takes a fraction of that");
}

}  // namespace antiphase::tool
