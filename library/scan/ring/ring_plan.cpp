// SPDX-License-Identifier: Apache-2.0
#include "library/scan/ring/ring_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/scan/detail/single_pass.hpp>
#include <cstring>
#include <limits>

#include "library/scan/element_bits.hpp"
#include "library/scan/registry.hpp"
#include "library/scan/request.hpp"

namespace antiphase::scans {

std::span<const single_pass_instance> single_pass_instances(target where) {
  return instances_of<scan_lists, single_pass_instance>(where);
}

namespace {

std::int64_t elements_of(const problem& p) { return p.outer * p.length; }

lines_kind over(const problem& p, const scan_keys* keys) {
  return keys != nullptr || (p.outer > 1 && p.length > 0) ? lines_kind::segments : lines_kind::one;
}

// Whether the algorithm supports these types and lines. Segments have no sums wider than the elements.
bool takes_types(const step& how, const problem& p, const scan_keys* keys) {
  const element in = unsigned_of(p.type), out = unsigned_of(result_type(p));
  const bool one_line = over(p, keys) == lines_kind::one;
  if (is_short_ring(how))
    return one_line && in == element::f32 && out == in && p.operation == scan_operation::sum;
  return one_line || in == out;
}

// Parameters of the kernel for a problem that takes_types() accepts.
struct shape {
  ring_policy ring;
  element value;
  int tile;
  std::size_t total;  // bytes
};
shape shape_of(const step& how, const problem& p, const scan_keys* keys) {
  const element in = unsigned_of(p.type), out = unsigned_of(result_type(p));
  const ring_policy ring = ring_of(how, in, out, p.operation, over(p, keys));
  const element value = value_of(p);
  return {ring, value, ring.tile_of(size_of(in), size_of(out)), total_bytes(value, over(p, keys))};
}
std::int64_t tiles_of(const shape& s, const problem& p) {
  return ceil_div<std::int64_t>(elements_of(p), s.tile);
}

const single_pass_instance& find_instance(const step& how, const request& r) {
  const problem& p = r.problem;
  for (const single_pass_instance& i : single_pass_instances(r.where()))
    if (i.step == how.name && i.in == unsigned_of(p.type) && i.out == unsigned_of(result_type(p)) &&
        i.operation == one_pass_as(p.operation) && i.over == over(p, r.keys))
      return i;
  throw not_supported(fmt::format("this build has no kernel of scan policy {} for {}", how.name, r.text()));
}

segment_arguments segments_of(const problem& p, const scan_keys* keys, int tile) {
  if (keys == nullptr) return rows_of(std::max<std::int64_t>(p.length, 1), tile);
  segment_arguments by = rows_of(tile, tile);
  by.source = keys->segments == segments_by::keys ? segment_source::keys : segment_source::head_flags;
  by.keys = keys->data;
  const bool flags = keys->segments == segments_by::head_flags;
  by.key_bytes = flags ? 1 : static_cast<int>(size_of(keys->type));
  by.floating_keys = !flags && is_floating(keys->type);
  return by;
}

}  // namespace

misfit ring_suits(const step& how, const request& r) {
  if (r.keys != nullptr && is_short_ring(how)) return misfit::no_segments;
  if (r.empty()) return misfit::none;
  if (r.problem.inner != 1) return misfit::lines;
  if (!takes_types(how, r.problem, r.keys)) return misfit::types;
  if (!is_listed(how.ring.mover, r.where() == target::cuda, unsigned_of(r.problem.type)))
    return misfit::not_compiled;
  const std::int64_t tiles = tiles_of(shape_of(how, r.problem, r.keys), r.problem);
  return tiles > std::numeric_limits<int>::max() ? misfit::length : misfit::none;
}

std::string ring_words(misfit why, const step& how, const request& r) {
  const problem& p = r.problem;
  if (why == misfit::lines)
    return fmt::format("{} x {} lines: those that it scans are contiguous", p.outer, p.inner);
  if (why == misfit::types && is_short_ring(how))
    return fmt::format("{}: it is compiled for sums of one line of f32 only", r.text());
  if (why == misfit::length)
    return fmt::format("{} elements are {} tiles: it takes at most 2^31 - 1", elements_of(p),
                       tiles_of(shape_of(how, p, r.keys), p));
  return fmt::format("{}: this build has no such kernel", r.text());
}

std::size_t ring_workspace(const step& how, const problem& p, const scan_keys* keys) {
  if (is_empty(p) || !takes_types(how, p, keys)) return 0;
  const shape s = shape_of(how, p, keys);
  return single_pass_bytes(s.total, static_cast<std::uint64_t>(tiles_of(s, p)));
}

plan plan_ring(const step& how, const request& r) {
  const single_pass_instance& i = find_instance(how, r);
  const shape s = shape_of(how, r.problem, r.keys);
  const auto launches = [&i, s](const request& call,
                                std::span<std::byte> workspace) -> std::vector<launchable> {
    const problem& p = call.problem;
    const std::int64_t tiles = tiles_of(s, p);
    const tile_words words = words_in(workspace);
    const single_pass_arguments all{.in = p.in,
                                    .out = p.out,
                                    .length = elements_of(p),
                                    .tiles = static_cast<std::uint32_t>(tiles),
                                    .kind = p.kind,
                                    .direction = p.direction,
                                    .neutral = neutral_bits(p.type, p.operation),
                                    .initial = initial_bits(p, s.value),
                                    .flip = flip_of(p),
                                    .segments = segments_of(p, call.keys, s.tile),
                                    .control = words.control,
                                    .states = words.states,
                                    .state_words = words.state_words};
    const auto blocks = static_cast<unsigned>(
        std::min<std::int64_t>(tiles, std::max(1, call.executor.limits().multiprocessors)));
    launchable l{.code = i.code, .grid = {blocks, 1, 1}, .arguments = {}};
    l.arguments.resize(sizeof all);
    std::memcpy(l.arguments.data(), &all, sizeof all);
    return {l};
  };
  return planned(r, {s.tile, tiles_of(s, r.problem), s.ring.stages}, ring_workspace(how, r.problem, r.keys),
                 memory_use::keeps_state, launches);
}

}  // namespace antiphase::scans
