// SPDX-License-Identifier: Apache-2.0
// Plans of attention in FP32: the ladder's first steps, and policy fp32, which is the last of them that the
// device runs.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "library/attention/fp32/fp32_kernels.hpp"
#include "library/attention/plan.hpp"

namespace antiphase::attentions {

// Columns of the table in plan.cpp.
std::string fp32_unsuited(const request& r);
std::string naive_unsuited(const request& r);
std::string tiled_unsuited(const request& r);
std::string double_buffered_unsuited(const request& r);
double fp32_seconds(const request& r);
choices::plan plan_fp32(const request& r);
choices::plan plan_naive(const request& r);
choices::plan plan_tiled(const request& r);
choices::plan plan_double_buffered(const request& r);

// Why so many blocks are not launched; empty if they can be.
std::string too_many(double blocks);

// The same launches with flags (forward_arguments::flags, backward_arguments::flags), for a policy that
// computes the rest. The gradients' workspace is taken from `memory`.
launchable softmax_launch(const request& r, float* softmax);
launchable fp32_forward(const request& r, const std::uint32_t* flags);
// Of the queries that see few keys, which a policy may compute less accurately.
launchable few_keys_forward(const request& r);
std::vector<launchable> fp32_backward(const request& r, cutter& memory, const std::uint32_t* flags);

}  // namespace antiphase::attentions
