// SPDX-License-Identifier: Apache-2.0
// The Tensor Core operation of one warp on bf16 (mma.sync; sm_80).
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/device/matrix.cuh>
#if !AP_ON_GPU
#include <antiphase/executor/cpu/machine_wgmma.hpp>
#endif
#include <cstdint>
#include <type_traits>

namespace antiphase {
inline namespace AP_TARGET {

// mma as in device/matrix.cuh, of the 16-bit numbers that the template argument names: f16 or bf16.
#if AP_ON_GPU
template <class Number>
AP_DEV void mma(float (&sum)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  if constexpr (std::is_same_v<Number, bf16>)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    mma(sum, a, b);
}
#else
template <class Number> AP_DEV void mma(float (&sum)[4], const std::uint32_t (&a)[4],
                                        const std::uint32_t (&b)[2],
                                        machine::place where = machine::place::current()) {
  machine::warp_multiply(machine::operand_type_of<Number, bf16>, sum, a, b, where);
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
