// SPDX-License-Identifier: Apache-2.0
// Functions of the machine that few kernels need; the headers of those verbs include this.
#pragma once
#include <antiphase/core/atomic_update.hpp>
#include <antiphase/core/bulk_update.hpp>
#include <antiphase/executor/cpu/machine.hpp>
#include <cstdint>

namespace antiphase::machine {

// An atomic operation on an integer of 4 or 8 bytes; returns what was there before. `expected`: of
// compare_exchange.
struct atomic_step {
  atomic_update what;
  ordering how;
  scope reach;
  int bytes;
  bool is_signed;  // min and max
};
std::uint64_t update(void* at, const atomic_step& step, std::uint64_t value, std::uint64_t expected,
                     place where);

// An mbarrier expects so many bytes more in the phase under way; `count` parties arrive at once; one arrives
// at the mbarrier that the block of that rank in the cluster has at the same place.
void mbarrier_expect(std::uint64_t* word, int bytes, place where);
void mbarrier_arrive_many(std::uint64_t* word, int count, place where);
void mbarrier_arrive_remote(std::uint64_t* word, int rank, place where);

// An arrival when this thread's asynchronous copies so far have landed: one of the parties, or one more that
// the phase under way waits for.
enum class copies_arrive { as_party, beside };
void mbarrier_copies_arrive(std::uint64_t* word, copies_arrive how, place where);

// Loads that land at the same place in each block of the cluster whose rank has its bit in `ranks`, and count
// at its mbarrier there.
void bulk_load_multicast(void* to, const void* from, std::uint32_t bytes, std::uint64_t* word, unsigned ranks,
                         place where);
void tensor_load_multicast(void* to, const tensor_map& map, tensor_place first, int dimensions,
                           std::uint64_t* word, unsigned ranks, place where);

// Of the groups of bulk_store: a box of a tensor, and numbers that update those of the destination.
void tensor_store(const tensor_map& map, const void* from, tensor_place first, int dimensions, place where);
enum class number_kind : unsigned char { unsigned_integer, signed_integer, floating };
struct bulk_step {
  bulk_update what;
  number_kind of;
  int number_bytes;  // 4 or 8
};
void bulk_reduce(void* to, const void* from, std::uint32_t bytes, bulk_step what, place where);

// A block barrier that counts: how many threads took part, and how many of them said yes.
struct vote_count {
  int yes, all;
};
vote_count block_vote(bool yes, place where);

// PTX's bar and barrier, of any number. `threads`: a multiple of 32, or 0 for all of the block that have not
// ended. Warps are counted: a thread waits for those of its warp that have not ended and, if it `waits`, for
// the other warps. Aligned: all of a warp come to one place.
struct barrier_form {
  bool waits, aligned;
};
void barrier(int id, int threads, barrier_form how, place where);

}  // namespace antiphase::machine
