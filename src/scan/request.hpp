// SPDX-License-Identifier: Apache-2.0
// What a scan problem says, in the terms of its kernels, and what comes of it.
#pragma once
#include <antiphase/core/element.hpp>
#include <antiphase/executor/executor.hpp>
#include <antiphase/scan/detail/launches.hpp>
#include <antiphase/scan/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::scans {

std::string_view name(scan_operation operation);
bool is_empty(const problem& p);

// The type of the results.
inline element result_type(const problem& p) { return p.accumulate.value_or(p.type); }
// The type of the same size whose arithmetic has the same bits.
element unsigned_of(element type);

// The type that kernels for results of the elements' own type work on: sums and products of signed integers
// have the bits of unsigned ones.
element computed_as(const problem& p);

// Bits of an element, the lowest ones of the word: where a scan begins that says nothing else, and where this
// exclusive one begins.
std::uint64_t identity_bits(element type, scan_operation operation);
std::uint64_t first_of_exclusive(const problem& p);

// What can be said of a problem without its memory. Throws bad_request naming the first argument that is
// wrong.
void require_sensible_sizes(const problem& p);

// A workspace of the caller's: large enough, there, aligned; and, for a sensible problem with such keys or
// none, memory of its own.
void require_workspace(std::span<std::byte> given, std::size_t bytes);
void require_own_memory(const problem& p, const scan_keys* keys, std::span<std::byte> workspace);

// "sum of i8 into i32, by key"
std::string description(const problem& p, const scan_keys* keys);

// A problem that was judged and found sensible, and where it is to run. It refers to what its maker has.
struct request {
  const executor& on;
  const problem& what;
  const scan_keys* keys;  // null: the problem's own lines

  target where() const { return on.kind(); }
  bool empty() const { return is_empty(what); }
  std::int64_t lines() const { return what.outer * what.inner; }
  std::string text() const { return description(what, keys); }
};
// Throws bad_request naming the first argument that makes no sense.
request judged(const executor& on, const problem& p, const scan_keys* keys);

// Why a step does not take a sensible request.
enum class misfit {
  none,
  feature,       // of the device
  no_segments,   // it cannot tell segments apart
  lines,         // they are several, or not contiguous
  types,         // not those of its algorithm
  length,        // more elements than it takes
  not_compiled,  // though it could
};

// What a step does with a request that it takes, its kernel found.
struct plan {
  std::int64_t tile = 0, tiles = 0;  // elements of a tile; tiles of all lines
  int stages = 1;                    // tiles of a block's ring
  std::size_t workspace = 0;         // bytes
  bool keeps_state = false;          // in the workspace, from launch to launch
  // What to launch, in this order, with so much workspace or more. It refers to the request's problem and
  // keys.
  std::function<std::vector<launchable>(std::span<std::byte> workspace)> launches = {};
};

}  // namespace antiphase::scans
