// SPDX-License-Identifier: Apache-2.0
// The public grouped product: products that are predicted to be faster together share one launch, the others
// have their own.
#include <antiphase/gemm_group.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/scratch.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "src/costs/models.hpp"
#include "src/gemm/choice/choose.hpp"
#include "src/gemm/fp64/group_plan.hpp"
#include "src/gemm/operands/checks.hpp"

namespace antiphase {
namespace {

using gemms::judged_view;

gemm_options options_of(const gemm_group_options& all, std::span<std::byte> memory = {}) {
  return {.accuracy = all.accuracy,
          .policy = all.policy,
          .stream = all.stream,
          .workspace = memory,
          .recomputed = all.recomputed,
          .reproducible = all.reproducible,
          .if_weaker = all.if_weaker};
}

// Adds the product's index to error messages.
template <class F> auto of_product(std::size_t place, F f) {
  try {
    return f();
  } catch (const bad_request& e) {
    throw bad_request(fmt::format("product {}: {}", place, e.what()));
  } catch (const not_supported& e) {
    throw not_supported(fmt::format("product {}: {}", place, e.what()));
  }
}

// A group, checked: members of the common launch, and the choice for each of the others.
struct judged_group {
  const antiphase::context& context;
  std::span<const gemm_problem> problems;
  gemm_options alone;
  std::vector<gemms::problem> sensible;                 // without_idle_strides()
  std::vector<std::unique_ptr<gemms::choice>> choices;  // made on demand
  std::vector<bool> together;
  std::optional<gemms::group_plan> common = std::nullopt;
  double predicted = 0;

