// SPDX-License-Identifier: Apache-2.0
// Expected duration on the CPU executor, extrapolated from a small piece of the work by the same kernel.
#include "tool/measure/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <vector>

#include "tool/program/text/console.hpp"

namespace antiphase::tool {
namespace {

constexpr double worth_a_word = 10;   // seconds
constexpr double surely_quick = 1e9;  // multiply-adds; the slowest step takes 6 s for them on two old cores
constexpr std::int64_t probe_extent = 256;
// threads of all tiles of a scan; each fiber of its kernels takes a few microseconds
constexpr double surely_quick_threads = 5e5;
constexpr std::int64_t probe_threads = 1 << 15;

// Multiply-adds of a kernel for a product, including the padding of edge tiles.
double work(const gemm_choice& chosen, std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto rounded = [](std::int64_t extent, std::int64_t tile) {
    return static_cast<double>(ceil_div(extent, tile) * tile);
  };
  return rounded(m, chosen.tile.m) * rounded(n, chosen.tile.n) * rounded(k, chosen.tile_k);
}

// A piece of a scan: the first elements of a few long lines, or the first of many short lines.
scans::problem piece_of(const scans::problem& p, const scan_choice& chosen) {
  const std::int64_t elements = std::max<std::int64_t>(2, probe_threads / chosen.threads) * chosen.tile;
  scans::problem piece = p;
  piece.length = std::min(p.length, elements);
  // one tile per line
  const bool by_the_line =
      p.length < chosen.tile && p.inner * p.outer > 1 && chosen.tiles >= p.outer * p.inner;
  const std::int64_t lines = std::max<std::int64_t>(1, elements / (by_the_line ? chosen.tile : piece.length));
  piece.inner = std::min(p.inner, lines);
  piece.outer = std::min(p.outer, std::max<std::int64_t>(1, lines / piece.inner));
  return piece;
}

}  // namespace

expected_time estimate(const context& where, const gemm_problem& p, const gemm_options& how) {
  if (where.kind() != target::cpu) return {};
  const double whole = work(explain(where, p, how), p.m(), p.n(), p.alpha == 0 ? 0 : p.k());
  if (whole < surely_quick) return {};
  const std::int64_t m = std::min(p.m(), probe_extent), n = std::min(p.n(), probe_extent),
                     k = std::min(p.k(), probe_extent);
  const std::vector<float> operand(static_cast<std::size_t>(probe_extent * probe_extent), 0.5f);
  const device_array<float> a(where, operand), b(where, operand);
  device_array<float> c(where, operand);
  const gemm_problem probe{
      .a = row_major(a.data(), m, k), .b = row_major(b.data(), k, n), .c = row_major(c.data(), m, n)};
  gemm_choice probed;
  const expected_time time =
      time_of([&] { gemm(where, probe, {.accuracy = how.accuracy, .policy = how.policy, .ran = &probed}); });
  return time * (whole / work(probed, m, n, k));
}

expected_time estimate(const context& where, const scans::problem& p, const scans::scan_keys* keys,
                       const scan_options& how) {
  if (where.kind() != target::cpu) return {};
  const auto explained = [&](const scans::problem& of, const scan_options& by) {
    return keys != nullptr ? explain(where, of, *keys, by) : explain(where, of, by);
  };
  const scan_choice chosen = explained(p, how);
  if (static_cast<double>(chosen.tiles) * chosen.threads < surely_quick_threads) return {};
  scans::problem probe = piece_of(p, chosen);
  const auto count = static_cast<std::size_t>(probe.outer * probe.length * probe.inner);
  const auto zeros = [&](element type) {
    return device_array<std::byte>(where, std::vector<std::byte>(count * size_of(type)));
  };
  device_array<std::byte> in = zeros(p.type), out = zeros(p.accumulate.value_or(p.type));
  probe.in = in.data();
  probe.out = out.data();
  const scan_options by{.policy = chosen.kernel};
  const double share = static_cast<double>(explained(probe, by).tiles) / static_cast<double>(chosen.tiles);
  expected_time time;
  for (int turn = 0; turn < 2; ++turn)  // the first run creates the fibers
    time = time_of([&] { keys != nullptr ? scan_by_key(where, probe, *keys, by) : scan(where, probe, by); });
  return time * (1 / share);
}

expected_time estimate(const context& where, const attention_problem& p, std::string_view policy) {
  const auto pairs = [](const attention_problem& of) {
    return static_cast<double>(of.members * of.heads) * static_cast<double>(of.queries) *
           static_cast<double>(of.keys);
  };
  if (where.kind() != target::cpu || pairs(p) * static_cast<double>(p.depth) < surely_quick / 8) return {};
  const std::int64_t queries = std::min(p.queries, probe_extent), keys = std::min(p.keys, probe_extent);
  const auto zeros = [&](std::int64_t rows) {
    return std::vector<float>(static_cast<std::size_t>(rows * p.depth));
  };
  const device_array<float> q(where, zeros(queries)), k(where, zeros(keys)), v(where, zeros(keys));
  device_array<float> out(where, zeros(queries));
  const attention_problem probe{.q = packed_heads(q.data(), 1, queries, p.depth),
                                .k = packed_heads(k.data(), 1, keys, p.depth),
                                .v = packed_heads(v.data(), 1, keys, p.depth),
                                .out = packed_heads(out.data(), 1, queries, p.depth),
                                .queries = queries,
                                .keys = keys,
                                .depth = p.depth};
  const double share = p.mask == causal::no ? 1 : 0.5;  // of the pairs that are computed
  return time_of([&] { attention(where, probe, {.policy = policy}); }) * (share * pairs(p) / pairs(probe));
}

progress_line warn_if_slow(const common_options& options, std::string_view what, const expected_time& time) {
  if (time.seconds >= worth_a_word)
    say(options, fmt::format("{} will take about {} on the CPU executor", what, time_text(time.seconds)));
  return {options, time};
}

}  // namespace antiphase::tool
