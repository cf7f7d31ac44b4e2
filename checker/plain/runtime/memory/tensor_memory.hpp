// SPDX-License-Identifier: Apache-2.0
// Tensor Memory of the blocks that run: numbers, reservations, and the order of accesses.
#pragma once
#include <antiphase/plain/tensor_memory.h>

#include <array>
#include <vector>

#include "checker/order/missing.hpp"
#include "checker/order/places.hpp"
#include "checker/plain/runtime/launches/launch_state.hpp"
#include "checker/plain/runtime/run.hpp"

namespace antiphase::plain::ptx::tensor_memory {

using machine::memory_range;
using machine::tensor_work;

constexpr int all_words = parts * words_of_part, most_threads = 1024;

struct last_access {                       // of a word
  checker_detail::block_number block = 0;  // 0: none
  int thread = 0;
  long time = 0;
  bool wrote = false, product = false;
};
struct block_memory {
  checker_detail::block_number number = 0;
  int group = 0;  // of the block's instructions; 0: none yet
  std::array<std::array<unsigned, columns>, lanes> x{};
  std::array<last_access, all_words> last{};
  std::array<long, most_threads> before{}, after{};  // times of a thread's latest fences
  struct reservation {
    unsigned first, count;
    checker_detail::place_number at_place;
  };
  std::vector<reservation> reserved;
  std::vector<unsigned> offered;  // columns that the pair's other block has reserved for both
  int freed_by_other = 0;
  bool relinquished = false;

  bool has(unsigned first, unsigned count) const {
    return std::ranges::any_of(reserved, [&](const reservation& r) {
      return first >= r.first && first + count <= r.first + r.count;
    });
  }
};

block_memory& memory_at(const unsigned char* shared);  // of this block, or another one of its cluster
inline block_memory& memory_here() { return memory_at(shared_base()); }
inline int thread_here() { return machine::current->index; }
inline int lane_here() { return thread_here() % 32; }
inline int rank_here() { return machine::current->block->cluster_rank; }

// The pair's other block: its shared memory, and its words of order.
unsigned char* other_base(place where);
unsigned* other_words(unsigned* words, place where);

void require_group(block_memory& m, bool pair, place where);
void require_columns(const block_memory& m, unsigned address, int count, place where);

struct access {
  tensor_work kind;
  const char* name;
  place where;
  const void* code;  // return address of the function that the kernel has called
  checker_detail::place_number number() const { return followed().places.number_of(code, where); }
  int thread() const { return kind == tensor_work::product ? thread_here() : thread_here() / 32 * 32; }
};
class ordered_accesses {
 public:
  explicit ordered_accesses(const access& a);
  // Columns of the parts from `part` on, in this block or the pair's other one.
  void add_columns(block_memory& m, unsigned* words, unsigned address, int count, bool reads, bool writes,
                   int part = 0, int end = parts);
  void add_bytes(const unsigned char* base, std::vector<int>& pieces);  // of 16 bytes each
  std::uint64_t begin() const;

 private:
  access a_;
  std::vector<memory_range> all_;
};

struct element_place {
  int lane, column;
};

}  // namespace antiphase::plain::ptx::tensor_memory
