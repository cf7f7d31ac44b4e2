// SPDX-License-Identifier: Apache-2.0
#include "library/attention/fp32/fp32_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/executor/machine.hpp>
#include <cmath>
#include <limits>

#include "library/attention/attention_lists.hpp"
#include "library/costs/models.hpp"

namespace antiphase::attentions {

using choices::plan;

std::span<const tiled_instance> tiled_instances(target where) {
  return instances_of<attention_lists, tiled_instance>(where);
}
std::span<const backward_instance> backward_instances(target where) {
  return instances_of<attention_lists, backward_instance>(where);
}
std::span<const naive_instance> naive_instances(target where) {
  return instances_of<attention_lists, naive_instance>(where);
}
std::span<const softmax_instance> softmax_instances(target where) {
  return instances_of<attention_lists, softmax_instance>(where);
}
std::span<const dots_instance> dots_instances(target where) {
  return instances_of<attention_lists, dots_instance>(where);
}
std::span<const few_keys_instance> few_keys_instances(target where) {
  return instances_of<attention_lists, few_keys_instance>(where);
}

std::string too_many(double blocks) {
  constexpr int most_blocks = std::numeric_limits<int>::max();
  return blocks <= most_blocks
             ? std::string()
             : fmt::format("it would need {:.3g} blocks, at most {} can be launched", blocks, most_blocks);
}

namespace {

// The instance with the fewest columns that hold the problem's.
template <class Instance, class Fits>
const Instance& smallest(std::span<const Instance> all, const request& r, Fits fits) {
  const Instance* best = nullptr;
  for (const Instance& i : all)
    if (fits(i) && i.policy.depth >= r.problem.depth &&
        (best == nullptr || i.policy.depth < best->policy.depth))
      best = &i;
  if (best == nullptr)
    throw not_supported(
        fmt::format("this build has no FP32 kernel of attention for depth {}", r.problem.depth));
  return *best;
}
const tiled_instance& tiled_with(const request& r, int buffers) {
  return smallest(tiled_instances(r.where()), r,
                  [&](const tiled_instance& i) { return i.policy.buffers == buffers; });
}
const backward_instance& backward_of(const request& r, owned of) {
  return smallest(backward_instances(r.where()), r,
                  [&](const backward_instance& i) { return i.policy.owner == of; });
}
// The last step that the device runs.
const tiled_instance& best_tiled(const request& r) {
  const tiled_instance& last = tiled_with(r, 2);
  const bool runs = features_of(r.executor.limits()).cp_async &&
                    shortage_of(r.executor.limits(), last.code) == shortage::none;
  return runs ? last : tiled_with(r, 1);
}

// Blocks of `tile` rows of every head and member.
std::int64_t blocks_of(const request& r, std::int64_t rows, std::int64_t heads, int tile) {
  return ceil_div<std::int64_t>(rows, tile) * heads * r.problem.members;
}
extent3 grid_of(std::int64_t blocks) { return {static_cast<unsigned>(blocks), 1, 1}; }

double real(std::int64_t x) { return static_cast<double>(x); }
// With the smallest tiles that any policy has.
std::string too_many_tiles(const request& r) {
  constexpr int smallest_tile = 2 * warps_of_block;
  return too_many(real(r.problem.members) * real(r.problem.heads) *
                  std::ceil(real(std::max(r.problem.queries, r.problem.keys)) / smallest_tile));
}
std::string forward_only(const request& r) {
  return r.back.has_value() ? "it is a step of the forward's ladder, which computes no gradients" : "";
}

// With flags most tiles are left out, if not all: fewer blocks look through them.
extent3 grid_with(const request& r, std::int64_t tiles, const std::uint32_t* flags) {
  constexpr std::int64_t blocks_of_multiprocessor = 2;
  const std::int64_t most = blocks_of_multiprocessor * std::max(1, r.executor.limits().multiprocessors);
  return grid_of(flags == nullptr ? tiles : std::min(tiles, most));
}
launchable tiled_launch(const request& r, const tiled_instance& with, const std::uint32_t* flags) {
  const std::int64_t tiles = blocks_of(r, r.problem.queries, r.problem.heads, with.policy.tile());
  return launch_of(with.code, grid_with(r, tiles, flags),
                   forward_arguments{r.problem, static_cast<unsigned>(tiles), flags});
}
plan plan_of(const request& r, const tiled_instance& with) {
  return planned(r, 0, [&with](const request& call, std::span<std::byte>) {
    return std::vector{tiled_launch(call, with, nullptr)};
  });
}

}  // namespace

// Tiles without visible pairs are left out: nothing would write the gradient of their biases.
std::string fp32_unsuited(const request& r) {
  const problem& p = r.problem;
  if (r.back.has_value() && r.back->bias.data != nullptr &&
      (p.mask != causal::no || p.window_before >= 0 || p.window_behind >= 0 || r.packed()))
    return "the gradient of a bias is computed where there is neither a mask nor a window nor packed members";
  return too_many_tiles(r);
}
std::string tiled_unsuited(const request& r) {
  return r.back.has_value() ? forward_only(r) : too_many_tiles(r);
}
std::string double_buffered_unsuited(const request& r) {
  if (std::string no = tiled_unsuited(r); !no.empty()) return no;
  return refusal(r.executor.limits(), tiled_with(r, 2).code).value_or("");
}

double fp32_seconds(const request& r) {
  const costs::fp32_attention_cost& all = costs::models_of(r.executor.limits()).attention.fp32;
  const costs::attention_kernels_cost& cost =
      all.of_depth[costs::place_of_depth(all.depths, r.problem.depth)];
  const int multiprocessors = profile_of(r.executor.limits()).limits.multiprocessors;
  const auto of = [&](const costs::tile_walk_cost& kernel, const tile_walk& by) {
    return seconds_of(kernel, by, r.walked(by.owns_keys), multiprocessors);
  };
  if (!r.back.has_value()) return of(cost.forward, {best_tiled(r).policy.tile(), keys_of_tile});
  return of(cost.keys, {backward_of(r, owned::keys).policy.tile(), keys_of_tile, true}) +
         of(cost.queries, {backward_of(r, owned::queries).policy.tile(), keys_of_tile});
}

plan plan_tiled(const request& r) { return plan_of(r, tiled_with(r, 1)); }
plan plan_double_buffered(const request& r) { return plan_of(r, tiled_with(r, 2)); }
plan plan_fp32(const request& r) {
  if (!r.back.has_value()) return plan_of(r, best_tiled(r));
  cutter counted({});
  fp32_backward(r, counted, nullptr);
  return planned(r, counted.used(), [](const request& call, std::span<std::byte> workspace) {
    cutter memory(workspace);
    return fp32_backward(call, memory, nullptr);
  });
}

launchable fp32_forward(const request& r, const std::uint32_t* flags) {
  return tiled_launch(r, best_tiled(r), flags);
}

launchable few_keys_forward(const request& r) {
  const kernel& code = few_keys_instances(r.where()).front().code;
  return launch_of(code, grid_of(r.problem.members * r.problem.heads), few_keys_arguments{r.problem});
}

launchable softmax_launch(const request& r, float* softmax) {
  const kernel& code = softmax_instances(r.where()).front().code;
  const std::int64_t rows = r.problem.heads * r.query_rows();
  return launch_of(code, grid_of(ceil_div<std::int64_t>(rows, code.threads)),
                   softmax_arguments{r.problem.logsumexp, softmax, rows, rows_of_head(r.problem),
                                     r.problem.logsumexp_stride});
}

std::vector<launchable> fp32_backward(const request& r, cutter& memory, const std::uint32_t* flags) {
  const problem& p = r.problem;
  float* const dots = memory.take<float>(p.heads * r.query_rows());
  std::vector<launchable> launches;
  const kernel& dot = dots_instances(r.where()).front().code;
  const std::int64_t rows = blocks_of(r, p.queries, p.heads, dot.threads / 32);
  launches.push_back(launch_of(dot, grid_with(r, rows, flags),
                               dots_arguments{p, r.back->out, dots, static_cast<unsigned>(rows), flags}));
  const auto add = [&](owned of, std::int64_t extent, std::int64_t heads) {
    const backward_instance& with = backward_of(r, of);
    const std::int64_t tiles = blocks_of(r, extent, heads, with.policy.tile());
    launches.push_back(
        launch_of(with.code, grid_with(r, tiles, flags),
                  backward_arguments{p, *r.back, dots, static_cast<unsigned>(tiles), flags, r.back->bias}));
  };
  add(owned::keys, p.keys, p.kv_heads);
  add(owned::queries, p.queries, p.heads);
  return launches;
}

// naive
// -----------------------------------------------------------------------------------------------------------
namespace {

std::int64_t naive_threads(const request& r, naive_stage is) {
  const problem& p = r.problem;
  const std::int64_t of_row = is == naive_stage::scores ? p.keys : is == naive_stage::softmax ? 1 : p.depth;
  return p.members * p.heads * p.queries * of_row;
}
const kernel& naive_kernel(target where, naive_stage is) {
  return std::ranges::find(naive_instances(where), is, &naive_instance::stage)->code;
}

}  // namespace

std::string naive_unsuited(const request& r) {
  if (r.back.has_value()) return forward_only(r);
  // 2^40 scores are 4 TiB; below that nothing overflows
  const double scores = real(r.problem.members) * real(r.problem.heads) * real(r.problem.queries) *
                        real(std::max(r.problem.keys, r.problem.depth));
  if (scores > 0x1p40)
    return fmt::format("it would hold {:.3g} scores in memory, at most 2^40 are taken", scores);
  for (const naive_stage is : {naive_stage::scores, naive_stage::softmax, naive_stage::product})
    if (std::string no = too_many(real(naive_threads(r, is)) / naive_kernel(r.where(), is).threads);
        !no.empty())
      return no;
  return {};
}

plan plan_naive(const request& r) {
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(naive_threads(r, naive_stage::scores));
  return planned(r, bytes, [](const request& call, std::span<std::byte> workspace) {
    const naive_arguments all{call.problem, reinterpret_cast<float*>(workspace.data())};
    std::vector<launchable> launches;
    for (const naive_stage is : {naive_stage::scores, naive_stage::softmax, naive_stage::product}) {
      const kernel& code = naive_kernel(call.where(), is);
      launches.push_back(
          launch_of(code, grid_of(ceil_div<std::int64_t>(naive_threads(call, is), code.threads)), all));
    }
    return launches;
  });
}

}  // namespace antiphase::attentions
