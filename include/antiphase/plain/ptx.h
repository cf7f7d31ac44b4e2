// SPDX-License-Identifier: Apache-2.0
// Functions that the pre-pass calls for inline PTX, by the table in
// checker/plain/ptx/instructions/ptx_table.cpp. Plain CUDA under the checker.
#pragma once
#include <antiphase/executor/cpu/machine_plain.hpp>
#include <antiphase/executor/cpu/machine_tensor_memory.hpp>
#include <antiphase/executor/cpu/machine_wgmma.hpp>

#include <initializer_list>

#include "device.h"
#include "launch.h"
#include "ptx_arithmetic.h"
#include "rounded.h"

namespace antiphase::plain {
// Finds a tensor map in a parameter of which each thread has a copy.
// Meets `threads` threads of the block, 0: all, at a barrier of any number; what their conditions were.
struct condition_count {
  int yes = 0, no = 0;
};
condition_count barrier_votes(int id, int threads, bool condition, bool aligned, place where);
void check_map(const void* map, place where);
// start of the running block's shared memory: its 32-bit addresses are offsets from here
[[gnu::const]] unsigned char* shared_base() noexcept;
// Bits 24 and on of a 32-bit address of shared memory are the block's rank in its cluster, as on GPUs:
// those of the running block; and addresses that are not, or pointers that do not lie, in its own memory.
constexpr unsigned bytes_of_rank = 1u << 24;
[[gnu::const]] unsigned shared_rank_bits() noexcept;
void* in_cluster(unsigned address);
unsigned to_cluster(const void* p);
unsigned dynamic_shared_bytes() noexcept;  // of the launch
// Finds lanes missing from the exchange that an instruction of whole warps has just made.
void check_whole_warp(const char* what, place where);
// in_block: where block `rank` of the cluster has what this block has at `mine`. block_of: rank of the block
// in whose shared memory `p` lies.
void* in_block(void* mine, int rank, place where);
int block_of(const void* p, place where);

// Counts the rounds of a function's loops around block barriers, by number. Not on the thread's stack, and by
// functions that are not inline: what a thread's stack and registers hold tells whether it waits in a loop.
class loop_counts : rounds {
 public:
  explicit loop_counts(unsigned loops);
  ~loop_counts();
  loop_counts(const loop_counts&) = delete;
  loop_counts& operator=(const loop_counts&) = delete;
  void begin(unsigned loop) noexcept;
  void next(unsigned loop) noexcept;
  // The thread comes to a barrier of this number in the body of these loops, the outermost first.
  void meet(unsigned barrier, std::initializer_list<unsigned> loops) noexcept;

 private:
  unsigned* counts_;
};
}  // namespace antiphase::plain