  const gemms::choice& choice_of(std::size_t i) {
    if (!choices[i])
      of_product(i, [&] {
        choices[i] = std::make_unique<gemms::choice>(gemms::choose(context, problems[i], alone));
      });
    return *choices[i];
  }
  std::size_t workspace() {
    std::size_t most = common ? common->workspace() : 0;
    for (std::size_t i = 0; i < problems.size(); ++i)
      if (!together[i]) most = std::max(most, choice_of(i).runs.workspace);
    return most;
  }
};

// The split of a group for one kernel: members of its launch, and predicted seconds of the whole group.
struct split_up {
  const gemms::group_instance* instance = nullptr;
  std::vector<std::size_t> members;
  double seconds = std::numeric_limits<double>::infinity();
};
struct candidate_member {
  std::size_t place;
  double alone;  // seconds
};
split_up split_for(const gemms::group_instance& with, const judged_group& g,
                   const std::vector<candidate_member>& all, bool all_of_them) {
  struct costed {
    candidate_member member;
    gemms::group_cost cost;
  };
  const device_limits& device = g.context.limits();
  std::vector<costed> inside;
  double outside = 0, shares = 0, tiles = 0;
  for (const candidate_member& one : all) {
    const gemms::group_cost cost = gemms::group_cost_of(with.policy, g.sensible[one.place], device);
    if (all_of_them || cost.share < one.alone)
      inside.push_back({one, cost}), shares += cost.share, tiles += cost.tiles;
    else
      outside += one.alone;
  }
  // Try to leave out the longest sums first: without them the launch may end much earlier.
  std::ranges::stable_sort(inside, std::greater<>{}, [](const costed& one) { return one.cost.longest; });
  split_up best;
  best.instance = &with;
  std::size_t first = 0;
  for (std::size_t left = 0; left < inside.size(); ++left) {
    const costed& longest = inside[left];
    const double seconds =
        outside + gemms::group_seconds(shares, longest.cost, tiles, inside.size() - left, device);
    if (seconds < best.seconds) best.seconds = seconds, first = left;
    if (all_of_them) break;
    outside += longest.member.alone, shares -= longest.cost.share, tiles -= longest.cost.tiles;
  }
  if (outside < best.seconds && !all_of_them) return {&with, {}, outside};  // no common launch
  for (; first < inside.size(); ++first) best.members.push_back(inside[first].member.place);
  return best;
}

// Split-K factor that is assumed for a launch of a small product.
constexpr double most_shared = 8;

judged_group judge(const context& where, std::span<const gemm_problem> problems,
                   const gemm_group_options& options) {
  gemms::choose(where, {}, options_of(options, options.workspace));  // whether the options make sense
  judged_group g{.context = where,
                 .problems = problems,
                 .alone = options_of(options),
                 .sensible = {},
                 .choices = std::vector<std::unique_ptr<gemms::choice>>(problems.size()),
                 .together = std::vector<bool>(problems.size())};
  const gemms::candidate* const asked = gemms::find_candidate(options.policy);  // null: auto
  const bool by_name = asked != nullptr && asked->traits.groups;
  const bool may = options.accuracy == precision::fp32 && (by_name || asked == nullptr) &&
                   features_of(where.limits()).fast_fp64 && features_of(where.limits()).mma_sync;
  std::vector<const gemms::group_instance*> kernels;
  if (may)
    for (const gemms::group_instance& i : gemms::group_instances(where.kind()))
      if (shortage_of(where.limits(), i.code) == shortage::none) kernels.push_back(&i);
  std::vector<candidate_member> all;
  double others = 0;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const gemm_problem& p = problems[i];
    of_product(i, [&] { gemms::require_sensible(p); });
    g.sensible.push_back(gemms::without_idle_strides(p));
    const bool multiplies = gemms::reads(p) && p.k() > 0;
    // The common launch adds up in FP64. Whether a product may join must not depend on the others then.
    const bool by_tf32 = asked == nullptr && options.reproducible == reproducibility::batch_invariant &&
                         gemms::is_for_tf32_rows(gemms::request_for(where, p, g.alone));
    if (kernels.empty() || !multiplies || by_tf32 || !gemms::groups(p)) {
      others += p.m() > 0 && p.n() > 0 ? g.choice_of(i).seconds() : 0;
      continue;
    }
    const gemms::group_cost beside =
        gemms::group_cost_of(kernels.front()->policy, g.sensible[i], where.limits());
    // Cheaper in the group than any launch of its own, so that one is estimated, not chosen.
    const costs::group_cost& cost = costs::models_of(where.limits()).group;
    const bool small = by_name || beside.share < 1e-6 * cost.shortest;
    all.push_back({i, small ? 1e-6 * cost.usual + beside.longest / most_shared : g.choice_of(i).seconds()});
  }
  split_up best;
  for (const gemms::group_instance* with : kernels)
    if (split_up one = split_for(*with, g, all, by_name); one.seconds < best.seconds) best = std::move(one);
  if (best.members.size() > 1) {
    std::vector<const gemms::problem*> products;
    for (const std::size_t i : best.members) products.push_back(&g.sensible[i]), g.together[i] = true;
    g.common = gemms::plan_group(where, *best.instance, products);
    g.predicted = others + best.seconds;
  } else {
    for (std::size_t i = 0; i < problems.size(); ++i) g.predicted += g.choice_of(i).seconds();
  }
  for (std::size_t i = 0; i < problems.size(); ++i)
    if (!g.together[i]) g.choice_of(i);
  return g;
}

// No C overlaps a matrix of another product: a sweep over byte ranges in the order of addresses. Of pairs
// whose ranges intersect, which interleaved matrices have, up to 2^16 are compared.
struct placed_matrix {
  gemms::memory_range lies;
  std::uint32_t product;
  char name;
};
judged_view view_of(const gemm_problem& p, char name) {
  return name == 'C'   ? gemms::judged("C", p.c)
         : name == 'A' ? gemms::judged("A", p.a)
                       : gemms::judged("B", p.b);
}
void require_apart(std::span<const gemm_problem> problems) {
  std::vector<placed_matrix> all;
  all.reserve(3 * problems.size());
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const gemm_problem& p = problems[i];
    if (p.m() == 0 || p.n() == 0) continue;
    for (const char name : {'C', 'A', 'B'})
      if (name == 'C' || (gemms::reads(p) && p.k() > 0))
        all.push_back({gemms::range_of(view_of(p, name)), static_cast<std::uint32_t>(i), name});
  }
  std::ranges::sort(all, {}, [](const placed_matrix& m) { return m.lies.first; });
  std::vector<const placed_matrix*> written, read;  // matrices that end after the sweep's position
  int pairs = 1 << 16;
  const auto compare = [&](const placed_matrix& c, const placed_matrix& other) {
    if (c.product == other.product || --pairs < 0) return;
    const std::string of_c = fmt::format("C of product {}", c.product),
                      of_other = fmt::format("{} of product {}", other.name, other.product);
    judged_view x = view_of(problems[c.product], 'C'), y = view_of(problems[other.product], other.name);
    x.name = of_c, y.name = of_other;
    gemms::require_apart(x, y);
  };
  for (const placed_matrix& m : all) {
    const auto gone = [&](const placed_matrix* other) { return other->lies.end <= m.lies.first; };
    std::erase_if(written, gone);
    for (const placed_matrix* c : written) compare(*c, m);
    if (m.name == 'C') {
      std::erase_if(read, gone);
      for (const placed_matrix* other : read) compare(m, *other);
    }
    (m.name == 'C' ? written : read).push_back(&m);
  }
}

