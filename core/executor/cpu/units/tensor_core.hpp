// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a Tensor Core.
#pragma once
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <cstdint>
#include <span>

namespace antiphase::cpu_detail {

// sum += A B in one step of 16 products: A is rows x 16, B 16 x columns (a multiple of 8), both f16; all
// row-major and dense.
void multiply_step(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b, int rows, int columns,
                   std::span<float> sum, tensor_sums how);
// The same of bf16.
void multiply_step_bf16(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b, int rows,
                        int columns, std::span<float> sum, tensor_sums how);
// The same in a step of 8 products of tf32: A is rows x 8, the transposed B columns x 8, both as FP32 bits.
void multiply_step_tf32(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, int rows,
                        int columns, std::span<float> sum, tensor_sums how);
// An FP64 step: sum += A B for A of 16 x 4 and B of 4 x 8, in fused multiply-adds in the order of k.
void multiply_step_f64(const double (&a)[16][4], const double (&b)[4][8], double (&sum)[16][8]);

}  // namespace antiphase::cpu_detail