// Names are long, because programs define N, M and K as macros.
namespace antiphase::plain::ptx {

// memory
// -----------------------------------------------------------------------------------------------------------
AP_VERB void* generic(unsigned long address) { return reinterpret_cast<void*>(address); }
AP_VERB void* in_shared(unsigned long address) {
  const unsigned offset = static_cast<unsigned>(address) - shared_rank_bits();
  return offset < bytes_of_rank ? shared_base() + offset : in_cluster(static_cast<unsigned>(address));
}
AP_VERB unsigned long to_shared(unsigned long address) {
  const unsigned long offset = address - reinterpret_cast<unsigned long>(shared_base());
  return offset < machine::current->block->shared_bytes ? offset + shared_rank_bits()
                                                        : to_cluster(reinterpret_cast<void*>(address));
}
AP_VERB unsigned long from_shared(unsigned long address) {
  return reinterpret_cast<unsigned long>(in_shared(address));
}
// Of the address of a parameter or of local memory the low 32 bits may be all there is, as Triton's code has
// it: both lie on the thread's stack.
AP_VERB unsigned long on_stack(unsigned long address) {
  if (address >> 32 != 0) return address;
  const auto here = reinterpret_cast<unsigned long>(__builtin_frame_address(0));
  return here + static_cast<unsigned long>(static_cast<int>(static_cast<unsigned>(address - here)));
}
AP_VERB void* in_local(unsigned long address) { return generic(on_stack(address)); }

template <class T, int Count> struct alignas(sizeof(T) * Count) pack { T x[Count]; };
// The numbers of a vector that are accessed one by one. The reference has its alignment looked at.
template <class T, int Count> AP_VERB const T* vector_at(const void* p) {
  const pack<T, Count>& all = *static_cast<const pack<T, Count>*>(p);
  return all.x;
}
template <class T, int Count> AP_VERB pack<T, Count> load(const void* p) {
  return loaded(*static_cast<const pack<T, Count>*>(p));
}
template <class T, int Count> AP_VERB pack<T, Count> load_constant(const void* p) {
  return read_only(*static_cast<const pack<T, Count>*>(p));
}
template <class T, int Count> AP_VERB pack<T, Count> load_volatile(const void* p) {
  pack<T, Count> all;
  const volatile T* const from = vector_at<T, Count>(p);
  for (int i = 0; i < Count; ++i) all.x[i] = from[i];
  return all;
}
template <class T, int Count> AP_VERB void store(void* p, const pack<T, Count>& v) {
  *static_cast<pack<T, Count>*>(p) = v;
}
template <class T, int Count> AP_VERB void store_volatile(void* p, const pack<T, Count>& v) {
  volatile T* const to = const_cast<T*>(vector_at<T, Count>(p));
  for (int i = 0; i < Count; ++i) to[i] = v.x[i];
}
template <class T> AP_VERB T atomic_load(void* p, scope reach, ordering how, place where) {
  return updated(
      static_cast<T*>(p), reach, how, where, [](T a) { return a; }, unchanged::only_read);
}
template <class T> AP_VERB void atomic_store(void* p, T v, scope reach, ordering how, place where) {
  updated(
      static_cast<T*>(p), reach, how, where, [&](T) { return v; }, unchanged::not_read);
}
#define AP_ATOMIC(name, expression)                                                                  \
  template <class T> AP_VERB T atomic_##name(void* p, T v, scope reach, ordering how, place where) { \
    return updated(static_cast<T*>(p), reach, how, where, [&](T a) -> T { return expression; });     \
  }
AP_ATOMIC(add, static_cast<T>(a + v))
AP_ATOMIC(exch, v)
AP_ATOMIC(min, v < a ? v : a)
AP_ATOMIC(max, a < v ? v : a)
AP_ATOMIC(and, static_cast<T>(word_of<T>(to_word(a)) & word_of<T>(to_word(v))))
AP_ATOMIC(or, static_cast<T>(word_of<T>(to_word(a)) | word_of<T>(to_word(v))))
AP_ATOMIC(xor, static_cast<T>(word_of<T>(to_word(a)) ^ word_of<T>(to_word(v))))
AP_ATOMIC(inc, a >= v ? T(0) : static_cast<T>(a + 1))
AP_ATOMIC(dec, a == 0 || a > v ? v : static_cast<T>(a - 1))
#undef AP_ATOMIC
// Sums of 16-bit numbers: one, or the two of a word.
template <class T, bool Bfloat>
AP_VERB T atomic_add_small(void* p, T v, scope reach, ordering how, place where) {
  return updated(static_cast<T*>(p), reach, how, where, [&](T a) {
    unsigned sum = 0;
    for (unsigned at = 0; at < 8 * sizeof(T); at += 16) {
      const auto x = static_cast<unsigned short>(a >> at), y = static_cast<unsigned short>(v >> at);
      sum |= static_cast<unsigned>(Bfloat ? plain::to_bfloat(plain::from_bfloat(x) + plain::from_bfloat(y))
                                          : plain::to_half(plain::from_half(x) + plain::from_half(y)))
             << at;
    }
    return static_cast<T>(sum);
  });
}
template <class T> AP_VERB T atomic_cas(void* p, T expected, T v, scope reach, ordering how, place where) {
  return updated(
      static_cast<T*>(p), reach, how, where, [&](T a) { return to_word(a) == to_word(expected) ? v : a; },
      unchanged::is_read, to_word(expected),
      how == ordering::acquire_release ? ordering::acquire
      : how == ordering::release       ? ordering::relaxed
                                       : how);
}
template <class T> constexpr machine::bulk_step step_of(bulk_update what) {
  constexpr auto kind = std::is_floating_point_v<T> ? machine::number_kind::floating
                        : std::is_signed_v<T>       ? machine::number_kind::signed_integer
                                                    : machine::number_kind::unsigned_integer;
  return {what, kind, static_cast<int>(sizeof(T))};
}

