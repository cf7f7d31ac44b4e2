// The library's own kernels, compiled for the checker.
#pragma once

namespace antiphase::checker_detail {

// Makes them known to gemm() and scan() on a checking executor. Any number of calls, from any thread.
void enter_checked_kernels();

}  // namespace antiphase::checker_detail
