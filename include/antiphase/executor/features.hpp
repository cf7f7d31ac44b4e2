// SPDX-License-Identifier: Apache-2.0
// Features of GPUs that kernels need. The only place that looks at the compute capability.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace antiphase {

// How Tensor Cores round sums of FP16 products, as far as an error bound can rest on it:
// docs/use/accuracy.md.
enum class tensor_core_sums {
  unknown,
  ampere,  // compute capability 8.x
  hopper,  // 9.0
};
enum class evidence {
  measured,   // by this project, on that hardware
  published,  // by others
  unknown,
};

// The features of a device, or those that a kernel needs, each with the compute capability it begins with.
struct device_features {
  bool cp_async = false;     // 8.0: asynchronous copies of a thread
  bool mma_sync = false;     // 8.0: Tensor Core operations of a warp on FP16 (m16n8k16) and FP64
  bool bulk_copies = false;  // 9.0: TMA copies that arrive at an mbarrier
  bool clusters = false;     // 9.0: blocks that see each other's shared memory
  // 9.0: programmatic dependent launch, a kernel that begins before the previous one in the stream has ended
  bool dependent_launch = false;
  bool wgmma = false;  // 9.0 only: Tensor Core operations of a warpgroup
  // 9.0 only: runs code compiled for sm_90a, which is not forward compatible
  bool sm_90a = false;
  // 8.0: runs code compiled for sm_80
  bool sm_80 = false;
  // 8.0, 9.0, 10.0: FP64 at half the rate of FP32; others have a 32nd or a 64th
  bool fast_fp64 = false;

  constexpr bool operator==(const device_features&) const = default;
};

constexpr device_features features_of(int major, int minor) {
  return {.cp_async = major >= 8,
          .mma_sync = major >= 8,
          .bulk_copies = major >= 9,
          .clusters = major >= 9,
          .dependent_launch = major >= 9,
          .wgmma = major == 9 && minor == 0,
          .sm_90a = major == 9 && minor == 0,
          .sm_80 = major >= 8,
          .fast_fp64 = major >= 8 && major <= 10 && minor == 0};
}
// The rounding of mma.sync and wgmma, and the evidence for it.
constexpr tensor_core_sums tensor_core_sums_of(int major, int minor) {
  if (major == 8) return tensor_core_sums::ampere;
  return major == 9 && minor == 0 ? tensor_core_sums::hopper : tensor_core_sums::unknown;
}
constexpr evidence evidence_for(tensor_core_sums sums) {
  return sums == tensor_core_sums::hopper   ? evidence::measured
         : sums == tensor_core_sums::ampere ? evidence::published
                                            : evidence::unknown;
}

// Multiply-adds of a multiprocessor per clock, for predictions. FP32 and FP64: "Throughput of native
// arithmetic instructions" of NVIDIA's CUDA C++ programming guide. Tensor Cores, dense FP16 with FP32 sums:
// the architectures' whitepapers.
struct device_rates {
  int fp32 = 128, fp64 = 2, tensor_fp16 = 512;
};
constexpr device_rates rates_of(int major, int minor) {
  const bool datacenter = features_of(major, minor).fast_fp64;
  return {.fp32 = major < 8 || (major == 8 && minor == 0) ? 64 : 128,
          .fp64 = !datacenter  ? 2
                  : major == 8 ? 32
                               : 64,
          .tensor_fp16 = !datacenter  ? 512
                         : major == 8 ? 1024
                         : major == 9 ? 2048
                                      : 4096};
}

// A feature by its name, for tables and sentences.
struct feature_name {
  using member = bool device_features::*;  // an alias, since g++ warns about what nvcc generates without it

  member feature;
  std::string_view name;
  std::string_view begins;  // compute capability
};
inline constexpr feature_name feature_names[] = {
    {&device_features::cp_async, "asynchronous copies (cp.async)", "8.0 or above"},
    {&device_features::mma_sync, "Tensor Core operations of a warp (mma.sync)", "8.0 or above"},
    {&device_features::bulk_copies, "bulk copies (TMA)", "9.0 or above"},
    {&device_features::clusters, "clusters of blocks", "9.0 or above"},
    {&device_features::dependent_launch, "launches that overlap the one before", "9.0 or above"},
    {&device_features::wgmma, "Tensor Core operations of a warpgroup (wgmma)", "9.0 alone"},
    {&device_features::sm_90a, "code compiled for sm_90a", "9.0 alone"},
    {&device_features::sm_80, "code compiled for sm_80", "8.0 or above"},
    {&device_features::fast_fp64, "FP64 at half the speed of FP32", "8.0, 9.0 and 10.0 alone"},
};

// The first of the needs that the device does not have; null if it has them all.
constexpr const feature_name* first_missing(const device_features& has, const device_features& needs) {
  for (const feature_name& f : feature_names)
    if (needs.*f.feature && !(has.*f.feature)) return &f;
  return nullptr;
}

}  // namespace antiphase