// mbarriers and barriers
// -----------------------------------------------------------------------------------------------------------
// The state that an arrival returns is the parity of the current phase.
AP_VERB bool mbarrier_test_wait(unsigned long* word, unsigned parity, machine::mbarrier_semantics how,
                                place where) {
  if (machine::mbarrier_test(word, parity & 1, where, how)) {
    machine::polled();
    return true;
  }
  machine::yield(where);
  return false;
}
AP_VERB void mbarrier_arrive_in_cluster(unsigned long* word, machine::mbarrier_semantics how,
                                        place where) {  // an mbarrier of any block
  const int rank = block_of(word, where);
  auto* const first = static_cast<unsigned char*>(in_block(shared_base(), rank, where));
  machine::mbarrier_arrive_remote(
      reinterpret_cast<unsigned long*>(shared_base() + (reinterpret_cast<unsigned char*>(word) - first)),
      rank, where, how);
}
// Operations on the block in whose shared memory the mbarrier lies.
AP_VERB void mbarrier_arrive_at(unsigned long* word, int count, int bytes, place where,
                                machine::mbarrier_semantics how) {
  machine::mbarrier_arrive_at(block_of(word, where), word, count, bytes, where, how);
}
AP_VERB void mbarrier_expect_at(unsigned long* word, int bytes, place where) {
  machine::mbarrier_expect_at(block_of(word, where), word, bytes, where);
}
AP_VERB unsigned in_same_block(const void* to, const unsigned long* word, place where) {
  const int rank = block_of(word, where);
  if (block_of(to, where) != rank)
    machine::trap("an asynchronous copy and its mbarrier are in the shared memory of different blocks",
                  where);
  return static_cast<unsigned>(rank);
}
AP_VERB void copy_in_cluster(void* to, const void* from, unsigned bytes, unsigned long* word, place where) {
  machine::bulk_copy_to(static_cast<int>(in_same_block(to, word, where)), to, from, bytes, word, where);
}
AP_VERB void store_async(void* to, const void* value, unsigned bytes, unsigned long* word, place where) {
  machine::store_async_to(static_cast<int>(in_same_block(to, word, where)), to, value, bytes, word, where);
}
AP_VERB unsigned rank_of(const void* p, place where) { return static_cast<unsigned>(block_of(p, where)); }

