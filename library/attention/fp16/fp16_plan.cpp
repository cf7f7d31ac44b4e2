// SPDX-License-Identifier: Apache-2.0
#include "library/attention/fp16/fp16_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/executor/machine.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "library/attention/attention_lists.hpp"
#include "library/attention/fp16/depths.hpp"
#include "library/attention/fp32/fp32_kernels.hpp"
#include "library/attention/fp32/fp32_plan.hpp"
#include "library/costs/models.hpp"

namespace antiphase::attentions {

using choices::plan;

std::span<const split_instance> split_instances(target where) {
  return instances_of<attention_lists, split_instance>(where);
}
std::span<const contract_instance> contract_instances(target where) {
  return instances_of<attention_lists, contract_instance>(where);
}
std::span<const forward_instance> forward_instances(target where) {
  return instances_of<attention_lists, forward_instance>(where);
}
std::span<const short_instance> short_instances(target where) {
  return instances_of<attention_lists, short_instance>(where);
}

std::span<const short_gradient_instance> short_gradient_instances(target where) {
  return instances_of<attention_lists, short_gradient_instance>(where);
}
std::span<const gradient_split_instance> gradient_split_instances(target where) {
  return instances_of<attention_lists, gradient_split_instance>(where);
}
std::span<const gradient_instance> gradient_instances(target where) {
  return instances_of<attention_lists, gradient_instance>(where);
}

namespace {

// What FP16 parts keep of a logit: an error of at most u in its exponential (docs/use/accuracy.md#attention).
constexpr float most_logit = 0x1p23f, most_near_logit = 0x1p14f;

bool is_biased(const problem& p) { return p.bias.data != nullptr || p.visible.data != nullptr; }

// `scale`: not negative.
wide_factor score_factor(double scale) {
  constexpr double log2_e = 1.4426950408889634;
  if (scale == 0) return {1, std::numeric_limits<std::int16_t>::min()};
  int exponent = 0;
  const double mantissa = std::frexp(scale * log2_e, &exponent);
  return {static_cast<float>(2 * mantissa), exponent - 1};
}

bool in_vectors(const heads<const float>& rows, std::int64_t depth) {
  return reinterpret_cast<std::uintptr_t>(rows.data) % 16 == 0 && rows.member_stride % 4 == 0 &&
         rows.head_stride % 4 == 0 && rows.row_stride % 4 == 0 && depth % 4 == 0;
}

std::int64_t tiles_of_all(const request& r, std::int64_t rows, std::int64_t packed_rows) {
  return r.packed() ? most_tiles(packed_rows, r.problem.members) : r.problem.members * tiles_in(rows);
}
std::int64_t query_tiles(const request& r) {
  return tiles_of_all(r, r.problem.queries, r.problem.lengths.query_rows);
}
std::int64_t key_tiles(const request& r) {
  return tiles_of_all(r, r.problem.keys, r.problem.lengths.key_rows);
}

// The parts of an operand in the workspace.
split_operand lay_out(const request& r, cutter& memory, const heads<const float>& from, bool of_queries,
                      bool by_column) {
  const problem& p = r.problem;
  const std::int64_t rows = of_queries ? (r.packed() ? r.query_rows() : p.queries)
                                       : (r.packed() ? r.key_rows() : p.keys),
                     count = of_queries ? p.heads : p.kv_heads,
                     tiles = of_queries ? query_tiles(r) : key_tiles(r), depth = fp16::padded_depth(p.depth);
  split_operand o{.source = from,
                  .shape = {of_queries ? p.lengths.query_offsets : p.lengths.key_offsets,
                            static_cast<std::int32_t>(p.members), static_cast<std::int32_t>(rows), tiles},
                  .count = static_cast<std::int32_t>(count),
                  .in_vectors = in_vectors(from, p.depth),
                  // A negative scale is folded into Q: with a positive one -infinity hides.
                  .sign = of_queries && scale_of(p) < 0 ? -1.f : 1.f,
                  .by_column = by_column,
                  .parts = nullptr,
                  .scale = nullptr,
                  .column_scale = nullptr};
  o.parts = memory.take<f16>(2 * count * tiles * split_rows * depth);
  o.scale = memory.take<float>(count * tiles);
  if (by_column || r.back.has_value()) o.column_scale = memory.take<float>(count * tiles * depth);
  return o;
}

template <class Instances, class Matches> const auto& find_instance(const Instances& all, Matches matches) {
  for (const auto& i : all)
    if (matches(i)) return i;
  throw not_supported("this build has no such kernel of attention on Tensor Cores");
}

visible_bits bits_of(const request& r) {
  const problem& p = r.problem;
  if (p.visible.data == nullptr) return {};
  const auto count = [](std::int64_t stride, std::int64_t all) {
    return static_cast<std::int32_t>(stride == 0 ? 1 : all);
  };
  // Packed members have lengths of their own.
  return {.members = count(r.packed() ? 1 : p.visible.member_stride, p.members),
          .heads = count(p.visible.head_stride, p.heads),
          .row_tiles = count(p.visible.query_stride, ceil_div<std::int64_t>(p.queries, visible_bits::rows)),
          .column_tiles = static_cast<std::int32_t>(ceil_div<std::int64_t>(p.keys, visible_bits::columns))};
}

// The workspace of a forward.
struct forward_memory {
  split_operand q, k, v;
  visible_bits visible;
  std::uint32_t *flags, *far, *next_item;
  std::size_t bytes;

