// SPDX-License-Identifier: Apache-2.0
// The memory that kernels may touch, and for each byte its last writer and the readers since.
#pragma once
#include <algorithm>
#include <antiphase/core/scope.hpp>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "checker/order/knowledge.hpp"

namespace antiphase::checker_detail {

// constant_reads: read-only loads (__ldg, ld.global.nc), of two threads of a launch at most. The next two are
// earlier writes, kept when an atomic write replaced them. made: the memory was allocated in the order of a
// stream.
enum reader_kind : std::uint8_t { warp_reads, copy_reads, constant_reads, warp_wrote, copy_wrote, made };

// What makes an atomic or volatile access strong (PTX ISA): its scope, in the low four bits, and the size of
// its operand, of which the rest is the binary logarithm. 0: none, a weak access.
using strength_bits = std::uint8_t;
inline strength_bits strength_of(scope reach, std::size_t bytes) {
  return reach == scope{} ? strength_bits{0}
                          : static_cast<strength_bits>(static_cast<unsigned>(reach) |
                                                       unsigned(std::countr_zero(bytes)) << 4);
}
inline scope reach_of(strength_bits s) { return static_cast<scope>(s & 15); }
inline bool of_one_size(strength_bits a, strength_bits b) { return (a ^ b) < 16; }

// Lanes of a warp that read at one time and place, or an asynchronous actor that did.
struct reader {
  block_number block = 0;
  std::uint16_t unit = 0;  // the warp, or the actor by_copy()
  strength_bits strength = 0;
  std::uint8_t kind = 0;  // reader_kind
  stamp time = 0;
  std::uint32_t lanes = 0;  // 0: no such reader
  place_number place = 0;

  bool by_copy() const { return kind == copy_reads || kind == copy_wrote; }
  bool wrote() const { return kind == warp_wrote || kind == copy_wrote; }
  bool same_group(const reader& r) const {
    return block == r.block && unit == r.unit && strength == r.strength && kind == r.kind;
  }
};

enum class cell_state : std::uint8_t {
  nobodys,        // not allocated
  uninitialised,  // allocated but never written
  written,        // by a thread, or by the host
  barrier,        // by the initialisation of an mbarrier
  copied,         // by an asynchronous copy, landed or not
  split,          // bytes differ: `more` leads to one cell for each
  freed
};

// Four bytes of memory, or one of a split cell.
struct cell {
  block_number block = 0;  // block of the last writer
  actor writer = 0;
  cell_state state = cell_state::nobodys;
  strength_bits strength = 0;
  stamp time = 0;
  place_number place = 0;
  reader first;            // inline, since one warp at a time is the usual case
  std::uint32_t more = 0;  // index of further readers, or of a split cell's bytes; 0: none

  bool by_thread() const { return state == cell_state::written || state == cell_state::barrier; }
  bool has_writer() const { return by_thread() || state == cell_state::copied; }
  bool exists() const { return state != cell_state::nobodys && state != cell_state::freed; }
};
inline cell fresh_cell(cell_state state) {
  cell c;
  c.state = state;
  return c;
}

// An entry in a cell's list of further readers: those of one block at one time and place, in any warps. Reads
// of a word by all warps of a block between two barriers make one entry, at the front. One word of lanes for
// each warp follows the struct; for an actor a single word, which is 1.
struct reader_group {
  std::uint32_t next;             // 0: the last entry
  checker_detail::reader reader;  // `unit`: actor or unused; `lanes`: number of warps

  std::uint32_t warps() const { return reader.lanes; }
  std::uint32_t* lanes() { return reinterpret_cast<std::uint32_t*>(this + 1); }
  std::uint32_t& lanes_of(const checker_detail::reader& r) { return lanes()[r.by_copy() ? 0 : r.unit]; }
  bool at(block_number block, stamp time, place_number place) const {
    return reader.block == block && reader.time == time && reader.place == place &&
           reader.kind == warp_reads && reader.strength == 0;
  }
};

// The memory of one run, with a cell for each 4-byte word. Allocates memory, finds the cells of an address,
// and owns their reader lists; access_history checks them. Assumes: one OS thread uses it.
class shadow {
 public:
  // One address range: shared memory of resident blocks, then allocations. An address is allocated once only.
  static constexpr std::size_t shared_bytes = std::size_t{1} << 28;
  static constexpr std::size_t global_bytes = std::size_t{1} << 32;
  // Unallocated bytes before and after each allocation: as many as it has, or more, while gap_bytes last. So
  // an index that leaves an array meets no thread's memory, and not the next array.
  static constexpr std::size_t least_gap = 4096, usual_gap = std::size_t{1} << 16;
  static constexpr std::size_t gap_bytes = std::size_t{1} << 29;
  static constexpr std::size_t outside = ~std::size_t{0};  // not an offset

