// SPDX-License-Identifier: Apache-2.0
// Tensor Memory of Blackwell under the checker: tcgen05 instructions, for the translation of PTX modules. Its
// numbers are in memory of the host; what is checked is the order of accesses, by a word of shared memory for
// 8 columns of the 32 lanes that one warp of four may access.
#pragma once
#include <cstdio>
#include <cstdlib>

#include "ptx.h"

namespace antiphase::plain::ptx::tensor_memory {

constexpr int columns = 512, lanes = 128, columns_of_word = 8, quarters = 4;
constexpr int words_of_quarter = columns / columns_of_word;
constexpr int words_in_flight = 64;  // of a warp that loads, until it waits

struct order_words {
  unsigned x[quarters * words_of_quarter];
};
struct loaded_words {  // where loads put the words: of each warp as many as may be in flight
  unsigned x[32 * words_in_flight];
};
template <class Words> AP_VERB Words& shared_words() { return shared<Words, 16, 0>("tensor memory"); }

// The numbers of a block, and who wrote which word of order last.
struct contents {
  const void* block = nullptr;
  unsigned x[lanes][columns] = {};
  int writer[quarters * words_of_quarter] = {};  // index of a thread, plus 1; 0: others have read since
  bool taken[columns / 32] = {};
  bool relinquished = false;
  unsigned loaded[32] = {};  // words that a warp has had loaded
};
#define AP_UNTRACKED [[gnu::noinline, gnu::no_sanitize("thread")]] inline
// Blocks that follow each other share their memory, and so its place in this list.
AP_UNTRACKED contents& contents_of(const void* block) {
  static contents* all[4096];
  for (contents*& c : all) {
    if (c == nullptr) {
      void* const memory = std::malloc(sizeof(contents));
      if (memory == nullptr) break;
      c = new (memory) contents;
      c->block = block;
    }
    if (c->block == block) return *c;
  }
  std::fputs("antiphase: no memory for the Tensor Memory of another block\n", stderr);
  std::abort();
}
AP_VERB contents& here_of() { return contents_of(shared_base()); }
AP_UNTRACKED unsigned number_at(const contents& c, int lane, int column) {
  return c.x[lane % lanes][column % columns];
}
AP_UNTRACKED void put_number(contents& c, int lane, int column, unsigned v) {
  c.x[lane % lanes][column % columns] = v;
}
// The first free columns. -1: there are none.
AP_UNTRACKED int take_columns(contents& c, int count) {
  const int parts = count / 32;
  for (int first = 0; first + parts <= columns / 32; ++first) {
    bool is_free = true;
    for (int k = 0; k < parts; ++k) is_free = is_free && !c.taken[first + k];
    if (!is_free) continue;
    for (int k = 0; k < parts; ++k) c.taken[first + k] = true;
    return 32 * first;
  }
  return -1;
}
AP_UNTRACKED bool give_columns(contents& c, int first, int count) {
  bool all = first % 32 == 0 && first >= 0 && first + count <= columns;
  for (int k = first / 32; all && k < (first + count) / 32; ++k) {
    all = c.taken[k];
    c.taken[k] = false;
  }
  bool any = false;
  for (const bool one : c.taken) any = any || one;
  if (!any) c.relinquished = false;  // the next block begins anew
  return all;
}
AP_UNTRACKED bool has_columns(const contents& c) {
  bool any = false;
  for (const bool one : c.taken) any = any || one;
  return any;
}
AP_UNTRACKED bool are_taken(const contents& c, int first, int count) {
  bool all = first >= 0 && first + count <= columns;
  for (int k = first / 32; all && k <= (first + count - 1) / 32; ++k) all = c.taken[k];
  return all;
}
// True if the thread's own product was the last to write the word: the two are in order.
AP_UNTRACKED bool writes_again(contents& c, int word, int thread) {
  const bool again = c.writer[word] == thread + 1;
  c.writer[word] = thread + 1;
  return again;
}
AP_UNTRACKED void note_read(contents& c, int word) { c.writer[word] = 0; }
AP_UNTRACKED unsigned next_loaded(contents& c, int warp) { return c.loaded[warp]++ % words_in_flight; }
AP_UNTRACKED void give_up_permit(contents& c) { c.relinquished = true; }
AP_UNTRACKED bool has_relinquished(const contents& c) { return c.relinquished; }

AP_VERB int index_of_thread() { return machine::current->index; }
AP_VERB void require_columns(const contents& c, unsigned address, int count, place where) {
  if (!are_taken(c, static_cast<int>(address & 0xFFFF), count))
    machine::trap("an access to Tensor Memory outside of the columns that tcgen05.alloc has reserved", where);
}

// alloc, dealloc
// -----------------------------------------------------------------------------------------------------------
AP_VERB void allocate(void* to, unsigned count, place where) {
  if (count < 32 || count > 512 || (count & (count - 1)) != 0)
    machine::trap("tcgen05.alloc of a number of columns that is no power of two from 32 to 512", where);
  machine::whole_warp("tcgen05.alloc", where);
  if (lane() == 0) {
    contents& c = here_of();
    if (has_relinquished(c)) machine::trap("tcgen05.alloc after tcgen05.relinquish_alloc_permit", where);
    int first = take_columns(c, static_cast<int>(count));
    for (; first < 0; first = take_columns(c, static_cast<int>(count))) machine::yield(where);
    store<unsigned, 1>(to, {{static_cast<unsigned>(first)}});
  }
  machine::warp_exchange(all_lanes, nullptr, 0, where);
}
AP_VERB void deallocate(unsigned address, unsigned count, place where) {
  machine::whole_warp("tcgen05.dealloc", where);
  if (lane() != 0) return;
  if (!give_columns(here_of(), static_cast<int>(address & 0xFFFF), static_cast<int>(count)))
    machine::trap("tcgen05.dealloc of columns that tcgen05.alloc has not reserved", where);
  // A write of the words, which accesses in progress must not overlap with.
  order_words& all = shared_words<order_words>();
  for (int q = 0; q < quarters; ++q)
    for (unsigned k = 0; k < count / columns_of_word; ++k)
      all.x[static_cast<unsigned>(q * words_of_quarter) + (address & 0xFFFF) / columns_of_word + k] = 0;
}
AP_VERB void relinquish(place where) {
  machine::whole_warp("tcgen05.relinquish_alloc_permit", where);
  if (contents& c = here_of(); lane() == 0 && has_columns(c)) give_up_permit(c);
}

// ld, st, wait
// -----------------------------------------------------------------------------------------------------------
// Shapes by the bytes of a row: register i of a lane is at this lane and column.
struct tensor_place {
  int lane, column;
};
template <int Bits> AP_VERB tensor_place place_of(int register_number) {
  const int l = lane();
  if constexpr (Bits == 32) return {l, register_number};
  if constexpr (Bits == 128) return {l / 4 + register_number % 2 * 8, l % 4 + register_number / 2 * 4};
  return {l / 4 + register_number / 2 % 2 * 8, l % 4 * 2 + register_number % 2 + register_number / 4 * 8};
}
template <int Bits> constexpr int columns_of(int registers) { return Bits == 32 ? registers : registers * 2; }
AP_VERB void require_own_lanes(unsigned address, place where) {
  const int warp = index_of_thread() / 32 % quarters;
  if (static_cast<int>(address >> 16) / 32 != warp)
    machine::trap(
        "a warp accesses lanes of Tensor Memory that are not its own: warp w of four has 32 w and on", where);
}
// The words of order of a warp's access. Asynchronous until the thread waits.
AP_VERB void order_access(unsigned address, int count, bool stores, place where) {
  contents& c = here_of();
  require_own_lanes(address, where);
  require_columns(c, address, count, where);
  const int quarter = static_cast<int>(address >> 16) / 32, first = static_cast<int>(address & 0xFFFF);
  order_words& all = shared_words<order_words>();
  if (lane() == 0)
    for (int k = first / columns_of_word; k <= (first + count - 1) / columns_of_word; ++k) {
      const int word = quarter * words_of_quarter + k;
      note_read(c, word);
      if (stores) {
        machine::copy_async(&all.x[word], &all.x[word], 4, 0, where);
        continue;
      }
      const int warp = index_of_thread() / 32;
      machine::copy_async(
          &shared_words<loaded_words>().x[warp * words_in_flight + static_cast<int>(next_loaded(c, warp))],
          &all.x[word], 4, 4, where);
    }
  machine::warp_exchange(all_lanes, nullptr, 0, where);
}
template <int Bits, int Count> AP_VERB several<unsigned, Count> load_numbers(unsigned address, place where) {
  machine::whole_warp("tcgen05.ld", where);
  order_access(address, columns_of<Bits>(Count), false, where);
  several<unsigned, Count> all{};
  for (int i = 0; i < Count; ++i) {
    const tensor_place p = place_of<Bits>(i);
    all.x[i] = number_at(here_of(), static_cast<int>(address >> 16) + p.lane,
                         static_cast<int>(address & 0xFFFF) + p.column);
  }
  return all;
}
template <int Bits, int Count>
AP_VERB void store_numbers(unsigned address, const several<unsigned, Count>& all, place where) {
  machine::whole_warp("tcgen05.st", where);
  order_access(address, columns_of<Bits>(Count), true, where);
  for (int i = 0; i < Count; ++i) {
    const tensor_place p = place_of<Bits>(i);
    put_number(here_of(), static_cast<int>(address >> 16) + p.lane,
               static_cast<int>(address & 0xFFFF) + p.column, all.x[i]);
  }
}
AP_VERB void wait_for_accesses(place where) {
  machine::whole_warp("tcgen05.wait", where);
  if (lane() == 0) {
    machine::copy_async_commit();
    machine::copy_async_wait(0, where);
  }
  machine::warp_exchange(all_lanes, nullptr, 0, where);
}

// mma, commit
// -----------------------------------------------------------------------------------------------------------
// Bytes of an operand in shared memory, by its descriptor: element `k` of row `r`, of `bytes` each.
AP_UNTRACKED unsigned operand_at(unsigned char* base, unsigned long descriptor, bool by_rows, int r, int k,
                                 int bytes) {
  const int start = static_cast<int>(descriptor & 0x3FFF) * 16,
            leading = static_cast<int>(descriptor >> 16 & 0x3FFF) * 16,
            stride = static_cast<int>(descriptor >> 32 & 0x3FFF) * 16;
  const int mode = static_cast<int>(descriptor >> 61);
  const int width = mode == 2 || mode == 1 ? 128 : mode == 4 ? 64 : mode == 6 ? 32 : 16;
  int at;
  if (by_rows) {  // k runs along a row of the swizzle
    const int offset = k * bytes;
    at = r % 8 * width + r / 8 * stride + offset % width + offset / width * leading;
  } else {  // rows of the matrix run along it
    const int offset = r * bytes;
    at = k % 8 * width + k / 8 * stride + offset % width + offset / width * leading;
  }
  at += start;
  if (width > 16) at ^= (at >> 7 & (width / 16 - 1)) << 4;
  unsigned v = 0;
  std::memcpy(&v, base + at, static_cast<std::size_t>(bytes));
  return v;
}
enum class operand_kind { f16, tf32 };
AP_UNTRACKED float number_of(unsigned bits, operand_kind kind, bool bfloat) {
  if (kind == operand_kind::tf32) return __builtin_bit_cast(float, bits & 0xFFFFE000u);
  return bfloat ? plain::from_bfloat(static_cast<unsigned short>(bits))
                : plain::from_half(static_cast<unsigned short>(bits));
}
struct multiplication {
  unsigned to, from;     // from: A in Tensor Memory
  unsigned long a, b;    // descriptors
  unsigned instruction;  // descriptor
  bool adds, a_in_tensor_memory;
  operand_kind kind;
};
constexpr int rows_of(unsigned instruction) { return static_cast<int>(instruction >> 24 & 31) * 16; }
constexpr int columns_of_product(unsigned instruction) {
  return static_cast<int>(instruction >> 17 & 63) * 8;
}
AP_UNTRACKED void multiply_numbers(contents& c, unsigned char* base, const multiplication& m) {
  const int rows = rows_of(m.instruction), all = columns_of_product(m.instruction),
            bytes = m.kind == operand_kind::tf32 ? 4 : 2, depth = 32 / bytes;
  const bool bfloat = (m.instruction >> 7 & 7) == 1, a_by_rows = (m.instruction >> 15 & 1) == 0,
             b_by_rows = (m.instruction >> 16 & 1) == 0;
  for (int r = 0; r < rows; ++r) {
    const int lane_of_row = rows == 64 ? r % 16 + r / 16 * 32 : r;
    float a[16] = {};
    for (int k = 0; k < depth; ++k) {
      unsigned bits;
      if (m.a_in_tensor_memory) {
        const unsigned word =
            c.x[lane_of_row][((m.from & 0xFFFF) + static_cast<unsigned>(k * bytes / 4)) % columns];
        bits = bytes == 4 ? word : word >> k % 2 * 16;
      } else {
        bits = operand_at(base, m.a, a_by_rows, r, k, bytes);
      }
      a[k] = number_of(bits, m.kind, bfloat);
    }
    for (int n = 0; n < all; ++n) {
      unsigned& word = c.x[lane_of_row][((m.to & 0xFFFF) + static_cast<unsigned>(n)) % columns];
      float sum = m.adds ? __builtin_bit_cast(float, word) : 0;
      for (int k = 0; k < depth; ++k)
        sum += a[k] * number_of(operand_at(base, m.b, b_by_rows, n, k, bytes), m.kind, bfloat);
      word = __builtin_bit_cast(unsigned, sum);
    }
  }
}
// Words that the Tensor Core will write, until a commit signals an mbarrier.
AP_VERB void order_product(unsigned address, int count, place where) {
  contents& c = here_of();
  require_columns(c, address, count, where);
  order_words& all = shared_words<order_words>();
  for (int q = 0; q < quarters; ++q)
    for (int k = 0; k < (count + columns_of_word - 1) / columns_of_word; ++k) {
      const int word = q * words_of_quarter + static_cast<int>(address & 0xFFFF) / columns_of_word + k;
      if (!writes_again(c, word, index_of_thread()))
        machine::copy_async(&all.x[word], &all.x[word], 4, 0, where);
    }
}
AP_VERB void multiply(const multiplication& m, place where) {
  if ((m.instruction >> 4 & 3) != 1 || (m.instruction >> 13 & 3) != 0)
    machine::trap(
        "a tcgen05.mma whose sums are not f32, or whose operands are negated: antiphase check has none",
        where);
  order_product(m.to, columns_of_product(m.instruction), where);
  multiply_numbers(here_of(), shared_base(), m);
}
AP_VERB void commit(unsigned long* word, place where) {
  machine::mbarrier_copies_arrive(word, machine::copies_arrive::as_party, where);
}

#undef AP_UNTRACKED
}  // namespace antiphase::plain::ptx::tensor_memory
