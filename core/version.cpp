// SPDX-License-Identifier: Apache-2.0
// Version and contents of this build, from the generated build_config.hpp.
#include <antiphase/version.hpp>

#include "build_config.hpp"

namespace antiphase {

build build_info() {
  return {.version = ANTIPHASE_VERSION,
          .gpu = ANTIPHASE_HAS_CUDA ? gpu_part::present : gpu_part::absent,
          .gpu_compiler = ANTIPHASE_CUDA_VERSION};
}

}  // namespace antiphase
