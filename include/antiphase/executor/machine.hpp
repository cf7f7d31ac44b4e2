// SPDX-License-Identifier: Apache-2.0
// Machine profiles: the speeds of a GPU as numbers with their sources. docs/learn/model.md says what is
// predicted from them.
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

// A device's limits and speeds. Figures are of the whole device unless said otherwise. A value type.
//
//   const machine_profile& h200 = shipped_profile("H200");
//   std::printf("%g TB/s, %s\n", 1e-12 * h200.memory_bytes.value, h200.memory_bytes.source.c_str());
//
struct machine_profile {
  device_limits limits;
  machine_figure clock;              // Hz of a multiprocessor after a pause
  machine_figure clock_under_power;  // Hz under sustained Tensor Core load
  // bytes per second between memory and device, reads plus writes
  machine_figure memory_bytes;
  machine_figure memory_latency;  // seconds of a dependent load
  // bytes in flight per multiprocessor that saturate memory, at its latency under load
  machine_figure memory_in_flight;
  machine_figure cache_size;     // bytes of the L2 cache
  machine_figure cache_bytes;    // bytes per second from the L2 cache
  machine_figure cache_latency;  // seconds
  machine_figure shared_bytes;   // bytes per clock of a multiprocessor's shared memory
  machine_figure multiply_adds;  // FP32, per clock of a multiprocessor
  // sustained multiply-adds per second of the Tensor Cores: FP16 with FP32 sums; 0: none
  machine_figure tensor_fp16;
  machine_figure tensor_tf32;  // the same for TF32
  machine_figure tensor_fp64;  // the same for FP64; without Tensor Cores for it, of the FP64 units
  machine_figure issue;        // warp instructions that a multiprocessor issues per clock
  machine_figure launch;       // seconds from one kernel to the next in a stream
};

// A member of a profile, with its name in files.
struct machine_member {
  // an alias, since g++ warns about what nvcc generates without it
  using member = machine_figure machine_profile::*;

  std::string_view name, unit;
  member figure;
};
std::span<const machine_member> machine_members();

// The profiles that are compiled in: the H200 as measured, others from published figures.
const std::vector<machine_profile>& shipped_profiles();
// The shipped profile of that name, case-insensitive: "h200", "NVIDIA H200", "rtx-4090". Throws bad_request,
// with the known names.
const machine_profile& shipped_profile(std::string_view name);
// The shipped profile of this device, if there is one. Otherwise an estimate: its own limits, and an H200's
// figures per multiprocessor at the rates of the device's compute capability; the sources say so.
machine_profile profile_of(const device_limits& device);

// Reads what `antiphase info --measure` or to_text() wrote. Throws bad_request that names `from`, the member
// and what was expected.
machine_profile parse_profile(std::string_view text, std::string_view from);
machine_profile read_profile(const std::string& file);
std::string to_text(const machine_profile& profile);  // JSON

}  // namespace antiphase
