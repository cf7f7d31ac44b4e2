// SPDX-License-Identifier: Apache-2.0
// Which compiled code a figure belongs to: fingerprints of the kernels that a measured call runs.
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
  // what it was compiled for and the fingerprint: sm_90a:0123456789abcdef, of PTX compute_80:0123456789abcdef
  std::string_view code;
};
// All kernels of the library and of this program. scripts/fingerprint.py writes the list during the build; it
// is empty in a build without the CUDA toolkit's cuobjdump.
std::span<const kernel_code> kernel_codes();

// What a device of this compute capability runs of these kernels: sorted, each once. Empty if one of them is
// not in the list.
std::vector<std::string> codes_of(std::span<const kernel_code> list, std::span<const std::string> kernels,
                                  int major, int minor);

// The code that the works run, in terms of kernel_codes(). Empty where that is not known: on the CPU
// executor, in a build without a list, and where a work cannot be captured. To be called after the times have
// been taken: see kernels_of() in tool/graph.hpp.
std::vector<std::string> code_of(const context& where, std::span<const work> works);

}  // namespace antiphase::tool
