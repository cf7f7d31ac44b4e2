// The recording twins of the ladder's kernels, as each target's lists give them.
#pragma once
#include <antiphase/gemm/ladder.hpp>
#include <vector>

namespace antiphase::mm {
namespace cpu {
std::vector<instance> traced_plain_kernels();
std::vector<instance> traced_async_kernels();
}  // namespace cpu
namespace cuda {
std::vector<instance> traced_plain_kernels();
std::vector<instance> traced_async_kernels();
}  // namespace cuda

// The one-buffer member of the asynchronous family. It is no step of the ladder: it exists to compare more stages with.
constexpr const char* async_one = "async-1";
}  // namespace antiphase::mm
