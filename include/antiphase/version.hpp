// SPDX-License-Identifier: Apache-2.0
// Version and build of the library.
#pragma once
#include <string_view>

namespace antiphase {

enum class gpu_part { absent, present };

//   if (build_info().gpu == gpu_part::absent) std::puts("this build has no GPU kernels");
struct build {
  std::string_view version;       // major.minor.patch
  gpu_part gpu;                   // whether kernels for NVIDIA GPUs are compiled in
  std::string_view gpu_compiler;  // version of the CUDA toolkit that compiled them; empty without
};
build build_info();

}  // namespace antiphase
