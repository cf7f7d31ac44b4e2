// SPDX-License-Identifier: Apache-2.0
// An independent matrix product, by OpenBLAS.
#pragma once
#include <antiphase/gemm.hpp>
#include <string>

namespace antiphase::tool {

// Name of the library and the version that this program was built for. Does not load it.
std::string reference_name();

// The same product on the CPU; all pointers are to host memory. C must be row-major, A and B row- or
// column-major. Throws not_supported if the library is missing or an extent exceeds its 32-bit integers.
void reference_gemm(const gemms::problem& p);

}  // namespace antiphase::tool
