// SPDX-License-Identifier: Apache-2.0
// What Tensor Cores do with Tensor Memory: products, copies and commits; and cluster launch control.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "checker/plain/runtime/memory/tensor_memory.hpp"

namespace antiphase::plain::ptx::tensor_memory {

// mma
// -----------------------------------------------------------------------------------------------------------

namespace {
// A number of `e` bits of exponent and `m` of mantissa.
float small_number(unsigned bits, int e, int m, bool has_infinities) {
  const unsigned exponent = bits >> m & ((1u << e) - 1), fraction = bits & ((1u << m) - 1);
  const int bias = (1 << (e - 1)) - 1;
  float x = exponent == 0
                ? std::ldexp(static_cast<float>(fraction), 1 - bias - m)
                : std::ldexp(static_cast<float>(fraction | 1u << m), static_cast<int>(exponent) - bias - m);
  if (has_infinities && exponent == (1u << e) - 1) x = fraction == 0 ? INFINITY : NAN;
  return bits >> (e + m) & 1 ? -x : x;
}
unsigned to_half(float x) {
  const auto h = static_cast<_Float16>(x);
  return std::bit_cast<unsigned short>(h);
}
float of_e4m3(unsigned bits) { return (bits & 0x7F) == 0x7F ? NAN : small_number(bits, 4, 3, false); }

struct operand_format {
  int bits, depth;  // of a number; how many of them a product takes from a row
  int code;         // of the instruction's descriptor
  operand_kind kind;

  bool packed() const { return kind == operand_kind::mxf4 || kind == operand_kind::mxf4nvf4; }
  int bits_between() const {
    return kind == operand_kind::tf32 ? 32 : kind == operand_kind::f16 ? 16 : packed() ? 4 : 8;
  }
  int bytes_of_row() const { return depth * bits_between() / 8; }
  // Where element k begins, in bits. Of 6 and 4 bits, 16 numbers follow each other in 16 bytes.
  int bit_of(int k) const { return bits == bits_between() ? k * bits : k / 16 * 128 + k % 16 * bits; }
  float value(unsigned raw) const {
    const unsigned x = raw & (bits == 32 ? ~0u : (1u << bits) - 1);
    switch (kind) {
      case operand_kind::f16: return code == 1 ? std::bit_cast<float>(x << 16) : small_number(x, 5, 10, true);
      case operand_kind::tf32: return std::bit_cast<float>(x & 0xFFFFE000u);
      case operand_kind::i8:
        return static_cast<float>(code == 1 ? static_cast<signed char>(x) : static_cast<int>(x));
      case operand_kind::mxf4:
      case operand_kind::mxf4nvf4: return small_number(x, 2, 1, false);
      default: break;
    }
    switch (code) {
      case 0: return of_e4m3(x);
      case 1: return small_number(x, 5, 2, true);
      case 3: return small_number(x, 2, 3, false);
      case 4: return small_number(x, 3, 2, false);
      default: return small_number(x, 2, 1, false);
    }
  }
};
operand_format format_of(const multiplication& m, int code) {
  operand_format f{8, 32, code, m.kind};
  if (m.kind == operand_kind::f16) f = {16, 16, code, m.kind};
  if (m.kind == operand_kind::tf32) f = {32, 8, code, m.kind};
  if (f.packed()) f = {4, m.instruction >> 31 != 0 ? 96 : 64, code, m.kind};
  if (m.kind == operand_kind::f8f6f4 || m.kind == operand_kind::mxf8f6f4)
    f.bits = code == 5 ? 4 : code >= 3 ? 6 : 8;
  return f;
}

// An operand in shared memory, by its descriptor.
struct matrix_bytes {
  unsigned long descriptor;
  bool by_rows;  // k runs along a row of the swizzle
  int bytes;     // of an element, where rows of the matrix run along it

