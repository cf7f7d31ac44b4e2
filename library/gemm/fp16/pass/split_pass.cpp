// SPDX-License-Identifier: Apache-2.0
// From two operands to the launch that splits them.
#include "library/gemm/fp16/pass/split_pass.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/limits.hpp>
#include <limits>

#include "library/gemm/fp16/fp16_lists.hpp"

namespace antiphase::gemms {

namespace {

void require_operand(const char* name, const operand_lines& from, const split_operand& to) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() - 1024;
  if (from.lines < 0 || from.k < 0)
    throw bad_request(fmt::format("{} has {} lines of {}: must not be negative", name, from.lines, from.k));
  if (from.lines != to.lines || from.k != to.k)
    throw bad_request(fmt::format("{} has {} lines of {}, the memory is laid out for {} of {}", name,
                                  from.lines, from.k, to.lines, to.k));
  if (from.k > most)
    throw not_supported(fmt::format("K = {}: the split pass takes at most {}", from.k, most));
  if (from.data == nullptr && from.lines > 0 && from.k > 0)
    throw bad_request(fmt::format("{} is a null pointer", name));
}

// Clusters that an operand needs.
std::int64_t clusters_for(const split_policy& how, int cluster, const operand_lines& from) {
  const std::int64_t lines =
      from.k_stride == 1 ? std::int64_t{cluster} * (how.threads / how.line_threads(from.k)) : how.strip;
  return ceil_div(from.lines, lines);
}

}  // namespace

const std::vector<split_pass_instance>& split_pass_instances(target where) {
  return instances_of<fp16_lists, split_pass_instance>(where);
}

split_launch plan_split(const split_pass_instance& with, int cluster, const operand_lines& a,
                        const operand_lines& b, const split_operand& to_a, const split_operand& to_b) {
  require_operand("A", a, to_a);
  require_operand("B", b, to_b);
  if (a.k != b.k) throw bad_request(fmt::format("A has K = {}, B has K = {}: they must agree", a.k, b.k));
  const std::int64_t for_a = clusters_for(with.policy, cluster, a),
                     for_b = clusters_for(with.policy, cluster, b), all = for_a + for_b;
  if (all * cluster > std::numeric_limits<int>::max())
    throw not_supported(
        fmt::format("{} and {} lines: the split pass would need {} blocks", a.lines, b.lines, all * cluster));
  split_launch l{with.kernel,
                 {static_cast<unsigned>(all * cluster), 1, 1},
                 {{a, b}, {to_a, to_b}, 0, with.policy.line_threads(a.k), mean_loss(a.k)}};
  l.kernel.cluster = cluster;
  if (all > 0)
    l.arguments.share = ceil_div(static_cast<std::uint64_t>(for_b) << 32, static_cast<std::uint64_t>(all));
  return l;
}

split_launch plan_split(target where, const operand_lines& a, const operand_lines& b,
                        const split_operand& to_a, const split_operand& to_b, bool clusters) {
  const bool strips = a.k_stride != 1 || b.k_stride != 1;
  const split_policy& how = clusters ? split_policy_for(a.k, strips) : split_alone;
  // Blocks to a cluster so that a strip is read once, if there are strips.
  int cluster = 1;
  while (clusters && strips && cluster < largest_cluster && std::int64_t{cluster} * how.block_depth() < a.k)
    cluster *= 2;
  for (const split_pass_instance& i : split_pass_instances(where))
    if (i.policy == how) return plan_split(i, cluster, a, b, to_a, to_b);
  throw not_supported("this build has no split pass");
}

}  // namespace antiphase::gemms
