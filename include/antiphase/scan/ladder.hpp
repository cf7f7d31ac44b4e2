// SPDX-License-Identifier: Apache-2.0
// The steps of the scan ladder, and the launches of a scan.
#pragma once
#include <antiphase/scan/detail/launches.hpp>
#include <antiphase/scan/detail/policy.hpp>
#include <antiphase/scan/detail/ring_policy.hpp>
#include <antiphase/scan/detail/wave_policy.hpp>
#include <antiphase/scan/problem.hpp>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace antiphase {
class executor;
namespace scans {

struct step {
  const char* name;
  const char* adds;  // what it adds to the previous step
  scans::policy policy;
  ring_policy ring = ring_scan_policy;  // of single passes
};

constexpr policy two_barriers_policy{.method = method::two_barriers};
constexpr policy double_buffer_policy{.method = method::double_buffer};
constexpr policy warp_shuffle_policy{.method = method::warp_shuffle};
constexpr policy items_policy{.method = method::warp_shuffle, .bytes = 64, .blocks = 4};
constexpr policy single_pass_policy{.method = method::single_pass};
constexpr policy one_wave_policy{.method = method::one_wave};
constexpr policy columns_policy{.method = method::columns};
constexpr ring_policy with_stages(int stages) { return {.stages = stages, .in_flight = stages < 2 ? 1 : 2}; }

inline constexpr step steps[] = {
    {"two-barriers", "Kogge-Stone, one element per thread, two barriers per step", two_barriers_policy},
    {"double-buffer", "2 buffers: one barrier per step", double_buffer_policy},
    {"warp-shuffle", "steps within a warp through registers, two barriers in all", warp_shuffle_policy},
    {"items", "64 bytes per thread, in accesses of 16 bytes", items_policy},
    {"single-pass-async", "the array read once: tiles by cp.async, totals between blocks", single_pass_policy,
     by_threads(ring_scan_policy)},
    {"single-pass-1", "tiles by bulk copies; 1 stage", single_pass_policy, with_stages(1)},
    {"single-pass-2", "2 stages: a tile is loaded while another is scanned", single_pass_policy,
     with_stages(2)},
    {"single-pass-3", "3 stages", single_pass_policy, with_stages(3)},
    {"single-pass", "8 stages: tiles wait in the ring for what lies before them", single_pass_policy},
    {"one-wave", "up to 16 MiB: all tiles at once, in registers, one exchange of totals", one_wave_policy},
};

// Steps outside the ladder, for many short lines on the CPU executor, where every thread of a block costs
// time, even without elements: the kernels of items in smaller blocks, compiled for the CPU executor only.
// Lines longer than a block's tile work, but take three kernels, as with items.
inline constexpr step short_line_steps[] = {
    {"items-thread", "items in blocks of one thread, for lines of up to 16 elements; CPU executor only",
     policy{.method = method::warp_shuffle, .threads = 1, .bytes = 64}},
    {"items-warp", "items in blocks of one warp, for lines of up to 512 elements; CPU executor only",
     policy{.method = method::warp_shuffle, .threads = 32, .bytes = 64}},
};

// A step outside the ladder, for axes that are not the last.
inline constexpr step column_steps[] = {
    {"columns",
     "an axis that is not the last: columns side by side, the array read once, totals between blocks",
     columns_policy},
};

// The step of that name, of the ladder or next to it; throws bad_request, with the known names. find_policy()
// lists `auto` too in that message, for scan_options::policy.
const step& find_step(std::string_view name);
const step& find_policy(std::string_view name);
constexpr bool is_for_short_lines(const step& s) {
  for (const step& small : short_line_steps)
    if (s.policy == small.policy) return true;
  return false;
}
constexpr bool is_for_columns(const step& s) { return s.policy.method == method::columns; }
// Whether a step reads the array once and keeps state between launches in its workspace, which is zero at
// first.
constexpr bool is_one_wave(const step& s) { return s.policy.method == method::one_wave; }
constexpr bool is_single_pass(const step& s) {
  return s.policy.method == method::single_pass || is_one_wave(s);
}
// Steps with fewer stages than the library's own ring, for measurements.
constexpr bool is_short_ring(const step& s) {
  return s.policy.method == method::single_pass && s.ring.mover == tile_mover::copy_engine &&
         s.ring != ring_scan_policy;
}
// Steps of several passes with kernels for all types and operations. To limit compile time, the others have
// sums of f32, f64, i32 and u32 only.
constexpr bool has_all_types(const step& s) { return s.policy == items_policy || is_for_short_lines(s); }
// Elements per tile, for elements of `size` bytes; for one-wave the tile of the shortest arrays.
constexpr int tile_of(const step& s, std::size_t size) {
  if (is_one_wave(s)) return wave_choices[0].policy.tile_bytes() / static_cast<int>(size);
  return is_single_pass(s) ? s.ring.tile_bytes() / static_cast<int>(size) : s.policy.tile(size);
}

// The compiled kernels of a step for one type and operation. Sums and products of signed integers use those
// of unsigned ones, with the same bits.
struct instance {
  const char* step;
  element type;
  scan_operation operation;
  scans::policy policy;
  kernel_pair kernels;
};
std::span<const instance> instances(target where);
// Whether a step is compiled for the type and the operation.
bool is_compiled(target where, const step& how, element type, scan_operation operation);

// Throws bad_request naming the first argument that makes no sense.
void require_sensible(const problem& p);

// The launches of a scan of whole lines, in order, with a workspace of at least workspace_bytes() bytes,
// aligned to 16 bytes. Empty where the problem has no elements. Throws bad_request if the problem makes no
// sense, not_supported if the step has no kernel for it.
std::size_t workspace_bytes(const step& how, const problem& p);
std::vector<launchable> prepare(const executor& on, const step& how, const problem& p,
                                std::span<std::byte> workspace);

// One launch that scans every tile of every line on its own, to compare the steps of the ladder. Not for
// single-pass.
launchable prepare_tiles(target where, const step& how, const problem& p);

}  // namespace scans
}  // namespace antiphase
