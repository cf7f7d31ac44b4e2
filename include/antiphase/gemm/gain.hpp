// SPDX-License-Identifier: Apache-2.0
// Predicted times of a product by cuBLAS, for programs that can choose.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstddef>

namespace antiphase {

// Whether the cost models of our kernels and of cuBLAS were fitted to this very card (NVIDIA H200 and H100
// SXM), by its name and number of multiprocessors. Predictions for others are those of an H200, scaled: good
// for a choice among our kernels, not for taking work from other libraries.
bool is_measured(const device_limits& device);

// Seconds of the product by FP32 multiply-adds at four fifths of the device's peak rate, about the most that
// cuBLAS was measured to reach, or by moving operands and results once, if that takes longer. In the scale of
// gemm_choice::predicted: only the ratio of the two is meaningful. Too optimistic for cuBLAS on small or
// narrow shapes.
double multiply_adds_seconds(const device_limits& device, const gemms::problem& p,
                             const gemms::batch& of = {});

// Seconds of the product by cuBLAS in FP32: on devices where cuBLAS was measured (NVIDIA H200 and H100 SXM)
// by a cost model fitted to that, on others multiply_adds_seconds(). M, N, K and the count must be positive.
double cublas_seconds(const device_limits& device, const gemms::problem& p, const gemms::batch& of = {});

// Seconds by which a call of cuBLAS takes the host longer than one of ours: less with a workspace, which
// means several launches.
double host_saved(const device_limits& device, std::size_t workspace);

// Expected speed-up over cuBLAS for a product with `seconds` predicted (gemm_choice::predicted). Where cuBLAS
// was measured it is below the ratio of the times for products whose predictions were found to err, and at
// most 1 where less than a fifth of the time is saved and less than 1.6 microseconds. That is the gain of GPU
// time, which counts where a product is part of a graph.
double gain_over_cublas(const device_limits& device, const gemms::problem& p, const gemms::batch& of,
                        double seconds);
// The same of a call outside of graphs. Where cuBLAS takes the host longer than the GPU, it is the gain of
// the longer of both times or of their sum, whichever is less: they may or may not overlap.
double eager_gain_over_cublas(const device_limits& device, const gemms::problem& p, const gemms::batch& of,
                              double seconds, std::size_t workspace);

}  // namespace antiphase
