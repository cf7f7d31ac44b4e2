// SPDX-License-Identifier: Apache-2.0
// From a step and a problem to a launch.
#include <antiphase/gemm/ladder.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/executor/executor.hpp>
#include <antiphase/gemm/policies.hpp>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "library/gemm/fp32/fp32_lists.hpp"
#include "library/gemm/fp32/ladder_plan.hpp"
#include "library/gemm/operands/checks.hpp"

namespace antiphase::gemms {

namespace {

// Whether an operand has the layout that a variant of a kernel assumes: contiguous along one index, aligned
// if its copies are wide, its tiles less than 4 GiB across.
bool matches_layout(const operand_policy& how, extent2 tile, const float* data, std::int64_t outer_stride,
                    std::int64_t k_stride) {
  if (how.along == contiguous::neither) return true;
  const bool along_k = how.along == contiguous::k;
  const std::int64_t along = along_k ? k_stride : outer_stride, across = along_k ? outer_stride : k_stride;
  // floats from run to run
  const std::int64_t span_limit = (std::int64_t{1} << 30) / std::max(tile.m, tile.n) - 1;
  if (along != 1 || across < 0 || across > span_limit) return false;
  return how.copy_width == 1 ||
         (across % how.copy_width == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0);
}

// How much a variant assumes, then how many tiles it needs: the more of either, the faster it is.
std::pair<int, int> rank(const policy& how) {
  return {(how.a.along != contiguous::neither) + (how.b.along != contiguous::neither) +
              (how.a.copy_width > 1) + (how.b.copy_width > 1),
          how.min_tiles};
}

std::int64_t tiles_of(const policy& how, const problem& p) {
  return ceil_div<std::int64_t>(p.m(), how.tile.m) * ceil_div<std::int64_t>(p.n(), how.tile.n);
}

bool is_of(const instance& i, const step& how, parts run) {
  return i.policy.run == run && std::strcmp(i.step, how.name) == 0;
}

// The number of slices that an output's sum is split into: that of the variant with the largest tiles of
// which C has enough. It depends on the size of C alone, so that the bits do not depend on the operands'
// layout.
int slices_of(target where, const step& how, const problem& p, parts run) {
  std::pair<int, int> best{-1, 1};  // tiles that it takes, slices
  for (const instance& i : instances(where))
    if (is_of(i, how, run) && tiles_of(i.policy, p) >= i.policy.min_tiles)
      best = std::max(best, {i.policy.min_tiles, i.policy.slices});
  return best.second;
}

}  // namespace

std::span<const instance> instances(target where) { return instances_of<fp32_lists, instance>(where); }

const step& find_step(std::string_view name) {
  for (const step& s : steps)
    if (name == s.name) return s;
  refuse_policy(name, "step of the GEMM ladder", names_of(steps));
}

bool takes(const instance& variant, const problem& p) {
  return matches_layout(variant.policy.a, variant.policy.tile, p.a.data, p.a.row_stride, p.a.column_stride) &&
         matches_layout(variant.policy.b, variant.policy.tile, p.b.data, p.b.column_stride, p.b.row_stride);
}

plan prepare(target where, const step& how, const problem& p, parts run) {
  require_sensible(p);
  return plan_step(where, how, p, run);
}

plan plan_step(target where, const step& how, const problem& p, parts run) {
  const instance* best = nullptr;
  const int slices = slices_of(where, how, p, run);
  for (const instance& candidate : instances(where)) {
    if (!is_of(candidate, how, run) || candidate.policy.slices != slices) continue;
    if (!takes(candidate, p) || tiles_of(candidate.policy, p) < candidate.policy.min_tiles) continue;
    if (best == nullptr || rank(candidate.policy) > rank(best->policy)) best = &candidate;
  }
  if (best == nullptr)
    throw not_supported(fmt::format("this build has no kernel for GEMM policy {} on {}", how.name,
                                    where == target::cuda ? "CUDA" : "the CPU"));
  return prepare(*best, p);
}

const step& select_step(const executor& where, const problem& p) {
  require_sensible(p);
  const device_features has = features_of(where.limits());
  for (auto s = std::rbegin(steps); s != std::rend(steps); ++s)
    if (first_missing(has, needs_of(*s)) == nullptr &&
        shortage_of(where.limits(), plan_step(where.kind(), *s, p).instance.code) == shortage::none)
      return *s;
  return steps[0];
}

plan prepare(const instance& variant, const problem& p) {
  problem arguments = without_idle_strides(p);
  if (p.alpha == 0) arguments.a.columns = arguments.b.rows = 0;  // A and B are not to be read
  // nothing to scale: alpha may be infinite or NaN
  if (arguments.k() == 0) arguments.alpha = 0;

  const auto tiles = tiles_of(variant.policy, p);
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  if (tiles > most)
    throw not_supported(
        fmt::format("C is {} x {}: policy {} would need {} blocks, at most {} can be launched", p.m(), p.n(),
                    variant.step, tiles, most));
  const bool nothing = tiles == 0 || (arguments.k() == 0 && p.beta == 1);
  return {variant, {nothing ? 0u : static_cast<unsigned>(tiles), 1, 1}, arguments};
}

}  // namespace antiphase::gemms
