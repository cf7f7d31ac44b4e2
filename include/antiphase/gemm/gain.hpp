// SPDX-License-Identifier: Apache-2.0
// What a product would take elsewhere, for who has the choice.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/problem.hpp>

namespace antiphase {

// Seconds that the product takes by FP32 multiply-adds at four fifths of the device's peak rate, about the
// most that cuBLAS was seen to reach, or by moving operands and results once, if that takes longer. By the
// yardstick of gemm_choice::predicted: only the ratio of both means something. It flatters cuBLAS where
// shapes are small or narrow.
double multiply_adds_seconds(const device_limits& device, const gemms::problem& p,
                             const gemms::batch& of = {});

// Seconds that cuBLAS takes for it in FP32. On devices where that was measured (NVIDIA H200 and H100 SXM) by
// a law fitted to the times; on others it is multiply_adds_seconds(). M, N, K and the count are positive.
double cublas_seconds(const device_limits& device, const gemms::problem& p, const gemms::batch& of = {});

// How many times faster than cuBLAS the product may be expected to be, if `seconds` are predicted for it here
// (gemm_choice::predicted). On devices on which cuBLAS was measured it is less than the ratio where
// predictions were seen to fail or memory is slower than an H200's, for which they are, and at most 1 where
// less than 1.5 microseconds are saved.
double gain_over_cublas(const device_limits& device, const gemms::problem& p, const gemms::batch& of,
                        double seconds);

}  // namespace antiphase