  forward_memory(const request& r, std::span<std::byte> workspace) {
    cutter memory(workspace);
    q = lay_out(r, memory, r.problem.q, true, false);
    k = lay_out(r, memory, r.problem.k, false, false);
    v = lay_out(r, memory, r.problem.v, false, true);
    visible = bits_of(r);
    if (visible.tiles() > 0)
      visible.words = memory.take<std::uint32_t>(visible.tiles() * visible.words_of_tile);
    flags = memory.take<std::uint32_t>(r.problem.members * r.problem.kv_heads);
    far = memory.take<std::uint32_t>(r.problem.members * r.problem.kv_heads);
    next_item = memory.take<std::uint32_t>(1);
    bytes = memory.used();
  }
};

bool may_see_few_keys(const request& r) {
  const problem& p = r.problem;
  return p.keys <= few_keys || r.packed() || p.mask != causal::no || p.window_before >= 0 ||
         p.window_behind >= 0;
}

extent3 line(std::int64_t blocks) { return {static_cast<unsigned>(blocks), 1, 1}; }

std::vector<launchable> forward_launches(const request& r, const forward_instance& with,
                                         std::span<std::byte> workspace) {
  const problem& p = r.problem;
  const forward_policy& how = with.policy;
  const forward_memory m(r, workspace);
  const auto depth = static_cast<std::int32_t>(p.depth);
  const split_instance& split = find_instance(split_instances(r.where()),
                                              [&](const split_instance& i) { return i.depth == how.depth; });
  const kernel& contract = contract_instances(r.where()).front().code;
  std::int64_t tiles = 0;
  for (const split_operand* o : {&m.q, &m.k, &m.v}) tiles += o->count * o->shape.tiles;
  const std::int64_t query_blocks = ceil_div<std::int64_t>(p.queries, how.queries()),
                     items = query_blocks * p.heads * p.members,
                     blocks = std::min<std::int64_t>(items, std::max(1, r.executor.limits().multiprocessors));
  const forward_params product{
      .q = r.executor.encode(parts_layout(m.q, how.depth, how.queries())),
      .k = r.executor.encode(parts_layout(m.k, how.depth, how.keys)),
      .v = r.executor.encode(parts_layout(m.v, how.depth, how.keys * 64 / how.depth)),
      .problem = p,
      .factor = score_factor(std::abs(scale_of(p))),
      .queries = m.q.shape,
      .keys = m.k.shape,
      .q_scale = m.q.scale,
      .k_scale = m.k.scale,
      .v_scale = m.v.column_scale,
      .flags = m.flags,
      .far = m.far,
      .visible = m.visible,
      .next_item = m.next_item,
      .tiles = static_cast<std::int32_t>(query_blocks)};
  std::vector<launchable> all{
      launch_of(split.code, line(tiles + ceil_div<std::int64_t>(m.visible.tiles(), split.code.threads / 32)),
                forward_split_params{{{m.q, m.k, m.v}, 3, depth, near_lo, m.next_item},
                                     p,
                                     m.visible,
                                     static_cast<std::int32_t>(tiles)}),
      launch_of(contract, line(p.members * p.kv_heads),
                contract_params{
                    m.q, m.k, {m.v}, 1, depth, scale_of(p), most_logit, most_near_logit, m.flags, m.far}),
      launch_of(with.code, line(blocks), product)};
  if (may_see_few_keys(r)) all.push_back(few_keys_forward(r));
  all.push_back(fp32_forward(r, m.flags));
  return all;
}

// The workspace of a backward.
struct gradient_memory {
  split_operand q, k, v, g;
  float* numbers;
  std::uint32_t *flags, *next_item;