// warps
// -----------------------------------------------------------------------------------------------------------
// c, as for shfl.sync (PTX ISA): the last lane that may be read, and the bits of the lane number that a group
// shares.
AP_VERB with_predicate shuffled(unsigned mask, unsigned value, int from, bool valid, place where) {
  return {moved(mask, value, valid ? from : lane(), where), valid};
}
AP_VERB int last_lane(unsigned c) {
  const unsigned segment = c >> 8 & 31;
  return static_cast<int>((static_cast<unsigned>(lane()) & segment) | (c & 31 & ~segment));
}
AP_VERB with_predicate shuffle_up(unsigned mask, unsigned value, unsigned by, unsigned c, place where) {
  const int from = lane() - static_cast<int>(by & 31);
  return shuffled(mask, value, from, from >= last_lane(c), where);
}
AP_VERB with_predicate shuffle_down(unsigned mask, unsigned value, unsigned by, unsigned c, place where) {
  const int from = lane() + static_cast<int>(by & 31);
  return shuffled(mask, value, from, from <= last_lane(c), where);
}
AP_VERB with_predicate shuffle_bfly(unsigned mask, unsigned value, unsigned by, unsigned c, place where) {
  const int from = lane() ^ static_cast<int>(by & 31);
  return shuffled(mask, value, from, from <= last_lane(c), where);
}
AP_VERB with_predicate shuffle_idx(unsigned mask, unsigned value, unsigned index, unsigned c, place where) {
  const unsigned segment = c >> 8 & 31;
  const int from = static_cast<int>((static_cast<unsigned>(lane()) & segment) | (index & 31 & ~segment));
  return shuffled(mask, value, from, from <= last_lane(c), where);
}
AP_VERB unsigned vote_ballot(unsigned mask, bool p, place where) { return vote(mask, p, where); }
AP_VERB bool vote_any(unsigned mask, bool p, place where) { return vote(mask, p, where) != 0; }
AP_VERB bool vote_all(unsigned mask, bool p, place where) { return vote(mask, !p, where) == 0; }
AP_VERB bool vote_uni(unsigned mask, bool p, place where) {
  const unsigned yes = vote(mask, p, where);
  return yes == 0 || vote(mask, !p, where) == 0;
}
AP_VERB with_predicate match_all(unsigned mask, auto value, place where) {
  int all = 0;
  const unsigned same = __match_all_sync(mask, value, &all, where);
  return {same, all != 0};
}
// redux of f32: NaN only if all are, or if one is, as `nan` says.
AP_VERB float reduced(unsigned mask, float value, bool least, bool absolute, bool nan, place where) {
  return warp_reduced(
      mask, absolute ? std::fabs(value) : value,
      [&](float a, float b) {
        if (nan && (a != a || b != b)) return std::numeric_limits<float>::quiet_NaN();
        return least ? min(a, b) : max(a, b);
      },
      where);
}
AP_VERB bool is_shared(unsigned long p) { return __isShared(generic(p)) != 0; }
AP_VERB with_predicate elect(unsigned mask, place where) {
  const int leader = std::countr_zero(vote(mask, true, where));
  return {static_cast<unsigned>(leader), leader == lane()};
}

// Tensor Cores
// -----------------------------------------------------------------------------------------------------------
constexpr unsigned all_lanes = ~0u;
// ldmatrix: lane 8 m + r gives the address of row r of matrix m. Each lane receives elements 2 (lane % 4) and
// the next of row lane / 4, or of column lane / 4 if transposed.
template <int Count, bool Transposed>
AP_VERB several<unsigned, Count> load_matrices(const void* row, place where) {
  pack<unsigned, 4> mine{};
  if (lane() < 8 * Count) mine = load<unsigned, 4>(row);
  const machine::exchange_slot* rows = machine::warp_exchange(all_lanes, &mine, sizeof mine, where);
  check_whole_warp("ldmatrix", where);
  several<unsigned, Count> all{};
  for (int m = 0; m < Count; ++m)
    for (int half = 0; half < 2; ++half) {
      const int r = lane() / 4, c = lane() % 4 * 2 + half;
      unsigned short element;
      std::memcpy(&element, rows[8 * m + (Transposed ? c : r)].bytes + 2 * (Transposed ? r : c),
                  sizeof element);
      all.x[m] |= static_cast<unsigned>(element) << 16 * half;
    }
  return all;
}
template <int Count, bool Transposed>
AP_VERB void store_matrices(void* row, const several<unsigned, Count>& all, place where) {
  pack<unsigned, 4> mine{};
  for (int m = 0; m < Count; ++m) {
    const machine::exchange_slot* brought =
        machine::warp_exchange(all_lanes, &all.x[m], sizeof all.x[m], where);
    check_whole_warp("stmatrix", where);
    if (lane() / 8 != m) continue;
    for (int i = 0; i < 8; ++i) {  // elements of the lane's row
      const int r = Transposed ? i : lane() % 8, c = Transposed ? lane() % 8 : i;
      std::memcpy(reinterpret_cast<char*>(&mine) + 2 * i, brought[4 * r + c / 2].bytes + c % 2 * 2, 2);
    }
  }
  if (lane() < 8 * Count) store<unsigned, 4>(row, mine);
}

