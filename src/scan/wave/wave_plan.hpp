// The compiled kernels of the one-wave scan, and what a problem becomes for them.
#pragma once
#include <antiphase/executor/executor.hpp>
#include <antiphase/scan/detail/passes.hpp>
#include <antiphase/scan/problem.hpp>
#include <antiphase/scan/detail/wave_policy.hpp>
#include <span>
#include <string>
#include <vector>

namespace antiphase::scans {

// One kernel; signed integers share those of unsigned ones.
struct wave_instance {
  element type;
  scan_operation operation;
  wave_policy how;
  kernel code;
  int tile;  // elements
};
std::span<const wave_instance> wave_instances(target where);

// Why the one-wave kernels cannot scan a sensible problem; empty: they can.
std::string one_wave_refuses(const executor& on, const problem& p);

// The workspace, which is single_pass.hpp's, and what to launch for a problem with elements that is not refused. `computes` is the type of
// the kernel, `initial` the bytes of the element that an exclusive scan starts from.
std::size_t one_wave_workspace(const problem& p);
std::size_t most_one_wave_workspace();  // of any problem
std::vector<launchable> prepare_one_wave(target where, const problem& p, element computes, std::uint64_t initial,
                                         std::span<std::byte> workspace);
// The same with a certain kernel, whatever it is for: for the checker.
std::size_t one_wave_workspace(const wave_instance& with, const problem& p);
launchable prepare_one_wave(const wave_instance& with, const problem& p, std::uint64_t initial, std::span<std::byte> workspace);

}  // namespace antiphase::scans
