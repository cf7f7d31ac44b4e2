// An independent matrix product, by OpenBLAS.
#pragma once
#include <antiphase/gemm.hpp>
#include <string>

namespace antiphase::tool {

// The library and its version.
std::string reference_name();

// The same product on the CPU; all pointers are host memory. C has to be row-major, A and B row- or column-major. Throws not_supported
// if an extent does not fit the library's 32-bit integers.
void reference_gemm(const mm::problem& p);

}  // namespace antiphase::tool
