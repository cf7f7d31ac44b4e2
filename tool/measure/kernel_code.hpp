// SPDX-License-Identifier: Apache-2.0
// Compiled code that a measured time belongs to: fingerprints of the kernels that the call runs.
#pragma once
#include <antiphase/context.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tool/measure/measure.hpp"

namespace antiphase::tool {

struct kernel_code {
  std::string_view kernel;  // its mangled name
  // target and fingerprint: sm_90a:0123456789abcdef; for PTX compute_80:0123456789abcdef
  std::string_view code;
};
// All kernels of the library and of this program. scripts/build/fingerprint.py generates the list during the
// build; it is empty in a build without the CUDA toolkit's cuobjdump.
std::span<const kernel_code> kernel_codes();

// The codes of these kernels that a device of this compute capability runs: sorted, without duplicates. Empty
// if any of the kernels is not in the list.
std::vector<std::string> codes_of(std::span<const kernel_code> list, std::span<const std::string> kernels,
                                  int major, int minor);

// Codes that the works run, as in kernel_codes(). Empty if they are unknown: on the CPU executor, in a build
// without a list, or if a work cannot be captured. Call it after measuring: see kernels_of() in
// tool/measure/graphs/graph.hpp.
std::vector<std::string> code_of(const context& where, std::span<const work> works);

}  // namespace antiphase::tool
