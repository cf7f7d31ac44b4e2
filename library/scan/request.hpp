// SPDX-License-Identifier: Apache-2.0
// Scan problems: validation, translation to the terms of the kernels, and the resulting plan.
#pragma once
#include <antiphase/core/element.hpp>
#include <antiphase/executor/executor.hpp>
#include <antiphase/scan/detail/launches.hpp>
#include <antiphase/scan/operators.hpp>
#include <antiphase/scan/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "library/choice/plan.hpp"

namespace antiphase::scans {

bool is_empty(const problem& p);

// The type of the results.
inline element result_type(const problem& p) { return p.accumulate.value_or(p.type); }
// Signed integers become unsigned ones of the same size; other types stay.
element unsigned_of(element type);

// The type that kernels compute in, if results have the elements' type: sums and products of signed integers
// have the bits of unsigned ones.
element computed_as(const problem& p);

// Start values as bits of an element, in the low bits of the word: the identity of an operation, and the
// first result of an exclusive scan.
std::uint64_t identity_bits(element type, scan_operation operation);
std::uint64_t first_of_exclusive(const problem& p);

// Checks all of a problem but its memory. Throws bad_request naming the first argument that is wrong.
void require_sensible_sizes(const problem& p);

// Check a caller's workspace: its size, address and alignment; and that it overlaps neither the arrays nor
// the keys of a valid problem.
void require_workspace(std::span<std::byte> given, std::size_t bytes);
void require_own_memory(const problem& p, const scan_keys* keys, std::span<std::byte> workspace);

// "sum of i8 into i32, by key"
std::string description(const problem& p, const scan_keys* keys);

struct step;
struct scan_traits;

// A validated problem and where it is to run. Refers to the caller's objects.
struct request {
  using ladder_step = scans::step;
  using traits = scan_traits;

  const antiphase::executor& executor;
  const scans::problem& problem;
  const scan_keys* keys;  // null: the problem's own lines

  target where() const { return executor.kind(); }
  const device_limits& device() const { return executor.limits(); }
  bool empty() const { return is_empty(problem); }
  std::int64_t lines() const { return problem.outer * problem.inner; }
  std::string text() const { return description(problem, keys); }
};
// Throws bad_request, which names the first argument that is wrong.
request validated(const executor& on, const problem& p, const scan_keys* keys);

// Why a step does not take a valid request.
enum class misfit {
  none,
  feature,       // missing on the device
  no_segments,   // does not support segments
  lines,         // several, not contiguous, or along the wrong axis
  types,         // not supported by its algorithm
  length,        // too many elements
  not_compiled,  // the algorithm would support it
};

// A plan of a scan. A type of its own, so that headers that kernels include can declare it without knowing
// plans.
struct plan : choices::plan {
  explicit plan(choices::plan&& made) : choices::plan(std::move(made)) {}
};

// A plan of the launches that make(request, workspace) returns, in order.
struct tiling {
  std::int64_t tile = 0, tiles = 0;  // elements of a tile; tiles of all lines
  int stages = 1;                    // of a block's ring, a tile each
};
template <class Make> struct made_call {
  scans::problem problem;
  std::optional<scan_keys> keys;
  tiling tiles;
  Make make;
};
template <class Make> launch_counts run(const made_call<Make>& call, const choices::work& w) {
  const request r{w.context.runs_on(), call.problem, call.keys ? &*call.keys : nullptr};
  launch_counts counts;
  for (const launchable& l : call.make(r, w.memory)) counts += w.launch(l.code, l.grid, l.arguments.data());
  return counts;
}
template <class Make> void describe(const made_call<Make>& call, choices::description& text) {
  text.tile = call.tiles.tile, text.tiles = call.tiles.tiles, text.stages = call.tiles.stages;
}
enum class memory_use { scratch, keeps_state };  // keeps_state: in the workspace, between launches
template <class Make>
plan planned(const request& r, const tiling& tiles, std::size_t workspace, memory_use use, Make make) {
  return plan(choices::plan::of_type<run<Make>, describe<Make>>(
      made_call<Make>{r.problem, r.keys != nullptr ? std::optional(*r.keys) : std::nullopt, tiles,
                      std::move(make)},
      workspace, use == memory_use::keeps_state));
}

}  // namespace antiphase::scans
