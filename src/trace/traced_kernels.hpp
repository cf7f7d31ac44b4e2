// SPDX-License-Identifier: Apache-2.0
// Lists of recording twins of the ladder's kernels, by target.
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
