// SPDX-License-Identifier: Apache-2.0
// C++ for PTX instructions, by family; ptx_table.cpp says which instruction each function is for.
// Each takes the modifiers and operands that it knows off the instruction; refuses what it does not have.
#pragma once
#include "checker/plain/ptx/instructions/ptx_instruction.hpp"

namespace antiphase::plain::ptx_code {

// memory
text load(instruction& i);
text store(instruction& i);
text update(instruction& i, bool has_result);
text discard(instruction& i);
text nothing(instruction& i);
text new_policy(instruction& i);

// textures
text fetch_texel(instruction& i);
text surface(instruction& i, bool loads);

// asynchronous copies
text copy_async(instruction& i);
text commit_copies(instruction& i);
text wait_copies(instruction& i);
text wait_all_copies(instruction& i);
text copies_arrive(instruction& i);
text bulk_copy(instruction& i);
text tensor_copy(instruction& i, bool reduces);
text replace_in_map(instruction& i);
text copy_map(instruction& i);
text bulk_reduction(instruction& i);
text commit_bulk(instruction& i);
text wait_bulk(instruction& i);

// threads
text mbarrier(instruction& i, view what);
text membar(instruction& i);
text fence(instruction& i);
text proxy_fence(instruction& i);
text map_fence(instruction& i);
text barrier_fence(instruction& i);
text block_barrier(instruction& i, bool waits, bool aligned = false);
text voting_barrier(instruction& i, bool aligned = false);
text cluster_barrier(instruction& i, bool waits);
text async_store(instruction& i);
text rank_of(instruction& i);
text map_address(instruction& i);
text set_registers(instruction& i);
text warp_sync(instruction& i);
text shuffle(instruction& i);
text vote(instruction& i);
text match(instruction& i);
text redux(instruction& i);
text elect(instruction& i);
text active_mask(instruction& i);

// matrices
text matrices(instruction& i, bool loads);
text transpose_matrix(instruction& i);
text multiply(instruction& i, bool sparse);
text wmma_load(instruction& i);
text wmma_store(instruction& i);
text wmma_multiply(instruction& i);
text warpgroup_multiply(instruction& i, bool sparse);
text warpgroup(instruction& i, view what);

// Tensor Memory
text tensor_allocate(instruction& i);
text tensor_deallocate(instruction& i);
text tensor_relinquish(instruction& i);
text tensor_load(instruction& i);
text tensor_store(instruction& i);
text tensor_wait(instruction& i, view kind);
text tensor_fence(view side);
text tensor_multiply(instruction& i);
text tensor_copy_to(instruction& i);
text tensor_shift(instruction& i);
text tensor_commit(instruction& i);
text cancel_launch(instruction& i);
text is_canceled(instruction& i);
text canceled_block(instruction& i, view first);

// arithmetic
text arithmetic(instruction& i, view function, std::size_t operands);
text approximated(instruction& i, view function);
text shift(instruction& i, view function);
text move(instruction& i);
text to_space(instruction& i);
text convert(instruction& i);
text compare(instruction& i);
text compare_to_word(instruction& i);
text select_by_sign(instruction& i);
text test_property(instruction& i);
text is_in_space(instruction& i);
text bit_mask(instruction& i);
text nth_bit(instruction& i);
text highest_bit(instruction& i);
text dot_of_bytes(instruction& i, int wide);
text differences(instruction& i, int count);
text select(instruction& i);
text bits(instruction& i, view function);
text permute(instruction& i);
text funnel(instruction& i, view way);
text logic3(instruction& i);

}  // namespace antiphase::plain::ptx_code