  int offset_of(int r, int k, int byte_of_row) const {
    const int start = static_cast<int>(descriptor & 0x3FFF) * 16,
              leading = static_cast<int>(descriptor >> 16 & 0x3FFF) * 16,
              stride = static_cast<int>(descriptor >> 32 & 0x3FFF) * 16;
    const int mode = static_cast<int>(descriptor >> 61);
    const int width = mode == 2 || mode == 1 ? 128 : mode == 4 ? 64 : mode == 6 ? 32 : 16;
    const int line = by_rows ? r : k, along = by_rows ? byte_of_row : r * bytes;
    int at = start + line % 8 * width + line / 8 * stride + along % width + along / width * leading;
    if (width > 16) at ^= (at >> 7 & (width / 16 - 1)) << 4;
    return at;
  }
  std::vector<int> pieces(int rows, const operand_format& f) const {
    std::vector<int> all;
    if (by_rows)
      for (int r = 0; r < rows; ++r)
        for (int byte = 0; byte < f.bytes_of_row(); byte += 16) all.push_back(offset_of(r, 0, byte) & ~15);
    else
      for (int k = 0; k < f.depth; ++k)
        for (int r = 0; r < rows; r += 16 / bytes) all.push_back(offset_of(r, k, 0) & ~15);
    return all;
  }
  std::vector<float> numbers(const unsigned char* base, int rows, const operand_format& f) const {
    std::vector<float> all(static_cast<std::size_t>(rows * f.depth));
    for (int r = 0; r < rows; ++r)
      for (int k = 0; k < f.depth; ++k) {
        const int bit = by_rows ? f.bit_of(k) : 0, at = offset_of(r, k, bit / 8);
        unsigned raw = 0;
        const auto bytes_read = static_cast<std::size_t>((f.bits + bit % 8 + 7) / 8);
        if (static_cast<std::size_t>(at) + bytes_read <= machine::current->block->shared_bytes)
          std::memcpy(&raw, base + at, bytes_read);
        all[static_cast<std::size_t>(r * f.depth + k)] = f.value(raw >> bit % 8);
      }
    return all;
  }
};

struct product_shape {
  int rows, columns;  // of the whole product
  bool pair, separate;

  int rows_here() const { return pair ? rows / 2 : rows; }
  // Parts of the columns that lie in other lanes of the same columns.
  int folds() const { return pair ? (rows == 128 ? 2 : 1) : separate ? 128 / rows : 1; }
  int columns_here() const { return columns / folds(); }
  int lane(int row) const { return !pair && !separate && rows == 64 ? row % 16 + row / 16 * 32 : row; }
  element_place place(int row, int n) const {
    return {lane(row) + n / columns_here() * rows_here(), n % columns_here()};
  }
};

// Factors of the blocks of a row, in Tensor Memory: row r in lane r % 32, column r / 32.
class scale_factors {
 public:
  scale_factors(const block_memory& m, const multiplication& product, unsigned address, int first_byte)
      : m_(m), product_(product), address_(address), first_byte_(first_byte) {}
  float factor(int row, int k, int depth) const {
    if (product_.scales == 0) return 1;
    const unsigned word = m_.x[static_cast<std::size_t>(row % 32)]
                              [((address_ & 0xFFFF) + static_cast<unsigned>(row / 32)) % columns];
    const unsigned byte = word >> 8 * (first_byte_ + k / std::max(depth / product_.scales, 1)) & 0xFF;
    const bool powers = product_.kind != operand_kind::mxf4nvf4 || (product_.instruction >> 23 & 1) != 0;
    if (powers) return byte == 255 ? NAN : std::ldexp(1.0F, static_cast<int>(byte) - 127);
    return of_e4m3(byte & 0x7F);
  }

 private:
  const block_memory& m_;
  const multiplication& product_;
  unsigned address_;
  int first_byte_;
};

void scale(std::vector<float>& all, int rows, int depth, const scale_factors& by) {
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < depth; ++k) all[static_cast<std::size_t>(r * depth + k)] *= by.factor(r, k, depth);
}

class product {
 public:
  product(unsigned* words, const multiplication& m, place where, const void* code)
      : words_(words),
        m_(m),
        where_(where),
        code_(code),
        shape_{static_cast<int>(m.instruction >> 24 & 31) * 16,
               static_cast<int>(m.instruction >> 17 & 63) * 8, m.pair, m.separate},
        a_format_(format_of(m, static_cast<int>(m.instruction >> 7 & 7))),
        b_format_(format_of(m, static_cast<int>(m.instruction >> 10 & 7))),
        a_{m.a, (m.instruction >> 15 & 1) == 0, a_format_.bits_between() / 8},
        b_{m.b, (m.instruction >> 16 & 1) == 0, b_format_.bits_between() / 8} {}
  void run() {
    block_memory& mine = memory_here();
    require_group(mine, m_.pair, where_);
    const bool scaled = m_.scales != 0;
    if ((m_.instruction >> 2 & 1) != 0)
      machine::trap("a tcgen05.mma whose descriptor says sparse: antiphase check has none", where_);
    sums_ = scaled ? 1 : static_cast<int>(m_.instruction >> 4 & 3);
    halves_.push_back({&mine, words_, shared_base()});
    if (m_.pair)
      halves_.push_back({&memory_at(other_base(where_)), other_words(words_, where_), other_base(where_)});
    if (m_.pair && rank_here() % 2 != 0) std::swap(halves_[0], halves_[1]);
    order();
    for (const half& h : halves_) multiply_in(h);
  }

