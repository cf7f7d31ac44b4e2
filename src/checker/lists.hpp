// SPDX-License-Identifier: Apache-2.0
// The library's own kernels, compiled for the checker.
#pragma once
#include "src/gemm/registry.hpp"
#include "src/scan/registry.hpp"

namespace antiphase {

namespace gemms {
AP_REGISTRY(checked, AP_GEMM_LISTS)
}
namespace scans {
AP_REGISTRY(checked, AP_SCAN_LISTS)
}

namespace checker_detail {

// Registers these kernels for gemm() and scan() on a checking executor. May be called any number of times,
// from any thread.
void enter_checked_kernels();

}  // namespace checker_detail
}  // namespace antiphase
