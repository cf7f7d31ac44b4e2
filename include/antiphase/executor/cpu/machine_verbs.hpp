// SPDX-License-Identifier: Apache-2.0
// Functions of machine.hpp's kind that few kernels need.
#pragma once
#include <antiphase/core/atomic_update.hpp>
#include <antiphase/core/bulk_update.hpp>
#include <antiphase/executor/cpu/machine.hpp>
#include <cstdint>

namespace antiphase::machine {

// An atomic operation on an integer of 4 or 8 bytes; returns the old value. `expected`: for compare_exchange.
struct atomic_step {
  atomic_update update;
  ordering order;
  scope reach;
  int bytes;
  bool is_signed;  // min and max
};
std::uint64_t update(void* at, const atomic_step& step, std::uint64_t value, std::uint64_t expected,
                     place where);

// Operations on mbarriers: it is one no longer; the current phase expects more bytes; `count` parties arrive
// at once; one party arrives at the mbarrier at the same address in the block of that rank in the cluster;
// whether the phase of that parity has ended, without a wait; the parity of the current phase.
void mbarrier_inval(std::uint64_t* word, place where);
void mbarrier_expect(std::uint64_t* word, int bytes, place where);
void mbarrier_arrive_many(std::uint64_t* word, int count, place where, mbarrier_semantics how = {});
void mbarrier_arrive_remote(std::uint64_t* word, int rank, place where,
                            mbarrier_semantics how = {.reach = scope::cluster});
bool mbarrier_test(std::uint64_t* word, unsigned parity, place where, mbarrier_semantics how = {});
unsigned mbarrier_parity(const std::uint64_t* word);

// Arrives when this thread's asynchronous copies so far have landed: as one of the parties, or as an
// additional one that the current phase waits for.
enum class copies_arrive { as_party, beside };
void mbarrier_copies_arrive(std::uint64_t* word, copies_arrive how, place where);

// An asynchronous copy into the block's shared memory that the mbarrier's current phase waits for, and no
// other. Unlike a bulk load it may have any size, and it is ordered like the thread's own accesses.
void bound_copy(void* to, const void* from, std::uint32_t bytes, std::uint64_t* word, place where);
// Fails unless both addresses and the size of a copy are multiples of `align`.
void require_promise(const void* to, const void* from, std::size_t bytes, std::size_t align, place where);

// Loads that land at the same address in each block of the cluster whose bit is set in `ranks`, and count at
// its mbarrier.
void bulk_load_multicast(void* to, const void* from, std::uint32_t bytes, std::uint64_t* word, unsigned ranks,
                         place where);
void tensor_load_multicast(void* to, const tensor_map& map, tensor_place first, int dimensions,
                           std::uint64_t* word, unsigned ranks, place where);

// Place of a field in a map in a kernel's memory, for a kernel that replaces it, and what is stored there for
// the given value; no bytes: maps have no such field here. A map of zeros becomes one by its element type.
enum class map_field : unsigned char {
  global_address,
  rank,
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  elemtype,
  swizzle_mode
};
struct map_part {
  std::uint64_t value;
  std::uint32_t offset, bytes;
};
map_part part_of_map(const void* map, map_field field, int index, std::uint64_t value, place where);

// Part of the groups of bulk_store: stores a box of a tensor; updates the elements of the destination, or of
// a box of a tensor, whose map then has a kind of numbers.
void tensor_store(const tensor_map& map, const void* from, tensor_place first, int dimensions, place where);
enum class number_kind : unsigned char { unsigned_integer, signed_integer, floating, bfloat };
struct bulk_step {
  bulk_update update;
  number_kind number;
  int number_bytes;  // 4 or 8; of floating numbers 2 too
};
void bulk_reduce(void* to, const void* from, std::uint32_t bytes, bulk_step what, place where);
void set_numbers(tensor_map& map, number_kind of);
void tensor_reduce(const tensor_map& map, const void* from, tensor_place first, int dimensions,
                   bulk_update what, place where);

// A block barrier that counts its threads, and those with `yes`.
struct vote_count {
  int yes, all;
};
vote_count block_vote(bool yes, place where);

// PTX's bar and barrier, with any id. `threads`: a multiple of 32, or 0 for all threads of the block that
// have not ended. Warps are counted: a thread waits for the live threads of its warp and, if it `waits`, for
// the other warps. Aligned: all threads of a warp call at one place in the code.
struct barrier_form {
  bool waits, aligned;
};
void barrier(int id, int threads, barrier_form how, place where);

}  // namespace antiphase::machine