// movmatrix: lane l has elements 2 (l % 4) and the next of row l / 4, and receives those of column l / 4.
AP_VERB unsigned transposed_matrix(unsigned mine, place where) {
  const machine::exchange_slot* rows = machine::warp_exchange(all_lanes, &mine, sizeof mine, where);
  check_whole_warp("movmatrix", where);
  unsigned all = 0;
  for (int half = 0; half < 2; ++half) {
    const int r = lane() / 4, c = lane() % 4 * 2 + half;
    unsigned short element;
    std::memcpy(&element, rows[4 * c + r / 2].bytes + r % 2 * 2, sizeof element);
    all |= static_cast<unsigned>(element) << 16 * half;
  }
  return all;
}

// Tensors. The map stays where the program has it: a kernel parameter, constant or global memory.
AP_VERB const tensor_map& map_at(unsigned long address, place where) {
  check_map(generic(address), where);
  return *static_cast<const tensor_map*>(generic(address));
}
// tensormap.replace: a field of a dimension that maps do not have here is left alone.
AP_VERB void replace_in_map(void* map, machine::map_field field, int index, unsigned long value,
                            place where) {
  const machine::map_part part = machine::part_of_map(map, field, index, value, where);
  char* const at = static_cast<char*>(map) + part.offset;
  if (part.bytes == 8) store<unsigned long, 1>(at, {{part.value}});
  if (part.bytes == 4) store<unsigned, 1>(at, {{static_cast<unsigned>(part.value)}});
  if (part.bytes == 2) store<unsigned short, 1>(at, {{static_cast<unsigned short>(part.value)}});
  if (part.bytes == 1) store<unsigned char, 1>(at, {{static_cast<unsigned char>(part.value)}});
}
// tensormap.cp_fenceproxy: each lane of the warp copies a word.
AP_VERB void copy_map(void* to, const void* from, scope reach, place where) {
  machine::warp_exchange(all_lanes, nullptr, 0, where);
  check_whole_warp("tensormap.cp_fenceproxy", where);
  store<unsigned, 1>(static_cast<unsigned*>(to) + lane(),
                     load<unsigned, 1>(static_cast<const unsigned*>(from) + lane()));
  fence(reach, ordering::release);
  machine::warp_exchange(all_lanes, nullptr, 0, where);
}
AP_VERB void tensor_load(void* to, unsigned long map, machine::tensor_place first, int dimensions,
                         unsigned long* word, place where) {
  machine::tensor_load(to, map_at(map, where), first, dimensions, word, where);
}
AP_VERB void tensor_load_multicast(void* to, unsigned long map, machine::tensor_place first, int dimensions,
                                   unsigned long* word, unsigned ranks, place where) {
  machine::tensor_load_multicast(to, map_at(map, where), first, dimensions, word, ranks, where);
}
AP_VERB void tensor_load_of_pair(void* to, unsigned long map, machine::tensor_place first, int dimensions,
                                 unsigned long* word, unsigned ranks, place where) {
  machine::tensor_load_of_pair(to, map_at(map, where), first, dimensions, word, ranks, where);
}
AP_VERB void tensor_store(unsigned long map, const void* from, machine::tensor_place first, int dimensions,
                          place where) {
  machine::tensor_store(map_at(map, where), from, first, dimensions, where);
}
AP_VERB void tensor_reduce(unsigned long map, const void* from, machine::tensor_place first, int dimensions,
                           bulk_update what, place where) {
  machine::tensor_reduce(map_at(map, where), from, first, dimensions, what, where);
}

// wgmma. The accumulator registers belong to the Tensor Core until the wait, so they must be one array of the
// thread.
template <class First, class... More>
AP_VERB void warpgroup_multiply(machine::operand_type type, const machine::warpgroup_step& what,
                                const unsigned* a, unsigned metadata, place where, First& first,
                                More&... more) {
  static_assert(sizeof(First) == sizeof(float), "sums of a wgmma are float");
  auto* const sum = reinterpret_cast<float*>(&first);
  auto* next = sum;
  if (((reinterpret_cast<float*>(&more) != ++next) || ...))
    machine::trap(
        "the registers of a wgmma's sum are to be the elements of one array, in order: antiphase check takes "
        "no others",
        where);
  machine::warpgroup_multiply_of(type, sum, what, a, metadata, where);
}

