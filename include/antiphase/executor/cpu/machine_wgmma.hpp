// SPDX-License-Identifier: Apache-2.0
// The CPU executor's Tensor Core steps of all operand types and any number of columns.
#pragma once
#include <antiphase/executor/cpu/machine.hpp>
#include <cstdint>
#include <type_traits>

namespace antiphase::machine {

// k is 16 for f16 and bf16, 8 for tf32, 32 for 8-bit numbers, of A and then of B, with sums of f32 or s32.
// Sums of bf16 are cut off as those of f16, which is published for
// Hopper and which we have not measured.
enum class operand_type : unsigned char {
  f16,
  bf16,
  tf32,
  e4m3_e4m3,
  e4m3_e5m2,
  e5m2_e4m3,
  e5m2_e5m2,
  s8_s8,
  s8_u8,
  u8_s8,
  u8_u8
};
template <class Number, class Bf16> constexpr operand_type operand_type_of =
    std::is_same_v<Number, Bf16> ? operand_type::bf16 : operand_type::f16;

// As in machine.hpp, of f16 or bf16.
void warp_multiply(operand_type type, float (&sum)[4], const std::uint32_t (&a)[4],
                   const std::uint32_t (&b)[2], place where);
void warpgroup_multiply(operand_type type, float* sum, const warpgroup_step& what, const std::uint32_t* a,
                        place where);
// The same for inline PTX. `a` is copied: later writes to its registers are not checked. A sparse A has half
// of its numbers, and `metadata` says where they stand; k is twice that of `type`.
void warpgroup_multiply_of(operand_type type, float* sum, const warpgroup_step& what, const std::uint32_t* a,
                           std::uint32_t metadata, place where);

}  // namespace antiphase::machine