  shadow();
  shadow(const shadow&) = delete;
  shadow& operator=(const shadow&) = delete;
  ~shadow();
  void reset();  // forgets everything

  unsigned char* shared() { return base_; }
  void* allocate(std::size_t bytes);
  void free(void* memory);
  // Writes these bytes over and over, at a tracked address. A large range costs no memory until it is
  // written.
  void fill(void* to, std::span<const unsigned char> value, std::size_t bytes);
  std::size_t allocated(const void* memory) const;  // size of the allocation that starts there
  // The last allocation that starts at or before an address, and the first that starts after it; null: none.
  struct neighbours {
    const void *before, *next;
  };
  neighbours allocations_beside(const void* address) const;

  // Tracks variables of the device that lie in the program's image, at [low, high): a range here stands for
  // them. They count as written, and known to all.
  void follow_variables(std::uintptr_t low, std::uintptr_t high);
  // Address in the image of the variable that `p` here stands for; null: none.
  const void* variable_at(const void* p) const {
    const std::size_t offset =
        reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(variables_);
    return offset < variables_bytes_ ? reinterpret_cast<const void*>(variables_low_ + offset)
                                     : nullptr;  // NOLINT: an address
  }
  // Tracks host memory from now on, as written and known to all: a range here stands for it.
  struct host_range {
    std::uintptr_t low;
    std::size_t bytes;
    std::size_t offset;  // of what stands for it
  };
  void follow_host(const void* p, std::size_t bytes);
  void forget_host(const void* p);                            // which starts such a range
  const host_range* host_range_at(const void* p) const;       // null: none
  const host_range* host_range_of(std::size_t offset) const;  // that this stands for, also in the past
  const std::vector<host_range>& host_ranges() const { return host_ranges_; }
  // Address in this memory whose cells belong to `p`.
  const void* followed(const void* p) const {
    const std::size_t offset = offset_of(p);
    return offset != outside ? base_ + offset : p;
  }
  // The same as an offset; `outside` unless all of these bytes are tracked.
  std::size_t offset_of(const void* p, std::size_t bytes = 1) const {
    const std::size_t variable = reinterpret_cast<std::uintptr_t>(p) - variables_low_;
    if (variable < variables_bytes_)
      return bytes <= variables_bytes_ - variable
                 ? reinterpret_cast<std::uintptr_t>(variables_) - lowest() + variable
                 : outside;
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - lowest();
    if (offset < size() && bytes <= size() - offset) return offset;
    return host_ranges_.empty() ? outside : offset_of_host(p, bytes);
  }
  bool follows(const void* p, std::size_t bytes = 1) const { return offset_of(p, bytes) != outside; }
  // Plain CUDA: a block's shared memory is unallocated until its variables are declared, each of them
  // unwritten.
  bool shared_by_variables = false;
  void begin_shared_variable(const void* p, std::size_t bytes);

  std::uintptr_t lowest() const { return reinterpret_cast<std::uintptr_t>(base_); }
  static constexpr std::size_t size() { return shared_bytes + global_bytes + gap_bytes; }
  // Raw cells, zero for a chunk untouched since it was last set as a whole. The fast paths read these.
  cell* cells() { return cells_; }
  // The cell of the word at that offset.
  cell& touched(std::size_t offset) {
    if (uniform_[offset / chunk] != single) touch(offset / chunk);
    return cells_[offset / 4];
  }
  const cell& byte(std::size_t offset) {
    const cell& c = touched(offset);
    return c.state == cell_state::split ? split_[c.more][offset % 4] : c;
  }

  // All bytes of the range start anew.
  void set(const void* memory, std::size_t bytes, const cell& as);
  void set(const void* memory, std::size_t bytes, cell_state as) { set(memory, bytes, fresh_cell(as)); }

  // Calls visit(cell, offset, bytes) for each cell of [offset, offset + bytes): by word, or by byte for split
  // cells and parts of words.
  template <class Visit> void visit(std::size_t offset, std::size_t bytes, Visit visit);
  // The same for a visitor that uses nothing but the cell: one call may stand for many equal cells.
  template <class Visit> void visit_alike(std::size_t offset, std::size_t bytes, Visit visit);
  // Calls f for each warp or actor in the cell's list.
  template <class Do> void each_reader(const cell& c, Do f) {
    for (std::uint32_t number = c.more; number != 0; number = group(number).next) {
      reader r = group(number).reader;
      const std::uint32_t units = r.by_copy() ? 1 : r.lanes;
      for (std::uint32_t i = 0; i < units; ++i) {
        if (!r.by_copy()) r.unit = static_cast<std::uint16_t>(i);
        r.lanes = group(number).lanes()[i];
        if (r.lanes != 0) f(r);
      }
    }
  }

