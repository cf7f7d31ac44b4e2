// SPDX-License-Identifier: Apache-2.0
// Tensor Memory: who has which columns, loads and stores, and the order of accesses.
#include "checker/plain/runtime/memory/tensor_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

namespace antiphase::plain::ptx::tensor_memory {

namespace {

std::unordered_map<const void*, std::unique_ptr<block_memory>> blocks;  // by their shared memory
long now = 0;                                                           // counts accesses and fences

void block_ended(checker_detail::block_number number) {
  const auto at = std::ranges::find_if(blocks, [&](const auto& b) { return b.second->number == number; });
  if (at == blocks.end()) return;
  for (const block_memory::reservation& r : at->second->reserved)
    followed().note_here(
        finding_kind::leak, r.at_place,
        fmt::format("tcgen05.alloc of {} columns, which the block still has when it ends", r.count),
        "tensor memory", sentence::tensor_free, sentence::none);
  blocks.erase(at);
}
}  // namespace

block_memory& memory_at(const unsigned char* shared) {
  checker_detail::model& checked = followed();
  checked.block_ends = block_ended;
  const checker_detail::block_number mine = checked.current()->block,
                                     number = shared == shared_base()
                                                  ? mine
                                                  : checked.clocks.owner_of(
                                                        mine, checked.memory.offset_of(shared), 1);
  auto& m = blocks[shared];
  if (m == nullptr || m->number != number) {
    m = std::make_unique<block_memory>();
    m->number = number;
  }
  return *m;
}
unsigned char* other_base(place where) {
  return static_cast<unsigned char*>(in_block(shared_base(), rank_here() ^ 1, where));
}
unsigned* other_words(unsigned* words, place where) {
  return static_cast<unsigned*>(in_block(words, rank_here() ^ 1, where));
}

void require_group(block_memory& m, bool pair, place where) {
  const int group = pair ? 2 : 1;
  if (pair && machine::current->block->cluster_extent % 2 != 0)
    machine::trap("tcgen05 with cta_group::2 in a cluster of an odd number of blocks", where);
  if (m.group != 0 && m.group != group)
    machine::trap("tcgen05 instructions of one kernel with cta_group::1 and with cta_group::2", where);
  m.group = group;
}
void require_columns(const block_memory& m, unsigned address, int count, place where) {
  if (!m.has(address & 0xFFFF, static_cast<unsigned>(count)))
    machine::trap("an access to Tensor Memory outside of the columns that tcgen05.alloc has reserved", where);
}

// The order of accesses
// -----------------------------------------------------------------------------------------------------------

namespace {
void note_missing(const access& a, const explanation& missing) {
  followed().note_here(finding_kind::race, a.number(), a.name, "tensor memory", missing,
                       sentence::gpu_tensor_fence);
}
// When the thread that made the access has last fenced; of a block that has ended, long ago.
long fenced_before(const last_access& last) {
  const auto at = std::ranges::find_if(blocks, [&](const auto& b) { return b.second->number == last.block; });
  return at == blocks.end() ? last.time + 1 : at->second->before[static_cast<std::size_t>(last.thread)];
}
// Accesses of two threads are in order only with a fence on both sides of what synchronizes them; commit
// implies the first one.
void check_fences(const block_memory& mine, last_access& last, const access& a, bool writes) {
  const int me = a.thread();
  const bool others = last.block != 0 && (last.block != mine.number || last.thread != me);
  if (others && (last.wrote || writes)) {
    if (mine.after[static_cast<std::size_t>(me)] <= last.time) note_missing(a, sentence::tensor_after);
    if (!last.product && fenced_before(last) <= last.time)
      note_missing(a, checker_detail::explain(sentence::tensor_before, last.thread));
  }
  last = {mine.number, me, now, writes, a.kind == tensor_work::product};
}

}  // namespace

ordered_accesses::ordered_accesses(const access& a) : a_(a) { ++now; }
void ordered_accesses::add_columns(block_memory& m, unsigned* words, unsigned address, int count, bool reads,
                                   bool writes, int part, int end) {
  require_columns(m, address, count, a_.where);
  const int first = static_cast<int>(address & 0xFFFF);
  block_memory& mine = memory_here();
  for (int q = part; q < end; ++q)
    for (int k = first / columns_of_word; k <= (first + count - 1) / columns_of_word; ++k) {
      const int word = q * words_of_part + k;
      check_fences(mine, m.last[static_cast<std::size_t>(word)], a_, writes);
      if (reads) all_.push_back({words + word, 4, false});
      if (writes) all_.push_back({words + word, 4, true});
    }
}
void ordered_accesses::add_bytes(const unsigned char* base, std::vector<int>& pieces) {  // of 16 bytes each
  std::ranges::sort(pieces);
  for (std::size_t k = 0; k < pieces.size();) {
    std::size_t end = k + 1;
    while (end < pieces.size() && pieces[end] <= pieces[end - 1] + 16) ++end;
    all_.push_back({base + pieces[k], static_cast<std::size_t>(pieces[end - 1] + 16 - pieces[k]), false});
    k = end;
  }
}
std::uint64_t ordered_accesses::begin() const {
  return machine::tensor_begin(a_.kind, a_.name, all_.data(), all_.size(), a_.where, a_.code);
}

void fence_before() { memory_here().before[static_cast<std::size_t>(thread_here())] = ++now; }
void fence_after() { memory_here().after[static_cast<std::size_t>(thread_here())] = ++now; }

// alloc, dealloc
// -----------------------------------------------------------------------------------------------------------

namespace {
// The first free columns. Empty: there are none.
std::optional<unsigned> free_columns(const block_memory& m, unsigned count) {
  for (unsigned first = 0; first + count <= columns; first += 32)
    if (std::ranges::none_of(m.reserved, [&](const block_memory::reservation& r) {
          return first < r.first + r.count && r.first < first + count;
        }))
      return first;
  return {};
}
// Both blocks of the pair take part: each must know that the other has begun.
unsigned reserve_in_pair(block_memory& m, unsigned count, place where, checker_detail::place_number number) {
  block_memory& other = memory_at(other_base(where));
  if (checker_detail::model& checked = followed();
      !checked.clocks.has_begun(*checked.current(), other.number))
    checked.note_here(finding_kind::race, number, "tcgen05.alloc for a pair of blocks", "tensor memory",
                      sentence::other_block_runs, sentence::none);
  if (m.offered.empty()) {  // the first of the two
    std::optional<unsigned> first = free_columns(m, count);
    for (; !first; first = free_columns(m, count)) machine::yield(where);
    other.offered.push_back(*first);
    m.reserved.push_back({*first, count, number});
    while (std::ranges::find(other.offered, *first) != other.offered.end()) machine::yield(where);
    return *first;
  }
  const unsigned first = m.offered.front();
  m.offered.erase(m.offered.begin());
  m.reserved.push_back({first, count, number});
  return first;
}
}  // namespace

unsigned reserve(unsigned count, bool pair, place where) {
  const auto number = followed().places.number_of(__builtin_return_address(0), where);
  if (count < 32 || count > columns || !std::has_single_bit(count))
    machine::trap("tcgen05.alloc of a number of columns that is no power of two from 32 to 512", where);
  if (lane_here() != 0) return 0;
  block_memory& m = memory_here();
  require_group(m, pair, where);
  if (m.relinquished) machine::trap("tcgen05.alloc after tcgen05.relinquish_alloc_permit", where);
  if (pair) return reserve_in_pair(m, count, where, number);
  std::optional<unsigned> first = free_columns(m, count);
  for (; !first; first = free_columns(m, count)) machine::yield(where);
  m.reserved.push_back({*first, count, number});
  return *first;
}
void release(unsigned* words, unsigned address, unsigned count, bool pair, place where) {
  const void* const code = __builtin_return_address(0);
  machine::whole_warp("tcgen05.dealloc", where);
  if (lane_here() != 0) return;
  block_memory& m = memory_here();
  require_group(m, pair, where);
  const auto at = std::ranges::find_if(m.reserved, [&](const block_memory::reservation& r) {
    return r.first == (address & 0xFFFF) && r.count == count;
  });
  if (at == m.reserved.end())
    machine::trap("tcgen05.dealloc of columns that tcgen05.alloc has not reserved", where);
  // A write of the words, which accesses in progress must not overlap with.
  std::vector<memory_range> all;
  for (int q = 0; q < parts; ++q)
    all.push_back({words + q * words_of_part + static_cast<int>(address & 0xFFFF) / columns_of_word,
                   count / columns_of_word * 4, true});
  machine::tensor_wait(tensor_work::store, machine::tensor_begin(tensor_work::store, "tcgen05.dealloc",
                                                                 all.data(), all.size(), where, code));
  m.reserved.erase(at);
  if (!pair) return;
  block_memory& other = memory_at(other_base(where));
  ++other.freed_by_other;
  while (m.freed_by_other == 0) machine::yield(where);
  --m.freed_by_other;
}
void relinquish(bool pair, place where) {
  machine::whole_warp("tcgen05.relinquish_alloc_permit", where);
  block_memory& m = memory_here();
  require_group(m, pair, where);
  m.relinquished = true;
}

// ld, st, wait
// -----------------------------------------------------------------------------------------------------------

namespace {
element_place place_of(const shape& s, int i) {
  const int l = lane_here();
  switch (s.bits) {
    case 0: return {l % 16, i + l / 16 * s.half};
    case 32: return {l, i};
    case 64: return {l / 4 + l % 2 * 8, l / 2 % 2 + i * 2};
    case 128: return {l / 4 + i % 2 * 8, l % 4 + i / 2 * 4};
    default: return {l / 4 + i / 2 % 2 * 8, l % 4 * 2 + i % 2 + i / 4 * 8};
  }
}
int elements_of(const shape& s) { return s.registers * (s.packed ? 2 : 1); }
int columns_of(const shape& s) {
  const int n = elements_of(s);
  return s.bits == 0 ? n + s.half : s.bits == 32 ? n : n * 2;
}
// The address with the warp's own lanes. GPUs add them to an address of the first lanes, as TileLang has it.
unsigned with_own_lanes(unsigned address, const char* name, place where, const void* code) {
  const unsigned own = static_cast<unsigned>(thread_here()) / 32 % quarters, given = (address >> 16) / 32;
  if (given == own) return address;
  if (given != 0)
    machine::trap(
        "a warp accesses lanes of Tensor Memory that are not its own: warp w of four has 32 w and on", where);
  if (lane_here() == 0)
    followed().note_here(finding_kind::outside_memory, followed().places.number_of(code, where), name,
                         "tensor memory", sentence::tensor_lanes, sentence::gpu_tensor_lanes);
  return address | own << 21;
}
std::uint64_t begin_of_warp(unsigned* words, const shape& s, unsigned address, bool stores, place where,
                            const void* code) {
  const access a{stores ? tensor_work::store : tensor_work::load, stores ? "tcgen05.st" : "tcgen05.ld", where,
                 code};
  std::uint64_t number = 0;
  if (lane_here() == 0) {
    block_memory& m = memory_here();
    ordered_accesses all(a);
    const int part = static_cast<int>(address >> 16) / lanes_of_part, taken = s.bits == 32 ? 2 : 1;
    all.add_columns(m, words, address, columns_of(s), !stores, stores, part, part + taken);
    number = all.begin();
  }
  const auto* of_first = machine::warp_exchange(all_lanes, &number, sizeof number, where);
  std::memcpy(&number, of_first[0].bytes, sizeof number);
  return number;
}
unsigned& number_at(block_memory& m, unsigned address, element_place p) {
  return m.x[(static_cast<std::size_t>(address >> 16) + static_cast<std::size_t>(p.lane)) % lanes]
            [((address & 0xFFFF) + static_cast<std::size_t>(p.column)) % columns];
}
}  // namespace

std::uint64_t load(unsigned* words, shape of, unsigned address, unsigned* to, place where) {
  const void* const code = __builtin_return_address(0);
  machine::whole_warp("tcgen05.ld", where);
  address = with_own_lanes(address, "tcgen05.ld", where, code);
  const std::uint64_t number = begin_of_warp(words, of, address, false, where, code);
  block_memory& m = memory_here();
  for (int i = 0; i < of.registers; ++i)
    to[i] = of.packed ? (number_at(m, address, place_of(of, 2 * i)) & 0xFFFF) |
                            number_at(m, address, place_of(of, 2 * i + 1)) << 16
                      : number_at(m, address, place_of(of, i));
  return number;
}
void store(unsigned* words, shape of, unsigned address, const unsigned* from, place where) {
  const void* const code = __builtin_return_address(0);
  machine::whole_warp("tcgen05.st", where);
  address = with_own_lanes(address, "tcgen05.st", where, code);
  begin_of_warp(words, of, address, true, where, code);
  block_memory& m = memory_here();
  for (int i = 0; i < of.registers; ++i) {
    if (!of.packed) {
      number_at(m, address, place_of(of, i)) = from[i];
      continue;
    }
    number_at(m, address, place_of(of, 2 * i)) = from[i] & 0xFFFF;
    number_at(m, address, place_of(of, 2 * i + 1)) = from[i] >> 16;
  }
}
void wait(tensor_work kind, place where) {
  machine::whole_warp("tcgen05.wait", where);
  machine::tensor_wait(kind, ~std::uint64_t{0});
}
void registers_read(std::uint64_t load, place where) {
  followed().note_here(finding_kind::read_before_landing,
                       followed().places.number_of(__builtin_return_address(0), where),
                       "use of a register that tcgen05.ld loads", "tensor memory", sentence::tensor_registers,
                       sentence::gpu_tensor_registers);
  machine::tensor_wait(tensor_work::load, load);
}

}  // namespace antiphase::plain::ptx::tensor_memory

namespace antiphase::plain {
void forget_tensor_memory() { ptx::tensor_memory::blocks.clear(); }
}  // namespace antiphase::plain
