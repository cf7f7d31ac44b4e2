// SPDX-License-Identifier: Apache-2.0
#include <antiphase/torch_judgement.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/gemm/gain.hpp>
#include <cmath>
#include <limits>
#include <string_view>

#include "src/costs/models.hpp"

namespace antiphase {
namespace {

double real(std::int64_t x) { return static_cast<double>(x); }

void require_extent(std::string_view name, std::int64_t extent) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (extent < 1 || extent > most)
    throw bad_request(fmt::format("{} is {}: expected 1 to 2^40", name, extent));
}

torch_judgement judged(const context& where, double ours, double torchs) {
  const double most = costs::models_of(where.limits()).torch.most;
  return {1e-6 * ours, 1e-6 * torchs, is_measured(where.limits()) && ours < most * torchs};
}

// Pairs of query and key that torch's blocks compute for a head, whose tiles are computed whole.
double pairs_of(const torch_attention_call& call, double more_keys) {
  constexpr std::int64_t tile = 64;
  const double rows = real(ceil_div(call.queries, tile)), columns = real(ceil_div(call.keys, tile));
  const double growing = call.causal ? std::min(rows, columns) : 0;  // tiles that see up to the diagonal
  const double seen = growing * (growing + 1) / 2 + (rows - growing) * columns;
  return real(tile) * (real(tile) * seen + rows * more_keys);
}

const costs::torch_scan_cost& cost_of(const costs::torch_cost& all, torch_scan_call::kind operation) {
  switch (operation) {
    case torch_scan_call::kind::extremes: return all.extremes;
    case torch_scan_call::kind::log_sum_exp: return all.log_sum_exp;
    default: return all.arithmetic;
  }
}

}  // namespace

torch_judgement judge(const context& where, const torch_attention_call& call, double predicted) {
  require_extent("members", call.members), require_extent("heads", call.heads);
  require_extent("queries", call.queries), require_extent("keys", call.keys);
  require_extent("depth", call.depth);
  const costs::torch_cost& all = costs::models_of(where.limits()).torch;
  const costs::torch_attention_cost& cost = call.backward ? all.backward : all.forward;
  const double torchs = all.launch + real(call.members) * real(call.heads) * pairs_of(call, cost.more_keys) *
                                         (cost.pair + cost.pair_of_depth * real(call.depth)) * 1e-6;
  const bool fitted = real(call.queries) >= all.least_queries && real(call.keys) >= all.least_keys &&
                      real(call.depth) <= all.most_depth;
  constexpr double never = std::numeric_limits<double>::infinity();
  return judged(where, fitted ? std::max(cost.our_host, 1e6 * predicted) : never, torchs);
}

torch_judgement judge(const context& where, const torch_scan_call& call) {
  require_extent("outer", call.outer), require_extent("length", call.length);
  require_extent("inner", call.inner), require_extent("read", call.read);
  require_extent("written", call.written);
  constexpr double rows_at_once = 1024, columns_of_step = 32, least_moved = 8;
  const costs::torch_scan_cost& cost = cost_of(costs::models_of(where.limits()).torch, call.operation);
  const double lines = real(call.outer) * real(call.inner), length = real(call.length),
               moved = call.read + call.written, elements = lines * length;
  const double ours = cost.our_start + elements * (moved + cost.our_bytes) / cost.our_rate;
  double torchs = elements * std::max(moved, least_moved) / cost.rate;
  if (call.inner > 1)
    torchs = std::max(
        torchs, length * (cost.step + cost.step_of_column * std::min(real(call.inner), columns_of_step)));
  else if (lines > 1 || call.operation == torch_scan_call::kind::extremes)
    torchs = std::max({torchs, length * cost.element * std::ceil(lines / rows_at_once), lines * cost.row});
  return judged(where, ours, cost.start + torchs);
}

}  // namespace antiphase
