// SPDX-License-Identifier: Apache-2.0
// Tensor Memory of Blackwell on the CPU executor: the order of tcgen05 instructions, and cluster launch
// control.
#pragma once
#include <antiphase/executor/cpu/machine.hpp>
#include <cstdint>

namespace antiphase::machine {

// Products and copies into Tensor Memory are a thread's, loads and stores between it and registers a warp's.
enum class tensor_work : unsigned char { product, load, store };
struct memory_range {
  const void* first;
  std::size_t bytes;
  bool writes;
};
// Asynchronous work on shared memory, of this block or others of the cluster. Returns its number among the
// work of that kind. For reports: `name`, a literal; `code`, the kernel's address that `where` belongs to.
std::uint64_t tensor_begin(tensor_work kind, const char* name, const memory_range* all, std::size_t count,
                           place where, const void* code);
// The work up to this number is done; ~0: all.
void tensor_wait(tensor_work kind, std::uint64_t last);
// Arrives, when the thread's products so far are done, at an mbarrier of the cluster's block `rank`.
void tensor_commit(std::uint64_t* word, int rank, place where);

// Takes a cluster's launch away that has not begun: index of its first block; all ones: all have begun.
extent3 cancel_launch();
// Writes the 16 bytes of `answer`, as a bulk load does, to `to` in each block of `ranks`; 0: this one.
void answer_launch(void* to, const void* answer, std::uint64_t* word, unsigned ranks, place where);

// A tensor load for a pair of blocks: the mbarrier may be in the other block. `ranks` == 0: into this block.
void tensor_load_of_pair(void* to, const tensor_map& map, tensor_place first, int dimensions,
                         std::uint64_t* word, unsigned ranks, place where);

}  // namespace antiphase::machine
