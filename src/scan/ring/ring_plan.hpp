// The compiled kernels of the single-pass scan, and what a problem becomes for them.
#pragma once
#include <antiphase/executor/executor.hpp>
#include <antiphase/scan/ladder.hpp>
#include <antiphase/scan/problem.hpp>
#include <antiphase/scan/detail/ring_policy.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::scans {

// One kernel: the element types in memory and the operation, of which signed integers share those of unsigned ones, and maxima those of
// minima.
struct single_pass_instance {
  std::string_view step;  // of the ladder
  element in, out;
  scan_operation operation;
  lines_kind over;
  kernel code;
  int tile;                 // elements
  element value;            // what it computes with
  std::size_t total_bytes;  // of what blocks tell each other of a tile
};
std::span<const single_pass_instance> single_pass_instances(target where);
// Whether there is one for a line of that type.
bool has_single_pass(target where, element type, scan_operation operation, std::string_view step);

// Why the single-pass kernels of that step of the ladder cannot scan this; empty: they can. `keys` may be null: then the lines are those of
// the problem.
std::string single_pass_refuses(const executor& on, const problem& p, const scan_keys* keys, const step& how);

// The workspace of a sensible problem, and what to launch. Throws not_supported if it is refused.
std::size_t single_pass_workspace(const problem& p, const scan_keys* keys, const step& how);
std::size_t most_single_pass_workspace(const problem& p, const scan_keys* keys);  // whatever the device
std::vector<launchable> prepare_single_pass(const executor& on, const problem& p, const scan_keys* keys, std::span<std::byte> workspace,
                                            const step& how);

}  // namespace antiphase::scans
