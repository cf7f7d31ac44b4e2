// SPDX-License-Identifier: Apache-2.0
// Operands of wgmma in shared memory.
#pragma once
#include <antiphase/executor/cpu/machine_wgmma.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "core/executor/cpu/units/matrix.hpp"

namespace antiphase::cpu_detail {

struct block_state;
struct thread_state;
// Of a warp's part of A, in elements of 16 bits.
constexpr int operand_rows = 16, operand_depth = 16;
constexpr bool is_sparse(const machine::warpgroup_step& s) { return s.selector >= 0; }
// A sparse A has half of the numbers of a row.
constexpr int depth_of_b(const machine::warpgroup_step& s) { return operand_depth * (is_sparse(s) ? 2 : 1); }

// Fails if a piece of the operand lies outside of the block's shared memory, or if bits of its descriptor
// are unknown.
void require_inside(const thread_state& self, std::uint64_t descriptor, bool transposed, int count, int deep,
                    const char* name, machine::place where);
// Reads the operands that are not yet there.
void read_operands(const block_state& block, matrix_operation& o, int warp_in_group);
// The shared memory that a warp reads, as merged ranges.
std::vector<std::span<const unsigned char>> ranges_of(const block_state& block, const matrix_operation& o,
                                                      int warp_in_group);

}  // namespace antiphase::cpu_detail
