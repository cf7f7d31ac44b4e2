// SPDX-License-Identifier: Apache-2.0
#include "library/scan/passes/passes_plan.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/scan/detail/passes.hpp>
#include <cstring>

#include "library/scan/element_bits.hpp"
#include "library/scan/registry.hpp"

namespace antiphase::scans {

std::span<const instance> instances(target where) { return instances_of<scan_lists, instance>(where); }

namespace {

bool takes_types(const problem& p) { return !is_half(p.type) && result_type(p) == p.type; }

const instance& find_instance(target where, const step& how, const problem& p, element type) {
  for (const instance& i : instances(where))
    if (std::string_view(i.step) == how.name && i.type == type && i.operation == p.operation) return i;
  throw not_supported(
      fmt::format("this build has no kernel of scan policy {} for {}", how.name, description(p, nullptr)));
}

template <class T> T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

lines lines_of(const problem& p) { return {p.outer, p.length, p.inner, p.direction}; }

// Calls f(arguments<Value, T, T>) with the problem's arguments: elements of T, computed in Value.
template <class F> auto with_arguments(const problem& p, F f) {
  return with_element(computed_as(p), [&]<class T>() {
    const auto as = [&]<class Value>(Value initial) {
      return f(arguments<Value, T, T>{.in = static_cast<const T*>(p.in),
                                      .out = static_cast<T*>(p.out),
                                      .totals = nullptr,
                                      .over = lines_of(p),
                                      .kind = p.kind,
                                      .initial = initial});
    };
    const T initial = from_bits<T>(first_of_exclusive(p));
    if constexpr (std::is_same_v<T, float>)
      if (value_of(p) == element::f64) return as(double{initial});
    return as(initial);
  });
}

}  // namespace

bool has_passes(target where, const step& how, element type, scan_operation operation) {
  if (is_half(type) || (where == target::cuda && is_for_short_lines(how))) return false;
  return has_all_types(how) ||
         (operation == scan_operation::sum && size_of(type) >= 4 && unsigned_of(type) != element::u64);
}

misfit passes_suit(const step& how, const request& r) {
  if (r.keys != nullptr) return misfit::no_segments;
  if (r.empty()) return misfit::none;
  if (!takes_types(r.problem)) return misfit::types;
  return has_passes(r.where(), how, r.problem.type, r.problem.operation) ? misfit::none
                                                                         : misfit::not_compiled;
}

std::string passes_words(misfit why, const step& how, const request& r) {
  if (why == misfit::types)
    return fmt::format("{}: this build has such kernels of policies single-pass and single-pass-async only",
                       r.text());
  const bool small = is_for_short_lines(how) && r.where() == target::cuda;
  return fmt::format("{}: it is compiled for {}", r.text(),
                     small ? "the CPU executor only" : "sums of f32, f64, i32 and u32 only");
}

std::size_t passes_workspace(const step& how, const problem& p, const scan_keys*) {
  if (is_empty(p) || !takes_types(p)) return 0;
  return with_element(value_of(p),
                      [&]<class T>() { return workspace_bytes<T>(how.policy.tile(sizeof(T)), lines_of(p)); });
}

plan plan_passes(const step& how, const request& r) {
  const element type = computed_as(r.problem), of_value = value_of(r.problem);
  const instance &i = find_instance(r.where(), how, r.problem, type),
                 &of_totals =
                     of_value == element::f64 ? find_instance(r.where(), how, r.problem, of_value) : i;
  const int tile = i.kernels.tile;
  return planned(r, {tile, r.lines() * ceil_div<std::int64_t>(r.problem.length, tile)},
                 passes_workspace(how, r.problem, nullptr), memory_use::scratch,
                 [&i, &of_totals](const request& call, std::span<std::byte> workspace) {
                   return with_arguments(call.problem, [&](const auto& whole) {
                     return passes(i.kernels, of_totals.kernels, whole, workspace.data());
                   });
                 });
}

launchable prepare_tiles(target where, const step& how, const problem& p) {
  require_sensible(p);
  if (is_single_pass(how)) throw not_supported("the single-pass scan has no tiles on their own");
  if (!takes_types(p) || !has_passes(where, how, p.type, p.operation))
    throw not_supported(fmt::format("scan policy {} has no tiles of {}", how.name, description(p, nullptr)));
  const instance& i = find_instance(where, how, p, computed_as(p));
  return with_arguments(p,
                        [&](const auto& whole) { return launch_of(i.kernels.scan, i.kernels.tile, whole); });
}

}  // namespace antiphase::scans
