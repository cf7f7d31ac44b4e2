// SPDX-License-Identifier: Apache-2.0
#include "library/scan/wave/wave_plan.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/scan/detail/single_pass.hpp>
#include <cstring>

#include "library/scan/registry.hpp"
#include "library/scan/request.hpp"

namespace antiphase::scans {

std::span<const wave_instance> wave_instances(target where) {
  return instances_of<scan_lists, wave_instance>(where);
}

namespace {

std::int64_t bytes_of(const problem& p) { return p.length * static_cast<std::int64_t>(size_of(p.type)); }
std::uint32_t tiles_of(const problem& p) {
  return static_cast<std::uint32_t>(ceil_div<std::int64_t>(bytes_of(p), wave_for(bytes_of(p)).tile_bytes()));
}

misfit suits(const problem& p) {
  if (p.outer != 1 || p.inner != 1) return misfit::lines;
  if (p.operation != scan_operation::sum || is_half(p.type) || result_type(p) != p.type) return misfit::types;
  return bytes_of(p) > most_bytes_of_wave ? misfit::length : misfit::none;
}

const wave_instance& find_instance(target where, const problem& p) {
  for (const wave_instance& i : wave_instances(where))
    if (i.type == computed_as(p) && i.operation == p.operation && i.policy == wave_for(bytes_of(p))) return i;
  throw not_supported(fmt::format("this build has no one-wave kernel for {}", description(p, nullptr)));
}

}  // namespace

misfit wave_suits(const step&, const request& r) {
  if (r.keys != nullptr) return misfit::no_segments;
  return r.empty() ? misfit::none : suits(r.problem);
}

std::string wave_words(misfit why, const step&, const request& r) {
  const problem& p = r.problem;
  if (why == misfit::lines)
    return fmt::format("{} x {} lines: it scans one contiguous line", p.outer, p.inner);
  if (why == misfit::types)
    return fmt::format("{}: it is compiled for sums of the elements' own type, but f16 and bf16", r.text());
  return fmt::format("{} elements of {} are {} bytes: it scans at most {}", p.length, name(p.type),
                     bytes_of(p), most_bytes_of_wave);
}

std::size_t wave_workspace(const step&, const problem& p, const scan_keys*) {
  if (is_empty(p) || suits(p) != misfit::none || tiles_of(p) == 1) return 0;
  return single_pass_bytes(size_of(p.type), tiles_of(p));
}
std::size_t most_wave_workspace(const step&, const problem&, const scan_keys* keys) {
  return keys != nullptr ? 0 : single_pass_bytes(sizeof(std::uint64_t), most_tiles_of_wave);
}

std::size_t one_wave_workspace(const wave_instance& with, const problem& p) {
  return single_pass_bytes(size_of(p.type),
                           static_cast<std::uint64_t>(ceil_div<std::int64_t>(p.length, with.tile)));
}

launchable prepare_one_wave(const wave_instance& with, const problem& p, std::uint64_t initial,
                            std::span<std::byte> workspace) {
  const auto tiles = static_cast<std::uint32_t>(ceil_div<std::int64_t>(p.length, with.tile));
  const tile_words words = tiles > 1 ? words_in(workspace) : tile_words{};
  const one_wave_arguments all{.in = p.in,
                               .out = p.out,
                               .length = p.length,
                               .tiles = tiles,
                               .kind = p.kind,
                               .direction = p.direction,
                               .initial = initial,
                               .control = words.control,
                               .states = words.states,
                               .state_words = words.state_words};
  launchable l{.code = with.code, .grid = {tiles, 1, 1}, .arguments = {}};
  l.arguments.resize(sizeof all);
  std::memcpy(l.arguments.data(), &all, sizeof all);
  return l;
}

plan plan_wave(const step& how, const request& r) {
  const problem& p = r.problem;
  const wave_instance& i = find_instance(r.where(), p);
  return planned(r, {i.policy.tile_bytes() / static_cast<std::int64_t>(size_of(p.type)), tiles_of(p)},
                 wave_workspace(how, p, nullptr), memory_use::keeps_state,
                 [&i](const request& call, std::span<std::byte> workspace) -> std::vector<launchable> {
                   return {prepare_one_wave(i, call.problem, first_of_exclusive(call.problem), workspace)};
                 });
}

}  // namespace antiphase::scans
