// Matrix products: C = alpha * A * B + beta * C in FP32.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/gemm/problem.hpp>
#include <string_view>

namespace antiphase {

struct gemm_options {
  std::string_view policy = "auto";  // the name of a ladder step; auto: the fastest one that fits the device
  stream on = nullptr;
};

// C = alpha * A * B + beta * C with A of M x K, B of K x N, C of M x N; any strides, so that every combination of row- and column-major
// works and transposed(v) costs nothing. The memory must be reachable from `where` (device_array); the call returns when the kernel has
// been queued.
//
// alpha = 0 leaves A and B unread, beta = 0 (or -0) leaves C unread, K = 0 gives beta * C, M = 0 or N = 0 does nothing. Elements of C
// outside the view are never touched. C may not overlap A or B; the same pointer is refused.
//
// Throws bad_request naming the first argument that makes no sense, not_supported when a policy does not fit the device, with the numbers.
// Each output is one FP32 sum in the order of k.
launch_counts gemm(const context& where, const mm::problem& p, const gemm_options& options = {});

// The step that the policy "auto" stands for: the last one of the ladder that the device has room for.
const mm::step& select_step(const context& where, const mm::problem& p);

}  // namespace antiphase