 private:
  struct half {  // a block of the pair
    block_memory* memory;
    unsigned* words;
    const unsigned char* base;
  };
  int rows_of_b() const { return shape_.columns / (m_.pair ? 2 : 1); }
  int columns_of_a() const { return a_format_.bytes_of_row() / 4; }
  void order() {
    ordered_accesses all({tensor_work::product, "tcgen05.mma", where_, code_});
    for (const half& h : halves_) {
      if (m_.a_in_tensor_memory) {
        all.add_columns(*h.memory, h.words, m_.from, columns_of_a(), true, false);
      } else {
        std::vector<int> pieces = a_.pieces(shape_.rows_here(), a_format_);
        all.add_bytes(h.base, pieces);
      }
      std::vector<int> pieces = b_.pieces(rows_of_b(), b_format_);
      all.add_bytes(h.base, pieces);
      if (m_.scales != 0) {
        all.add_columns(*h.memory, h.words, m_.a_scales, std::max(shape_.rows_here() / 32, 1), true, false);
        all.add_columns(*h.memory, h.words, m_.b_scales, (shape_.columns + 31) / 32, true, false);
      }
      all.add_columns(*h.memory, h.words, m_.to, shape_.columns_here(), m_.adds, true);
    }
    all.begin();
  }
  std::vector<float> numbers_of_a(const half& h) const {
    const int rows = shape_.rows_here(), depth = a_format_.depth;
    if (!m_.a_in_tensor_memory) return a_.numbers(h.base, rows, a_format_);
    std::vector<float> all(static_cast<std::size_t>(rows * depth));
    for (int r = 0; r < rows; ++r)
      for (int k = 0; k < depth; ++k) {
        const int bit = a_format_.bit_of(k);
        const unsigned word = h.memory->x[static_cast<std::size_t>(shape_.lane(r))]
                                         [((m_.from & 0xFFFF) + static_cast<unsigned>(bit / 32)) % columns];
        all[static_cast<std::size_t>(r * depth + k)] = a_format_.value(word >> bit % 32);
      }
    return all;
  }
  void multiply_in(const half& h) const {
    const int rows = shape_.rows_here(), depth = a_format_.depth;
    std::vector<float> a = numbers_of_a(h), b;
    for (const half& other : halves_) {
      const auto part = b_.numbers(other.base, rows_of_b(), b_format_);
      b.insert(b.end(), part.begin(), part.end());
    }
    if (m_.scales != 0) {
      scale(a, rows, depth, {*h.memory, m_, m_.a_scales, static_cast<int>(m_.instruction >> 29 & 3)});
      scale(b, shape_.columns, depth,
            {*h.memory, m_, m_.b_scales, static_cast<int>(m_.instruction >> 4 & 3)});
    }
    const float sign = ((m_.instruction >> 13 ^ m_.instruction >> 14) & 1) != 0 ? -1.0F : 1.0F;
    for (int r = 0; r < rows; ++r)
      for (int n = 0; n < shape_.columns; ++n) {
        const element_place p = shape_.place(r, n);
        if ((m_.disabled[p.lane / 32 % 8] >> p.lane % 32 & 1) != 0) continue;
        unsigned& word = h.memory->x[static_cast<std::size_t>(p.lane)]
                                    [((m_.to & 0xFFFF) + static_cast<unsigned>(p.column)) % columns];
        if (sums_ == 2) {
          int sum = m_.adds ? static_cast<int>(word) : 0;
          for (int k = 0; k < depth; ++k)
            sum += static_cast<int>(a[static_cast<std::size_t>(r * depth + k)] *
                                    b[static_cast<std::size_t>(n * depth + k)]);
          word = static_cast<unsigned>(sum);
          continue;
        }
        float sum = 0;
        if (m_.adds) sum = sums_ == 1 ? std::bit_cast<float>(word) : small_number(word & 0xFFFF, 5, 10, true);
        sum = std::ldexp(sum, -m_.shift);
        for (int k = 0; k < depth; ++k)
          sum +=
              sign * a[static_cast<std::size_t>(r * depth + k)] * b[static_cast<std::size_t>(n * depth + k)];
        word = sums_ == 1 ? std::bit_cast<unsigned>(sum) : to_half(sum);
      }
  }

  unsigned* words_;
  const multiplication& m_;
  place where_;
  const void* code_;
  product_shape shape_;
  operand_format a_format_, b_format_;
  matrix_bytes a_, b_;
  int sums_ = 1;  // 0: f16, 1: f32, 2: integers
  std::vector<half> halves_;
};
}  // namespace