  gradient_memory(const request& r, cutter& memory) {
    q = lay_out(r, memory, r.problem.q, true, false);
    k = lay_out(r, memory, r.problem.k, false, false);
    v = lay_out(r, memory, r.problem.v, false, false);
    g = lay_out(r, memory, r.back->out, true, false);
    g.sign = 1;
    numbers = memory.take<float>(2 * r.problem.heads * query_tiles(r) * split_rows);
    flags = memory.take<std::uint32_t>(r.problem.members * r.problem.kv_heads);
    next_item = memory.take<std::uint32_t>(2);
  }
};

launchable gradient_launch(const request& r, const gradient_memory& m, side of) {
  const problem& p = r.problem;
  const int depth = fp16::padded_depth(p.depth);
  const gradient_instance& with =
      find_instance(gradient_instances(r.where()), [&](const gradient_instance& i) {
        return i.policy.side == of && i.policy.depth == depth && i.policy.biased == is_biased(p);
      });
  const bool keys = of == side::keys;
  const auto map = [&](const split_operand& o, int rows) {
    return r.executor.encode(parts_layout(o, depth, rows));
  };
  const int own_rows = with.policy.own_rows();
  const gradient_params all{
      .own = {map(keys ? m.k : m.q, own_rows), map(keys ? m.v : m.g, own_rows)},
      .other = {map(keys ? m.q : m.k, split_rows), map(keys ? m.g : m.v, split_rows)},
      .problem = p,
      .results = *r.back,
      .to_score = score_factor(std::abs(scale_of(p))),
      .factor = keys ? std::abs(scale_of(p)) : scale_of(p),
      .queries = m.q.shape,
      .keys = m.k.shape,
      .q_scale = m.q.scale,
      .k_scale = m.k.scale,
      .v_scale = m.v.scale,
      .g_scale = m.g.scale,
      .numbers = m.numbers,
      .flags = m.flags,
      .next_item = m.next_item + (keys ? 0 : 1),
      .tiles = static_cast<std::int32_t>(ceil_div<std::int64_t>(keys ? p.keys : p.queries, own_rows)),
      .group = static_cast<std::int32_t>(p.heads / p.kv_heads),
      .bias_gradient = r.back->bias};
  const std::int64_t items = all.tiles * p.members * (keys ? p.kv_heads : p.heads);
  return launch_of(
      with.code, line(std::min<std::int64_t>(items, std::max(1, r.executor.limits().multiprocessors))), all);
}

// Flagged heads in FP32, from a softmax of their own: the forward's may come from FP16 parts, and the error
// of a large logit is in no weight only if both round it alike. Results go where the kernels before keep what
// no thread reads any more.
std::vector<launchable> flagged_launches(const request& r, const gradient_memory& m, cutter& memory) {
  request again = r;
  problem& p = again.problem;
  p.out = packed_heads(reinterpret_cast<float*>(m.q.parts), p.heads, r.packed() ? r.query_rows() : p.queries,
                       p.depth);
  p.softmax = m.numbers;
  p.logsumexp = nullptr;
  std::vector<launchable> all{fp32_forward(again, m.flags)};
  for (launchable& l : fp32_backward(again, memory, m.flags)) all.push_back(std::move(l));
  return all;
}

std::vector<launchable> gradient_launches(const request& r, cutter& memory) {
  const problem& p = r.problem;
  const gradient_memory m(r, memory);
  const auto depth = static_cast<std::int32_t>(p.depth);
  const gradient_split_instance& split =
      find_instance(gradient_split_instances(r.where()),
                    [&](const gradient_split_instance& i) { return i.depth == fp16::padded_depth(p.depth); });
  split_operand out = m.g;
  out.source = read_only(p.out);
  out.in_vectors = in_vectors(out.source, p.depth);
  std::int64_t tiles = 0;
  for (const split_operand* o : {&m.q, &m.k, &m.v, &m.g}) tiles += o->count * o->shape.tiles;
  const gradient_split_params parts{
      {{m.q, m.k, m.v}, 3, depth, near_lo, m.next_item}, m.g, out, p, m.numbers};
  std::vector<launchable> all{
      launch_of(split.code, line(tiles), parts),
      launch_of(contract_instances(r.where()).front().code, line(p.members * p.kv_heads),
                contract_params{m.q,
                                m.k,
                                {m.v, m.g},
                                2,
                                depth,
                                scale_of(p),
                                most_near_logit,
                                most_near_logit,
                                m.flags,
                                nullptr}),
      gradient_launch(r, m, side::keys), gradient_launch(r, m, side::queries)};
  for (launchable& l : flagged_launches(r, m, memory)) all.push_back(std::move(l));
  return all;
}

plan plan_backward(const request& r) {
  cutter counted({});
  gradient_memory(r, counted);
  fp32_backward(r, counted, nullptr);
  return planned(r, counted.used(), [](const request& call, std::span<std::byte> workspace) {
    cutter memory(workspace);
    return gradient_launches(call, memory);
  });
}

}  // namespace

plan plan_forward(const request& r, const forward_instance& with) {
  return planned(r, forward_memory(r, {}).bytes,
                 [&with](const request& call, std::span<std::byte> workspace) {
                   return forward_launches(call, with, workspace);
                 });
}

std::string fp16_unsuited(const request& r) {
  const problem& p = r.problem;
  if (p.depth > fp16::most_depth)
    return fmt::format("its rows have {} elements: it takes at most {}", p.depth, fp16::most_depth);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const double tiles = static_cast<double>(std::max(query_tiles(r), key_tiles(r))),
               heads = static_cast<double>(std::max(p.heads, p.kv_heads));
  if (tiles * split_rows > most || 3 * tiles * heads > most)
    return fmt::format("{} would need more than 2^31 rows or blocks", r.text());
  if (r.key_rows() == 0) return "there are no keys";
  return fp32_unsuited(r);
}

namespace {
// Time of a block with so many queries for those that see few keys, if all do: a warp computes its own one by
// one.
double seconds_of_few_keys(const request& r, std::int64_t queries, int warps) {
  const problem& p = r.problem;
  const double rows = std::max(1., static_cast<double>(p.queries)),
               seen = r.pairs() / (static_cast<double>(p.members * p.heads) * rows);
  if (seen > few_keys) return 0;
  return 1e-6 * costs::models_of(r.executor.limits()).attention.fp16.few_keys_row *
         std::ceil(std::max(1., static_cast<double>(queries)) / warps);
}
}  // namespace

// Splitting reads the operands' rows and writes 4 bytes of each element of the padded tiles; then the kernels
// walk over these.
double fp16_seconds(const request& r) {
  if (r.where() != target::cuda) return 0;
  const int multiprocessors = profile_of(r.executor.limits()).limits.multiprocessors;
  const costs::fp16_attention_cost& all = costs::models_of(r.executor.limits()).attention.fp16;
  const costs::fp16_attention_cost::per_depth& cost =
      all.of_depth[costs::place_of_depth(all.depths, r.problem.depth)];
  const problem& p = r.problem;
  const bool back = r.back.has_value();
  const int padded = fp16::padded_depth(p.depth), own_keys = padded == 64 ? 128 : split_rows;
  const auto bytes_of = [&](std::int64_t rows, std::int64_t tiles, std::int64_t heads, int read,
                            int written) {
    return 4 * static_cast<double>(heads) *
           (read * static_cast<double>(rows * p.depth) +
            written * static_cast<double>(tiles * split_rows * padded));
  };
  const double bytes = bytes_of(r.query_rows(), query_tiles(r), p.heads, back ? 3 : 1, back ? 2 : 1) +
                       bytes_of(r.key_rows(), key_tiles(r), p.kv_heads, 2, 2);
  const auto of = [&](const costs::tile_walk_cost& kernel, const tile_walk& by) {
    return seconds_of(kernel, by, r.walked(by.owns_keys), multiprocessors);
  };
  const double of_bias = back && r.back->bias.data != nullptr ? 4 * r.pairs() : 0;
  if (back)
    return 1e-6 * (bytes / cost.split_gradients + of_bias / cost.split) +
           of(cost.kernels.keys, {own_keys, split_rows, true}) + of(cost.kernels.queries, {128, split_rows});
  // Hidden pairs are read once as bytes, and then take time of their own in each tile.
  costs::tile_walk_cost forward = cost.kernels.forward;
  walked_call walked = r.walked(false);
  walked.biased = p.bias.data != nullptr;
  const visible_bits visible = bits_of(r);
  walked.depth = fp16::forward_columns(p.depth, 2, walked.biased, !walked.biased && visible.tiles() > 0);
  if (visible.tiles() > 0) forward.tile += cost.hidden;
  const double of_visible = static_cast<double>(visible.tiles()) * visible.rows * visible.columns;
  return 1e-6 * (bytes + of_visible) / cost.split + seconds_of(forward, {128, 128}, walked, multiprocessors) +
         seconds_of_few_keys(r, p.queries, few_warps);
}

namespace {
const forward_instance& forward_of(const request& r, int groups) {
  const bool biased = r.problem.bias.data != nullptr, hidden = !biased && r.problem.visible.data != nullptr;
  const int columns = fp16::forward_columns(r.problem.depth, groups, biased, hidden);
  return find_instance(forward_instances(r.where()), [&](const forward_instance& i) {
    const forward_policy& is = i.policy;
    return is.columns == columns && is.groups == groups && is.biased == biased && is.hidden == hidden;
  });
}

// Columns of the tables ascend.
template <class Instances> const auto& short_of(const Instances& all, const request& r) {
  return find_instance(all, [&](const auto& i) {
    return i.policy.biased == is_biased(r.problem) && i.policy.columns >= r.problem.depth;
  });
}

// Blocks of keys of a member, and blocks of queries, unless those of keys have all keys.
struct short_blocks {
  std::int64_t keys, queries;
  explicit short_blocks(const problem& p)
      : keys(tiles_in(p.keys)), queries(keys > 1 ? tiles_in(p.queries) : 0) {}
  double all(const problem& p) const {
    return static_cast<double>(p.members) * (static_cast<double>(keys) * static_cast<double>(p.kv_heads) +
                                             static_cast<double>(queries) * static_cast<double>(p.heads));
  }
};

double short_gradient_seconds(const request& r) {
  const auto& cost = costs::models_of(r.executor.limits()).attention.fp16.short_gradients;
  const int columns = short_of(short_gradient_instances(r.where()), r).policy.columns;
  const int multiprocessors = profile_of(r.executor.limits()).limits.multiprocessors;
  const auto walked = [&](bool owns_keys) {
    walked_call call = r.walked(owns_keys);
    call.depth = columns;
    return call;
  };
  if (short_blocks(r.problem).queries == 0) {
    costs::tile_walk_cost both = cost.keys;
    both.tile += cost.queries.tile, both.of_depth += cost.queries.of_depth,
        both.biased += cost.queries.biased;
    walked_call call = walked(true);
    call.sees.low = -call.sees.keys,
    call.sees.high = 1 << 30;  // queries that see no key are walked over, too
    return seconds_of(both, {split_rows, split_rows, true}, call, multiprocessors);
  }
  const walk_times keys = times_of(cost.keys, {split_rows, split_rows, true}, walked(true), multiprocessors),
                   queries = times_of(cost.queries, {split_rows, split_rows}, walked(false), multiprocessors);
  return keys.start + std::max({keys.longest, queries.longest, keys.all + queries.all});  // one launch
}

plan plan_short_gradients(const request& r) {
  return planned(
      r, 0,
      [&with = short_of(short_gradient_instances(r.where()), r)](const request& call, std::span<std::byte>) {
        const problem& p = call.problem;
        const short_blocks blocks(p);
        const auto of_keys = static_cast<std::int32_t>(blocks.keys * p.kv_heads * p.members);
        return std::vector{
            launch_of(with.code, line(of_keys + blocks.queries * p.heads * p.members),
                      short_gradient_params{.problem = p,
                                            .results = *call.back,
                                            .bias_gradient = call.back->bias,
                                            .to_score = score_factor(std::abs(scale_of(p))),
                                            .most_logit = most_near_logit,
                                            .key_blocks = of_keys,
                                            .query_tiles = static_cast<std::int32_t>(blocks.queries),
                                            .q_in_vectors = in_vectors(p.q, p.depth),
                                            .k_in_vectors = in_vectors(p.k, p.depth),
                                            .v_in_vectors = in_vectors(p.v, p.depth),
                                            .out_in_vectors = in_vectors(read_only(p.out), p.depth),
                                            .gradient_in_vectors = in_vectors(call.back->out, p.depth)})};
      });
}
}  // namespace

std::string short_unsuited(const request& r) {
  if (r.key_rows() == 0) return "there are no keys";
  if (r.back.has_value()) {
    if (r.problem.depth > fp16::most_short_gradient)
      return fmt::format("its rows have {} elements: it computes gradients of at most {}", r.problem.depth,
                         fp16::most_short_gradient);
    if (std::string no = too_many(short_blocks(r.problem).all(r.problem)); !no.empty()) return no;
  }
  return fp32_unsuited(r);
}

double short_seconds(const request& r) {
  if (r.where() != target::cuda) return 0;
  if (r.back.has_value()) return r.problem.depth > fp16::most_short_gradient ? 0 : short_gradient_seconds(r);
  const costs::fp16_attention_cost& all = costs::models_of(r.executor.limits()).attention.fp16;
  const short_policy& how = short_of(short_instances(r.where()), r).policy;
  walked_call walked = r.walked(false);
  walked.depth = how.columns;
  return seconds_of(all.short_sequences[costs::place_of_depth(all.depths_of_short, r.problem.depth)],
                    {split_rows, split_rows}, walked,
                    profile_of(r.executor.limits()).limits.multiprocessors) +
         seconds_of_few_keys(r, std::min<std::int64_t>(r.problem.queries, split_rows), how.warps());
}

plan plan_short(const request& r) {
  if (r.back.has_value()) return plan_short_gradients(r);
  return planned(
      r, 0, [&with = short_of(short_instances(r.where()), r)](const request& call, std::span<std::byte>) {
        const problem& p = call.problem;
        const std::int64_t tiles = tiles_in(p.queries);
        return std::vector{launch_of(with.code, line(tiles * p.heads * p.members),
                                     short_params{.problem = p,
                                                  .factor = score_factor(std::abs(scale_of(p))),
                                                  .most_logit = most_logit,
                                                  .tiles = static_cast<std::int32_t>(tiles),
                                                  .q_in_vectors = in_vectors(p.q, p.depth),
                                                  .k_in_vectors = in_vectors(p.k, p.depth),
                                                  .v_in_vectors = in_vectors(p.v, p.depth)})};
      });
}

plan plan_fp16(const request& r) {
  return r.back.has_value() ? plan_backward(r) : plan_forward(r, forward_of(r, 2));
}

std::string roles_unsuited(const request& r) {
  if (r.back.has_value()) return "it is a step of the forward's ladder, which computes no gradients";
  if (is_biased(r.problem)) return "it is a step of the ladder, which takes neither a bias nor hidden pairs";
  return fp16_unsuited(r);
}
plan plan_roles(const request& r) { return plan_forward(r, forward_of(r, 1)); }
plan plan_antiphase(const request& r) { return plan_forward(r, forward_of(r, 2)); }

}  // namespace antiphase::attentions
