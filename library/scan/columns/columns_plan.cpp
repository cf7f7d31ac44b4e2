// SPDX-License-Identifier: Apache-2.0
#include "library/scan/columns/columns_plan.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/scan/detail/single_pass.hpp>
#include <cstring>
#include <limits>

#include "library/scan/columns/columns_policy.hpp"
#include "library/scan/element_bits.hpp"
#include "library/scan/registry.hpp"
#include "library/scan/request.hpp"

namespace antiphase::scans {

std::span<const columns_instance> columns_instances(target where) {
  return instances_of<scan_lists, columns_instance>(where);
}

namespace {

column_shape shape_of(const problem& p) {
  return column_shape_of({p.outer, p.length, p.inner, p.direction}, size_of(value_of(p)));
}
// Bytes carried from group to group. Sums of floats take twice the value's size: f32 in a double, f64 in two
// doubles.
std::size_t carry_bytes(const problem& p) {
  const element value = value_of(p);
  return is_floating(value) && p.operation == scan_operation::sum ? 2 * size_of(value) : size_of(value);
}
std::int64_t words_of(const problem& p) {
  const column_shape s = shape_of(p);
  return s.totals() * state_words_of(size_of(value_of(p))) + s.prefixes() * state_words_of(carry_bytes(p));
}

const columns_instance& find_instance(const request& r) {
  const problem& p = r.problem;
  for (const columns_instance& i : columns_instances(r.where()))
    if (i.in == unsigned_of(p.type) && i.out == unsigned_of(result_type(p)) &&
        i.operation == one_pass_as(p.operation))
      return i;
  throw not_supported(fmt::format("this build has no kernel of scan policy columns for {}", r.text()));
}

}  // namespace

misfit columns_suit(const step&, const request& r) {
  if (r.keys != nullptr) return misfit::no_segments;
  if (r.empty()) return misfit::none;
  if (r.problem.inner == 1) return misfit::lines;
  // Block indices and words of the workspace must fit in 31 bits.
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return shape_of(r.problem).blocks() > most || words_of(r.problem) > most ? misfit::length : misfit::none;
}

std::string columns_words(misfit why, const step&, const request& r) {
  const problem& p = r.problem;
  if (why == misfit::lines)
    return fmt::format("{} x {} lines: it scans along an axis that is not the last", p.outer, p.inner);
  return fmt::format("{} x {} x {} elements are {} tiles: it takes at most 2^31 - 1 and as many totals",
                     p.outer, p.length, p.inner, shape_of(p).blocks());
}

std::size_t columns_workspace(const step&, const problem& p, const scan_keys* keys) {
  if (is_empty(p) || keys != nullptr || p.inner == 1) return 0;
  const auto words = static_cast<std::size_t>(words_of(p));
  return words == 0 ? 0 : (control_words + words) * sizeof(std::uint64_t);
}

plan plan_columns(const step& how, const request& r) {
  const columns_instance& i = find_instance(r);
  const column_shape s = shape_of(r.problem);
  const std::size_t bytes = columns_workspace(how, r.problem, nullptr);
  const auto launches = [&i, s, bytes](const request& call,
                                       std::span<std::byte> workspace) -> std::vector<launchable> {
    const problem& p = call.problem;
    const tile_words words = bytes > 0 ? words_in(workspace) : tile_words{};
    const column_arguments all{.in = p.in,
                               .out = p.out,
                               .outer = p.outer,
                               .length = p.length,
                               .inner = p.inner,
                               .strips = s.strips,
                               .tiles = static_cast<std::uint32_t>(s.tiles),
                               .columns = s.columns,
                               .segments = s.segments,
                               .whole_rows = s.whole_rows,
                               .kind = p.kind,
                               .direction = p.direction,
                               .initial = initial_bits(p, value_of(p)),
                               .flip = flip_of(p),
                               .control = words.control,
                               .states = words.states,
                               .state_words = words.state_words};
    launchable l{.code = i.code, .grid = {static_cast<unsigned>(s.blocks()), 1, 1}, .arguments = {}};
    l.arguments.resize(sizeof all);
    std::memcpy(l.arguments.data(), &all, sizeof all);
    return {l};
  };
  return planned(r, {std::int64_t{s.rows()} * s.columns, s.blocks()}, bytes, memory_use::keeps_state,
                 launches);
}

}  // namespace antiphase::scans