// Special registers. %smid: blocks go round the multiprocessors.
constexpr unsigned multiprocessors = 132;
AP_VERB unsigned special_laneid() { return static_cast<unsigned>(lane()); }
AP_VERB unsigned special_warpid() { return static_cast<unsigned>(machine::current->index) / 32; }
AP_VERB unsigned special_nwarpid() { return 64; }
AP_VERB unsigned special_smid() { return block_idx().x % multiprocessors; }
AP_VERB unsigned special_nsmid() { return multiprocessors; }
AP_VERB unsigned long special_gridid() { return 1; }
AP_VERB unsigned long special_clock64() { return static_cast<unsigned long>(clock64()); }
AP_VERB unsigned special_clock() { return static_cast<unsigned>(clock64()); }
AP_VERB unsigned special_clock_hi() { return static_cast<unsigned>(clock64() >> 32); }
AP_VERB unsigned long special_globaltimer() { return static_cast<unsigned long>(clock64()); }
AP_VERB unsigned special_globaltimer_lo() { return static_cast<unsigned>(clock64()); }
#define AP_THREE(name, of)                                 \
  AP_VERB unsigned special_##name##_x() { return of().x; } \
  AP_VERB unsigned special_##name##_y() { return of().y; } \
  AP_VERB unsigned special_##name##_z() { return of().z; }
AP_THREE(tid, thread_idx)
AP_THREE(ntid, block_dim)
AP_THREE(ctaid, block_idx)
AP_THREE(nctaid, grid_dim)
#undef AP_THREE
AP_VERB unsigned special_nothing() { return 0; }
AP_VERB unsigned special_lanemask_eq() { return 1u << lane(); }
AP_VERB unsigned special_lanemask_lt() { return (1u << lane()) - 1; }
AP_VERB unsigned special_lanemask_le() { return (2u << lane()) - 1; }
AP_VERB unsigned special_lanemask_gt() { return ~special_lanemask_le(); }
AP_VERB unsigned special_lanemask_ge() { return ~special_lanemask_lt(); }
AP_VERB unsigned special_cluster_ctarank() {
  return static_cast<unsigned>(machine::current->block->cluster_rank);
}
AP_VERB unsigned special_cluster_nctarank() {
  return static_cast<unsigned>(machine::current->block->cluster_extent);
}
#define AP_CLUSTER(of)                                                                        \
  AP_VERB unsigned special_cluster_ctaid_##of() { return block_idx().of % cluster_dim().of; } \
  AP_VERB unsigned special_cluster_nctaid_##of() { return cluster_dim().of; }                 \
  AP_VERB unsigned special_clusterid_##of() { return block_idx().of / cluster_dim().of; }     \
  AP_VERB unsigned special_nclusterid_##of() { return grid_dim().of / cluster_dim().of; }
AP_CLUSTER(x)
AP_CLUSTER(y)
AP_CLUSTER(z)
#undef AP_CLUSTER
AP_VERB unsigned special_dynamic_smem_size() { return dynamic_shared_bytes(); }
AP_VERB bool special_is_explicit_cluster() { return special_cluster_nctarank() > 1; }

}  // namespace antiphase::plain::ptx

AP_VERB std::size_t __cvta_generic_to_shared(const void* p) {
  return antiphase::plain::ptx::to_shared(reinterpret_cast<unsigned long>(p));
}
AP_VERB void* __cvta_shared_to_generic(std::size_t a) { return antiphase::plain::ptx::in_shared(a); }
AP_VERB std::size_t __cvta_generic_to_global(const void* p) { return reinterpret_cast<std::size_t>(p); }
AP_VERB void* __cvta_global_to_generic(std::size_t a) { return reinterpret_cast<void*>(a); }
