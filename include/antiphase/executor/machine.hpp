// SPDX-License-Identifier: Apache-2.0
// A machine profile: how fast a GPU is, as numbers, each with where it is from. docs/model.md says what is
// predicted from it.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

struct machine_figure {
  double value = 0;
  std::string source;  // "measured: ..." or "published: ..."
};

// A value: the device's limits, and what it does in a second. Of a whole device unless said otherwise.
struct machine_profile {
  device_limits limits;
  machine_figure clock;              // Hz of a multiprocessor after a pause
  machine_figure clock_under_power;  // Hz that Tensor Cores leave it after a while
  // bytes per second between memory and the device, read and written ones added up
  machine_figure memory_bytes;
  machine_figure memory_latency;  // seconds from a load to its value, of one thread that waits for each
  // bytes that each multiprocessor has to have asked for to keep memory busy, its latency under load
  machine_figure memory_in_flight;
  machine_figure cache_size;     // bytes of the L2 cache
  machine_figure cache_bytes;    // bytes per second out of it
  machine_figure cache_latency;  // seconds
  machine_figure shared_bytes;   // bytes per clock of a multiprocessor's shared memory
  machine_figure multiply_adds;  // FP32, per clock of a multiprocessor
  // multiply-adds per second of its Tensor Cores, sustained: FP16 added up in FP32; 0: none
  machine_figure tensor_fp16;
  machine_figure tensor_tf32;  // of TF32
  machine_figure tensor_fp64;  // of FP64; where there are none for it, of its FP64 units
  machine_figure issue;        // instructions of a warp that a multiprocessor begins per clock
  machine_figure launch;       // seconds from one kernel to the next in a stream
};

// A member of a profile by the name that it has in a file.
struct machine_member {
  // by a name: what nvcc makes of it otherwise, g++ warns of
  using member = machine_figure machine_profile::*;

  std::string_view name, unit;
  member figure;
};
std::span<const machine_member> machine_members();

// Those that are compiled in: the H200, measured, and others from public figures.
const std::vector<machine_profile>& shipped_profiles();
// The shipped one of that name, in any case: "h200", "NVIDIA H200", "rtx-4090". Throws bad_request, with the
// names there are.
const machine_profile& shipped_profile(std::string_view name);
// The shipped one of such a device, if there is one. Else a yardstick: its own limits, and an H200's figures
// for each multiprocessor at the rates of the device's compute capability; the sources say so.
machine_profile profile_of(const device_limits& device);

// Of a file that `antiphase info --measure` or to_text() wrote. Throws bad_request that names `from`, the
// member and what was expected.
machine_profile parse_profile(std::string_view text, std::string_view from);
machine_profile read_profile(const std::string& file);
std::string to_text(const machine_profile& profile);  // JSON

}  // namespace antiphase
