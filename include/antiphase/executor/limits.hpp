// SPDX-License-Identifier: Apache-2.0
// Limits of a device, resources of a kernel, and occupancy.
#pragma once
#include <algorithm>
#include <antiphase/executor/features.hpp>
#include <antiphase/executor/kernel.hpp>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace antiphase {

// The limits of a device, as CUDA reports them.
struct device_limits {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  int threads_per_block = 1024;
  int threads_per_multiprocessor = 2048;
  int blocks_per_multiprocessor = 32;
  int registers_per_multiprocessor = 65536;
  std::size_t shared_per_block = 48 * 1024;  // without opting in
  // with opting in: dynamic shared memory above shared_per_block
  std::size_t shared_opt_in = 48 * 1024;
  std::size_t shared_per_multiprocessor = 64 * 1024;
  std::size_t shared_reserved = 1024;  // per block, by the system
};

// All its numbers, for comparison: devices with equal numbers behave alike in all that limits decide.
inline std::array<std::uint64_t, 11> numbers_of(const device_limits& device) {
  const auto& [name, major, minor, multiprocessors, threads, threads_of_all, blocks, registers, shared,
               shared_opt_in, shared_of_all,
               reserved] = device;  // does not compile if one is missing
  const auto word = [](int x) { return static_cast<std::uint64_t>(x); };
  return {word(major),
          word(minor),
          word(multiprocessors),
          word(threads),
          word(threads_of_all),
          word(blocks),
          word(registers),
          shared,
          shared_opt_in,
          shared_of_all,
          reserved};
}

// Resources of a compiled kernel. Registers and spilled bytes are the GPU compiler's; the CPU executor
// reports 0.
struct kernel_usage {
  int registers = 0;              // per thread
  std::size_t spilled_bytes = 0;  // local memory per thread
  std::size_t shared_bytes = 0;   // per block
  int blocks_per_multiprocessor = 0;
  int blocks_on_device = 0;  // resident at once, in whole clusters
  double occupancy = 0;      // resident threads / threads_per_multiprocessor
};

constexpr int portable_cluster = 8, largest_cluster = 16;

inline device_features features_of(const device_limits& device) {
  return features_of(device.major, device.minor);
}
inline tensor_core_sums tensor_core_sums_of(const device_limits& device) {
  return tensor_core_sums_of(device.major, device.minor);
}
inline device_rates rates_of(const device_limits& device) { return rates_of(device.major, device.minor); }
inline std::string compute_capability(const device_limits& device) {  // "9.0"
  return std::to_string(device.major) + "." + std::to_string(device.minor);
}

// Why a kernel with these needs cannot run on the device; nothing if it can.
inline std::optional<std::string> lacks(const device_limits& device, const device_features& needs) {
  const feature_name* const missing = first_missing(features_of(device), needs);
  if (missing == nullptr) return std::nullopt;
  return "it needs " + std::string(missing->name) + " of compute capability " + std::string(missing->begins) +
         ", " + device.name + " has " + compute_capability(device);
}

// The resource that a block of a kernel exceeds.
enum class shortage { none, threads, shared_memory, cluster_size, clusters };
inline std::size_t shared_limit(const device_limits& device, const kernel& k) {  // bytes per block
  return k.shared == shared_kind::dynamic ? std::max(device.shared_opt_in, device.shared_per_block)
                                          : device.shared_per_block;
}
inline shortage shortage_of(const device_limits& device, const kernel& k) {
  if (k.threads > device.threads_per_block) return shortage::threads;
  if (k.shared_bytes > shared_limit(device, k)) return shortage::shared_memory;
  if (k.cluster < 1 || k.cluster > largest_cluster) return shortage::cluster_size;
  return k.cluster > 1 && !features_of(device).clusters ? shortage::clusters : shortage::none;
}

// Why the device cannot run a block of the kernel, with the numbers; nothing if it can.
inline std::optional<std::string> refusal(const device_limits& device, const kernel& k) {
  const shortage of = shortage_of(device, k);
  if (of == shortage::none) return std::nullopt;
  const std::string needs = std::string(k.name) + " needs ";
  switch (of) {
    case shortage::none: break;
    case shortage::threads:
      return needs + std::to_string(k.threads) + " threads per block, " + device.name + " allows " +
             std::to_string(device.threads_per_block);
    case shortage::shared_memory:
      return needs + std::to_string(k.shared_bytes) + " bytes of shared memory per block, " + device.name +
             " allows " + std::to_string(shared_limit(device, k));
    case shortage::cluster_size:
      return needs + "clusters of " + std::to_string(k.cluster) + " blocks: expected 1 to " +
             std::to_string(largest_cluster);
    case shortage::clusters:
      return needs + "clusters of " + std::to_string(k.cluster) + " blocks, " + device.name +
             " has compute capability " + compute_capability(device) + " and they begin with 9.0";
  }
  return std::nullopt;
}

// Why a grid is invalid: too many blocks, or not whole clusters; nothing if it is valid.
inline std::optional<std::string> misfit(const kernel& k, extent3 grid) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  const std::uint64_t plane = std::uint64_t{grid.x} * grid.y;  // of 32-bit numbers: no overflow
  if (grid.z != 0 && plane > most / grid.z)
    return "kernel " + std::string(k.name) + ": a grid of " + std::to_string(grid.x) + " x " +
           std::to_string(grid.y) + " x " + std::to_string(grid.z) + " blocks: expected less than 2^63";
  if (grid.x % static_cast<unsigned>(k.cluster) == 0) return std::nullopt;
  return "kernel " + std::string(k.name) + ": a grid of " + std::to_string(grid.x) +
         " blocks along x is not a multiple of its clusters of " + std::to_string(k.cluster);
}

// Resident blocks of `k` per multiprocessor if each thread takes `registers` (0: not limited by them).
inline int resident_blocks(const device_limits& device, const kernel& k, int registers) {
  const int warps = (k.threads + 31) / 32;
  int blocks = std::min(device.blocks_per_multiprocessor, device.threads_per_multiprocessor / 32 / warps);
  // allocated in units of 128 bytes
  const std::size_t shared = (k.shared_bytes + device.shared_reserved + 127) / 128 * 128;
  if (shared > 0) blocks = std::min(blocks, static_cast<int>(device.shared_per_multiprocessor / shared));
  if (registers > 0) {
    // allocated per warp, in units of 256 registers
    const int per_warp = (registers * 32 + 255) / 256 * 256;
    // A warp's registers come from the quarter of the multiprocessor that runs it.
    blocks = std::min(blocks, device.registers_per_multiprocessor / 4 / per_warp * 4 / warps);
  }
  return blocks;
}

}  // namespace antiphase
