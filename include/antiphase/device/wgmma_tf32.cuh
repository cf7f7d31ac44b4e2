// SPDX-License-Identifier: Apache-2.0
// The Tensor Core operation of a warpgroup on TF32: FP32 numbers of which 11 significant bits count (sm_90a).
#pragma once
#include <antiphase/device/wgmma.cuh>
#if AP_ON_GPU
#include <antiphase/device/wgmma_tf32_instructions.cuh>
#else
#include <antiphase/executor/cpu/machine_tf32.hpp>
#endif
#include <cstdint>

namespace antiphase {
inline namespace AP_TARGET {

// wgmma_tf32: as wgmma with A in registers, of FP32 numbers: A is 64 x 8, B is 8 x N along k, N = 8, 32 or
// 64. The low 13 bits of every element are ignored. With g = lane / 4 and q = lane % 4 a lane holds of its
// warp's 16 rows
//   a[0]: row g, column q; a[1]: row g + 8; a[2], a[3]: the same, four columns on
// A matrix_descriptor's piece of 16 bytes holds four elements; the next 8 k of B are 32 bytes on.
#if AP_ON_GPU
template <int Registers> AP_DEV void wgmma_tf32(float (&sum)[Registers], const std::uint32_t (&a)[4],
                                                matrix_descriptor b, bool accumulate) {
  wgmma_tf32_instruction(sum, a, b.bits, accumulate);
}
#else
template <int Registers> AP_DEV void wgmma_tf32(float (&sum)[Registers], const std::uint32_t (&a)[4],
                                                matrix_descriptor b, bool accumulate,
                                                machine::place where = machine::place::current()) {
  static_assert(Registers == 4 || Registers == 16 || Registers == 32);
  machine::warpgroup_multiply_tf32(sum, 2 * Registers, accumulate, a, b.bits, where);
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
