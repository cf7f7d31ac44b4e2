// SPDX-License-Identifier: Apache-2.0
// An independent matrix product, by OpenBLAS.
#pragma once
#include <antiphase/gemm.hpp>
#include <string>

namespace antiphase::tool {

// The library, and the version that this program was built for. Does not load it.
std::string reference_name();

// The same product on the CPU; all pointers are host memory. C has to be row-major, A and B row- or
// column-major. Throws not_supported if the library is not there, or an extent does not fit its 32-bit
// integers.
void reference_gemm(const gemms::problem& p);

}  // namespace antiphase::tool