void multiply(unsigned* words, const multiplication& m, place where) {
  product(words, m, where, __builtin_return_address(0)).run();
}

// cp, shift, commit
// -----------------------------------------------------------------------------------------------------------

void copy(unsigned* words, copied_shape of, unsigned to, unsigned long from, bool pair, place where) {
  block_memory& mine = memory_here();
  require_group(mine, pair, where);
  ordered_accesses all({tensor_work::product, "tcgen05.cp", where, __builtin_return_address(0)});
  const matrix_bytes source{from, true, 1};
  for (int half = 0; half < (pair ? 2 : 1); ++half) {
    block_memory& m = half == 0 ? mine : memory_at(other_base(where));
    const unsigned char* const base = half == 0 ? shared_base() : other_base(where);
    std::vector<int> pieces;
    for (int r = 0; r < of.rows; ++r)
      for (int byte = 0; byte < of.bytes; byte += 4) {
        const int at = source.offset_of(r, 0, byte);
        if (byte % 16 == 0) pieces.push_back(at);
        for (int copy = 0; copy < of.copies; ++copy) {
          unsigned word = 0;
          if (static_cast<std::size_t>(at) + 4 <= machine::current->block->shared_bytes)
            std::memcpy(&word, base + at, 4);
          // of 64 rows: each half goes to two warps
          const int lane = of.rows == 64 && of.apart == 64 ? r + copy * 64
                           : of.rows == 64                 ? r / 32 * 64 + r % 32 + copy * 32
                                                           : r + copy * 32;
          m.x[(static_cast<std::size_t>(to >> 16) + static_cast<std::size_t>(lane)) % lanes]
             [((to & 0xFFFF) + static_cast<std::size_t>(byte / 4)) % columns] = word;
        }
      }
    all.add_bytes(base, pieces);
    all.add_columns(m, half == 0 ? words : other_words(words, where), to, of.bytes / 4, false, true, 0,
                    of.rows <= 4 ? 2 : parts);
  }
  all.begin();
}
void shift_down(unsigned* words, unsigned address, bool pair, place where) {
  constexpr int width = 8;  // columns: 32 bytes
  block_memory& mine = memory_here();
  require_group(mine, pair, where);
  ordered_accesses all({tensor_work::product, "tcgen05.shift", where, __builtin_return_address(0)});
  for (int half = 0; half < (pair ? 2 : 1); ++half) {
    block_memory& m = half == 0 ? mine : memory_at(other_base(where));
    all.add_columns(m, half == 0 ? words : other_words(words, where), address, width, true, true);
    for (std::size_t lane = address >> 16; lane + 1 < lanes; ++lane)
      for (std::size_t column = address & 0xFFFF; column < (address & 0xFFFF) + width; ++column)
        m.x[lane][column % columns] = m.x[lane + 1][column % columns];
  }
  all.begin();
}
void commit(unsigned long* word, unsigned ranks, bool pair, place where) {
  require_group(memory_here(), pair, where);
  const int rank = block_of(word, where);
  if (ranks == 0) return machine::tensor_commit(word, rank, where);
  auto* const base = static_cast<unsigned char*>(in_block(shared_base(), rank, where));
  const std::ptrdiff_t offset = reinterpret_cast<unsigned char*>(word) - base;
  for (int to = 0; ranks >> to != 0; ++to)
    if ((ranks >> to & 1) != 0)
      machine::tensor_commit(reinterpret_cast<unsigned long*>(
                                 static_cast<unsigned char*>(in_block(shared_base(), to, where)) + offset),
                             to, where);
}

// Cluster launch control
// -----------------------------------------------------------------------------------------------------------

namespace {
std::uint64_t canceled_blocks = 0;
}
std::uint64_t take_canceled_blocks() { return std::exchange(canceled_blocks, 0); }

void cancel_launch(void* to, unsigned long* word, bool all_blocks, place where) {
  const extent3 first = machine::cancel_launch();
  const bool any = first.x != ~0u;
  if (any) canceled_blocks += static_cast<std::uint64_t>(machine::current->block->cluster_extent);
  const unsigned answer[4] = {any ? 1u : 0u, any ? first.x : 0, any ? first.y : 0, any ? first.z : 0};
  const unsigned ranks = all_blocks ? (1u << machine::current->block->cluster_extent) - 1 : 0;
  machine::answer_launch(to, answer, word, ranks, where);
}

}  // namespace antiphase::plain::ptx::tensor_memory