  reader_group& group(std::uint32_t number) { return *reinterpret_cast<reader_group*>(&lines_[number]); }
  // Adds an entry at the front of the cell's list, with room for `warps` and no lanes set.
  reader_group& add_group(cell& c, const reader& of, std::uint32_t warps);
  void drop_groups(std::uint32_t first);
  void clear_readers(cell& c) {
    c.first.lanes = 0;
    if (c.more != 0) drop_groups(std::exchange(c.more, 0));
  }

  std::uint64_t bytes_kept() const;     // the checker's own memory
  std::uint64_t bytes_tracked() const;  // peak, shared and global

 private:
  // Memory is set in chunks of 256 bytes. All cells of a chunk set as a whole are equal until one of them is
  // touched.
  static constexpr std::size_t chunk = 256;
  // untouched: all cells zero, never set. single: cells as they lie in memory.
  static constexpr std::uint32_t untouched = 0, single = ~0u;
  std::size_t offset_of_host(const void* p, std::size_t bytes) const;
  void split(cell& c);
  void drop(cell& c);
  void touch(std::size_t chunk_number);
  void set_chunk(std::size_t chunk_number, std::uint32_t as);
  std::uint32_t number_of(const cell& c);
  std::size_t gap_beside(std::size_t bytes);

  unsigned char* base_ = nullptr;
  cell* cells_ = nullptr;
  // by chunk: `untouched`, `single`, or the index in alike_ of the value of all its cells
  std::uint32_t* uniform_ = nullptr;
  std::vector<cell> alike_;  // value of uniform chunks
  std::uint64_t single_chunks_ = 0;
  std::size_t next_ = shared_bytes + least_gap;
  std::size_t gaps_left_ = gap_bytes;
  std::size_t shared_used_ = 0;
  std::uintptr_t variables_low_ = 0;  // in the program's image
  std::size_t variables_bytes_ = 0;
  const unsigned char* variables_ = nullptr;  // stands for them here
  std::vector<host_range> host_ranges_, past_host_ranges_;
  std::vector<std::pair<std::size_t, std::size_t>> allocations_;  // offset and size, ascending
  std::vector<std::array<cell, 4>> split_;
  std::vector<std::uint32_t> free_splits_;
  // Groups are made of cache lines: one, or up to three for large blocks.
  struct alignas(64) line {
    unsigned char bytes[64];
  };
  static std::uint32_t lines_for(std::uint32_t warps) {
    return static_cast<std::uint32_t>(
        (sizeof(reader_group) + warps * sizeof(std::uint32_t) + sizeof(line) - 1) / sizeof(line));
  }
  std::vector<line> lines_;
  std::array<std::uint32_t, 4> free_groups_{};  // free lists, by number of lines
};

template <class Visit> void shadow::visit(std::size_t offset, std::size_t bytes, Visit visit) {
  std::size_t at = offset;
  const std::size_t end = offset + bytes;
  while (at < end) {
    cell& c = touched(at);
    const std::size_t word_end = at / 4 * 4 + 4;
    if (at % 4 == 0 && word_end <= end && c.state != cell_state::split) {
      visit(c, at, std::size_t{4});
    } else {
      if (c.state != cell_state::split) split(c);
      const std::uint32_t bytes_index = c.more;
      for (std::size_t i = at; i < std::min(end, word_end); ++i)
        visit(split_[bytes_index][i % 4], i, std::size_t{1});
    }
    at = word_end;
  }
}

template <class Visit> void shadow::visit_alike(std::size_t offset, std::size_t bytes, Visit visit_one) {
  std::uint32_t before = untouched, after = untouched;
  const std::size_t end = offset + bytes;
  for (std::size_t at = offset; at < end;) {
    const std::size_t next = std::min(end, (at / chunk + 1) * chunk);
    const std::uint32_t is = uniform_[at / chunk];
    if (next - at == chunk && is != untouched && is != single) {
      if (is != before) {
        cell c = alike_[is];
        visit_one(c, at, std::size_t{4});
        before = after = is;
        if (c.more != 0)  // a reader list belongs to a single cell
          drop_groups(c.more), before = untouched;
        else
          after = number_of(c);
      }
      if (before == is) {
        uniform_[at / chunk] = after;
        at = next;
        continue;
      }
    }
    visit(at, next - at, visit_one);
    at = next;
  }
}

}  // namespace antiphase::checker_detail
