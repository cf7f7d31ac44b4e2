// SPDX-License-Identifier: Apache-2.0
// The recording twins of the ladder's kernels, as each target's lists give them.
#pragma once
#include <antiphase/gemm/ladder.hpp>
#include <vector>

namespace antiphase::gemms {
namespace cpu {
std::vector<instance> traced_plain_kernels();
std::vector<instance> traced_async_kernels();
}  // namespace cpu
namespace cuda {
std::vector<instance> traced_plain_kernels();
std::vector<instance> traced_async_kernels();
}  // namespace cuda

}  // namespace antiphase::gemms
