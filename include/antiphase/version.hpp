// SPDX-License-Identifier: Apache-2.0
// What this build of the library is.
#pragma once
#include <string_view>

namespace antiphase {

enum class gpu_part { absent, present };

struct build {
  std::string_view version;       // of the project: major.minor.patch
  gpu_part gpu;                   // whether kernels for NVIDIA GPUs are compiled in
  std::string_view gpu_compiler;  // the version of the CUDA toolkit that compiled them, empty without them
};
build build_info();

}  // namespace antiphase