gemm_group_choice described(judged_group& g) {
  gemm_group_choice to;
  for (std::size_t i = 0; i < g.problems.size(); ++i) {
    const gemm_problem& p = g.problems[i];
    const bool any = p.m() > 0 && p.n() > 0;
    to.kernels.push_back(g.together[i] ? "group" : any ? std::string(g.choice_of(i).chosen->name) : "");
    to.bounds.push_back(g.together[i] ? bound_of(gemm_sums::doubles, p.k())
                        : any         ? g.choice_of(i).bound
                                      : gemm_bound{});
  }
  if (g.common) {
    to.together = g.common->members.size();
    to.launches = g.common->launches();
    to.tile = g.common->instance->policy.tile;
    to.blocks = g.common->grid.count();
  }
  to.workspace = g.workspace();
  to.predicted = g.predicted;
  return to;
}

}  // namespace

launch_counts gemm_group(const context& where, std::span<const gemm_problem> problems,
                         const gemm_group_options& options) {
  judged_group g = judge(where, problems, options);
  const std::size_t needed = g.workspace();
  std::optional<judged_view> workspace, recomputed;
  if (!options.workspace.empty() && needed > 0) {
    if (options.workspace.size() < needed)
      throw bad_request(
          fmt::format("the workspace has {} bytes: this group needs {}", options.workspace.size(), needed));
    workspace = gemms::judged("the workspace", options.workspace.data(), static_cast<std::int64_t>(needed));
  }
  if (options.recomputed != nullptr)
    recomputed = gemms::judged("recomputed", options.recomputed, sizeof *options.recomputed);
  for (std::size_t i = 0; i < problems.size(); ++i)
    of_product(i, [&] {
      gemms::require_own_memory(problems[i]);
      for (const auto& v : {workspace, recomputed})
        if (v) gemms::require_own_memory(problems[i], {}, {}, *v);
    });
  if (workspace && recomputed) gemms::require_apart(*recomputed, *workspace);
  require_apart(problems);
  if (options.ran != nullptr) *options.ran = described(g);
  const borrowed own(where.runs_on(), workspace ? 0 : needed, options.stream);
  const std::span<std::byte> memory = workspace ? options.workspace : own.memory();
  launch_counts total;
  for (std::size_t i = 0; i < problems.size(); ++i)
    if (!g.together[i]) total += gemms::run(g.choice_of(i), g.alone, memory);
  if (g.common) total += gemms::run(where, *g.common, memory, options.stream);
  return total;
}

std::size_t gemm_group_workspace(const context& where, std::span<const gemm_problem> problems,
                                 const gemm_group_options& options) {
  return judge(where, problems, options).workspace();
}

gemm_group_choice explain(const context& where, std::span<const gemm_problem> problems,
                          const gemm_group_options& options) {
  judged_group g = judge(where, problems, options);
  return described(g);
}

}  // namespace antiphase
