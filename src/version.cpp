// SPDX-License-Identifier: Apache-2.0
// What this build of the library is; CMake wrote it down.
#include <antiphase/version.hpp>

#include "build_config.hpp"

namespace antiphase {

build build_info() {
  return {.version = ANTIPHASE_VERSION,
          .gpu = ANTIPHASE_HAS_CUDA ? gpu_part::present : gpu_part::absent,
          .gpu_compiler = ANTIPHASE_CUDA_VERSION};
}

}  // namespace antiphase
