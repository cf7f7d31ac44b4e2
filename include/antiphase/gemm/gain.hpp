// SPDX-License-Identifier: Apache-2.0
// What a product would take elsewhere, for who has the choice.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/problem.hpp>

namespace antiphase {

// Seconds that the product takes by FP32 multiply-adds at four fifths of the device's peak rate, about the most that cuBLAS was seen to
// reach, or by moving operands and results once, if that takes longer. By the yardstick of gemm_choice::predicted: only the ratio of both
// means something. It flatters cuBLAS where shapes are small or narrow.
double multiply_adds_seconds(const device_limits& device, const gemms::problem& p, const gemms::batch& of = {});

}  // namespace antiphase
