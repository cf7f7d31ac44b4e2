// SPDX-License-Identifier: Apache-2.0
#include <antiphase/torch_comparison.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/gemm/gain.hpp>
#include <cmath>
#include <limits>
#include <string_view>

#include "library/attention/walk.hpp"
#include "library/costs/models.hpp"

namespace antiphase {
namespace {

double real(std::int64_t x) { return static_cast<double>(x); }

void require_extent(std::string_view name, std::int64_t extent) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (extent < 1 || extent > most)
    throw bad_request(fmt::format("{} is {}: expected 1 to 2^40", name, extent));
}

// `most`: share of torch's time.
torch_comparison compared(const context& where, double ours, double torchs, double most) {
  return {1e-6 * ours, 1e-6 * torchs, is_measured(where.limits()) && ours < most * torchs};
}

attentions::walked_call walked(const torch_attention_call& call) {
  constexpr std::int64_t most = (std::int64_t{1} << 30) - 1;  // rows that antiphase takes
  constexpr int all = 1 << 30;
  const std::int64_t queries = std::min(call.queries, most), keys = std::min(call.keys, most);
  return {.heads = real(call.members) * real(call.heads),
          .queries = queries,
          .keys = keys,
          .sees = {-all, call.causal ? 1 : all, static_cast<int>(keys)},
          .depth = real(call.depth),
          .biased = call.biased};
}
// By the forward's kernels or the gradients'.
template <std::size_t N> torch_comparison compared(const context& where, const torch_attention_call& call,
                                                   double predicted,
                                                   const costs::torch_attention_cost<N>& cost,
                                                   const costs::torch_kernel (&kernels)[N]) {
  std::size_t place = 0;
  while (place + 1 < N && call.depth > kernels[place].depth) ++place;
  const costs::torch_kernel& kernel = kernels[place];
  const attentions::tile_walk by = call.backward ? attentions::tile_walk{kernel.keys, kernel.queries, true}
                                                 : attentions::tile_walk{kernel.queries, kernel.keys};
  const double torchs = 1e6 * seconds_of(cost.of_depth[place], by, walked(call),
                                         costs::models_of(where.limits()).multiprocessors);
  const bool fitted = call.depth <= kernels[N - 1].depth;
  constexpr double never = std::numeric_limits<double>::infinity();
  if (!fitted) return compared(where, never, torchs, cost.most);
  const double ours = 1e6 * predicted;
  if (call.launches == 0) return compared(where, ours, torchs, cost.most);
  if (call.launches > 1) return compared(where, std::max(cost.our_host, ours), torchs, cost.most);
  // A short call is as long as the host takes, unless other work keeps the GPU busy: ours is to take less of
  // both.
  torch_comparison j =
      compared(where, std::max(cost.our_host_of_one, ours), std::max(cost.torch_host, torchs), cost.most);
  j.wins = j.wins && ours < cost.most * torchs;
  return j;
}

const costs::torch_scan_cost& cost_of(const costs::torch_cost& all, torch_scan_call::kind operation) {
  switch (operation) {
    case torch_scan_call::kind::extremes: return all.extremes;
    case torch_scan_call::kind::log_sum_exp: return all.log_sum_exp;
    default: return all.arithmetic;
  }
}

}  // namespace

torch_comparison compare(const context& where, const torch_attention_call& call, double predicted) {
  require_extent("members", call.members), require_extent("heads", call.heads);
  require_extent("queries", call.queries), require_extent("keys", call.keys);
  require_extent("depth", call.depth);
  if (call.launches < 0) throw bad_request(fmt::format("launches is {}: expected 0 or more", call.launches));
  const costs::torch_cost& all = costs::models_of(where.limits()).torch;
  return call.backward ? compared(where, call, predicted, all.backward, all.backward_kernels)
                       : compared(where, call, predicted, all.forward, all.forward_kernels);
}

torch_comparison compare(const context& where, const torch_scan_call& call) {
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
  return compared(where, ours, cost.start + torchs, costs::models_of(where.limits()).torch.most);
}

}  // namespace antiphase
