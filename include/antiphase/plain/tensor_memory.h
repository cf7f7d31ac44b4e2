// SPDX-License-Identifier: Apache-2.0
// Tensor Memory of Blackwell under the checker: tcgen05 instructions, for the translation of PTX modules. Its
// numbers are in memory of the host; what is checked is the order of accesses, by a word of shared memory for
// 8 columns of 16 lanes, half of those that one warp of four may access. Bodies:
// checker/plain/runtime/memory/tensor_memory.cpp.
#pragma once
#include <antiphase/executor/cpu/machine_tensor_memory.hpp>

#include "ptx.h"

namespace antiphase::plain::ptx::tensor_memory {

constexpr int columns = 512, lanes = 128, columns_of_word = 8, quarters = 4, parts = 8;
constexpr int words_of_part = columns / columns_of_word, lanes_of_part = lanes / parts;

struct order_words {
  unsigned x[parts * words_of_part];
};
AP_VERB unsigned* words() { return shared<order_words, 16, 0>("tensor memory").x; }

// alloc, dealloc; `pair`: cta_group::2
unsigned reserve(unsigned count, bool pair, place where);
void release(unsigned* words, unsigned address, unsigned count, bool pair, place where);
void relinquish(bool pair, place where);
AP_VERB void allocate(void* to, unsigned count, bool pair, place where) {
  machine::whole_warp("tcgen05.alloc", where);
  words();  // the order of accesses to what is reserved
  const unsigned address = reserve(count, pair, where);
  if (lane() == 0) ptx::store<unsigned, 1>(to, {{address}});
  machine::warp_exchange(all_lanes, nullptr, 0, where);
}

// ld, st, wait. `bits`: of a row; 0: 16x32bx2, whose second half is `half` columns further. `packed`: two
// columns' 16 bits in a register.
struct shape {
  int bits, registers;
  bool packed;
  int half;
};
// The number of the load, for registers_read().
std::uint64_t load(unsigned* words, shape of, unsigned address, unsigned* to, place where);
void store(unsigned* words, shape of, unsigned address, const unsigned* from, place where);
void wait(machine::tensor_work kind, place where);
// A register that the load writes is read, without a wait: GPUs wait then.
void registers_read(std::uint64_t load, place where);
template <class T> T reduced(const unsigned* all, int count, bool least, bool absolute, bool nan) {
  T best{};
  for (int i = 0; i < count; ++i) {
    T x = __builtin_bit_cast(T, all[i]);
    if (absolute && x < T{}) x = -x;
    const bool is_nan = x != x, replaces = i == 0 || best != best || (least ? x < best : best < x);
    if (nan ? is_nan || (best == best && replaces) : replaces && (!is_nan || i == 0)) best = x;
  }
  return best;
}

// fences between tcgen05 instructions of several threads
void fence_before();
void fence_after();

// mma, cp, shift, commit
enum class operand_kind { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };
struct multiplication {
  operand_kind kind;
  bool pair, separate;   // cta_group::2, .ws
  int scales;            // of a row: 1, 2 or 4; 0: none
  unsigned to, from;     // from: A in Tensor Memory
  unsigned long a, b;    // descriptors
  unsigned instruction;  // descriptor
  unsigned a_scales, b_scales;
  bool adds, a_in_tensor_memory;
  int shift;             // the old sums are divided by 2 to this power
  unsigned disabled[8];  // lanes that are not written
};
void multiply(unsigned* words, const multiplication& m, place where);
struct copied_shape {
  int rows, bytes;    // of a row
  int copies, apart;  // warps that get the same rows; 2: of them, how many lanes apart
};
void copy(unsigned* words, copied_shape of, unsigned to, unsigned long from, bool pair, place where);
void shift_down(unsigned* words, unsigned address, bool pair, place where);
// `ranks` == 0: at this mbarrier, else at the same place in each of those blocks
void commit(unsigned long* word, unsigned ranks, bool pair, place where);

// Cluster launch control: the answer's first word is 1 if a launch was canceled, then the block's index.
void cancel_launch(void* to, unsigned long* word, bool all_blocks, place where);
std::uint64_t take_canceled_blocks();               // how many since the last call
AP_VERB unsigned canceled(auto answer, int word) {  // 128 bits
  return static_cast<unsigned>(answer >> 32 * word);
}

}  // namespace antiphase::plain::ptx::tensor_memory
