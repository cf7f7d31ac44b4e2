// SPDX-License-Identifier: Apache-2.0
// The numbers of a warp's product, from and to the registers of its lanes.
#pragma once
#include <antiphase/executor/cpu/machine_plain.hpp>
#include <antiphase/executor/cpu/machine_wgmma.hpp>
#include <cstdint>
#include <span>

namespace antiphase::cpu_detail {

struct lane_registers {
  void* d;
  const void *a, *b, *c;
};
void multiply_warp(const machine::warp_product& what, const lane_registers (&lanes)[32]);
// The column that the `k`th number of a row of a sparse A stands in, of 16 rows and 16 (f16, bf16), 8 (tf32)
// or 32 numbers of a row. `a` of a lane is four words of A, and one of metadata.
int column_of_sparse(machine::matrix_number a, int selector, const lane_registers (&lanes)[32], int row,
                     int k);
// sum(row, column) += a(row, k) * b(column, k) over 32 numbers of 8 bits, two in an element of a and b. The
// sums are float, or hold the bits of integers.
void multiply_bytes(machine::operand_type type, std::span<const std::uint16_t> a,
                    std::span<const std::uint16_t> b, int rows, int columns, std::span<float> sums);

}  // namespace antiphase::cpu_detail
