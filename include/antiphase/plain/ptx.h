// SPDX-License-Identifier: Apache-2.0
// Functions that the pre-pass calls for inline PTX, by the table in src/plain/ptx/ptx_table.cpp. Plain
// CUDA under the checker.
#pragma once
#include <antiphase/executor/cpu/machine_plain.hpp>
#include <antiphase/executor/cpu/machine_wgmma.hpp>

#include "device.h"
#include "rounded.h"

namespace antiphase::plain {
// Finds a tensor map in a parameter of which each thread has a copy.
void judge_map(const void* map, place where);
// start of the running block's shared memory: its 32-bit addresses are offsets from here
[[gnu::const]] unsigned char* shared_base() noexcept;
// Finds lanes missing from the exchange that an instruction of whole warps has just made.
void judge_whole_warp(const char* what, place where);
// in_block: where block `rank` of the cluster has what this block has at `mine`. block_of: rank of the block
// in whose shared memory `p` lies.
void* in_block(void* mine, int rank, place where);
int block_of(const void* p, place where);
}  // namespace antiphase::plain

// Names are long, because programs define N, M and K as macros.
namespace antiphase::plain::ptx {

// operands
// -----------------------------------------------------------------------------------------------------------
// Registers are untyped bits. A C++ operand of the same size is taken bit by bit; others are truncated or
// zero-extended, as in a wider register.
template <class T, class Held> AP_VERB T get(const Held& x) {
  if constexpr (std::is_same_v<Held, T>)
    return x;
  else if constexpr (std::is_same_v<T, bool>)
    return x != 0;
  else if constexpr (std::is_pointer_v<Held>)
    return get<T>(reinterpret_cast<unsigned long>(x));
  else if constexpr (std::is_enum_v<Held>)
    return get<T>(static_cast<std::underlying_type_t<Held>>(x));
  else if constexpr (sizeof(Held) == sizeof(T))
    return std::bit_cast<T>(x);
  else if constexpr (std::is_same_v<Held, bool>)
    return get<T>(static_cast<unsigned>(x));
  else if constexpr (std::is_integral_v<Held> && std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<Held>>(x));
  else if constexpr (std::is_arithmetic_v<Held> && std::is_arithmetic_v<T>)
    return static_cast<T>(x);
  else
    return get<T>(std::bit_cast<word_of<Held>>(x));
}
struct {
} constexpr nowhere;  // the operand _
template <class Held, class Value> AP_VERB void put(Held&& to, Value v) {
  using type = std::remove_cvref_t<Held>;
  if constexpr (std::is_same_v<type, std::remove_cv_t<decltype(nowhere)>>)
    return;
  else if constexpr (std::is_pointer_v<type>)
    to = reinterpret_cast<type>(static_cast<unsigned long>(v));
  else if constexpr (std::is_same_v<type, Value> || (std::is_integral_v<type> && std::is_integral_v<Value>))
    to = static_cast<type>(v);
  else if constexpr (sizeof(type) == sizeof(Value))
    to = std::bit_cast<type>(v);
  else
    to = static_cast<type>(v);
}
template <class T, int Count> struct several { T x[Count]; };
struct with_predicate {
  unsigned value;
  bool valid;
};

// memory
// -----------------------------------------------------------------------------------------------------------
AP_VERB void* generic(unsigned long address) { return reinterpret_cast<void*>(address); }
// signed offset: another block of the cluster may lie below this one
AP_VERB void* in_shared(unsigned long address) {
  return shared_base() + static_cast<int>(static_cast<unsigned>(address));
}
AP_VERB unsigned long to_shared(unsigned long address) {
  return address - reinterpret_cast<unsigned long>(shared_base());
}
AP_VERB unsigned long from_shared(unsigned long address) {
  return reinterpret_cast<unsigned long>(in_shared(address));
}
// Of a parameter's address the low 32 bits may be all there is, as Triton's code has it: parameters lie on the
// thread's stack.
AP_VERB unsigned long address_of_parameter(unsigned long address) {
  if (address >> 32 != 0) return address;
  const auto here = reinterpret_cast<unsigned long>(__builtin_frame_address(0));
  return here + static_cast<unsigned long>(static_cast<int>(static_cast<unsigned>(address - here)));
}

template <class T, int Count> struct alignas(sizeof(T) * Count) pack { T x[Count]; };
// The numbers of a vector that are accessed one by one. The reference has its alignment looked at.
template <class T, int Count> AP_VERB const T* vector_at(const void* p) {
  const pack<T, Count>& all = *static_cast<const pack<T, Count>*>(p);
  return all.x;
}
template <class T, int Count> AP_VERB pack<T, Count> load(const void* p) {
  return *static_cast<const pack<T, Count>*>(p);
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
  judge_whole_warp("ldmatrix", where);
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
    judge_whole_warp("stmatrix", where);
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
  judge_whole_warp("movmatrix", where);
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
  judge_map(generic(address), where);
  return *static_cast<const tensor_map*>(generic(address));
}
AP_VERB void tensor_load(void* to, unsigned long map, machine::tensor_place first, int dimensions,
                         unsigned long* word, place where) {
  machine::tensor_load(to, map_at(map, where), first, dimensions, word, where);
}
AP_VERB void tensor_load_multicast(void* to, unsigned long map, machine::tensor_place first, int dimensions,
                                   unsigned long* word, unsigned ranks, place where) {
  machine::tensor_load_multicast(to, map_at(map, where), first, dimensions, word, ranks, where);
}
AP_VERB void tensor_store(unsigned long map, const void* from, machine::tensor_place first, int dimensions,
                          place where) {
  machine::tensor_store(map_at(map, where), from, first, dimensions, where);
}

// wgmma. The accumulator registers belong to the Tensor Core until the wait, so they must be one array of the
// thread.
struct warpgroup_signs {
  int a, b;
};
template <class First, class... More>
AP_VERB void warpgroup_multiply(machine::operand_type type, const machine::warpgroup_step& what,
                                warpgroup_signs signs, const unsigned* a, place where, First& first,
                                More&... more) {
  static_assert(sizeof(First) == sizeof(float), "sums of a wgmma are float");
  auto* const sum = reinterpret_cast<float*>(&first);
  auto* next = sum;
  if (((reinterpret_cast<float*>(&more) != ++next) || ...))
    machine::trap(
        "the registers of a wgmma's sum are to be the elements of one array, in order: antiphase check takes "
        "no others",
        where);
  if (signs.a != 1 || signs.b != 1)
    machine::trap("a wgmma with a negated operand: antiphase check has none", where);
  machine::warpgroup_multiply_of(type, sum, what, a, where);
}

// arithmetic
// -----------------------------------------------------------------------------------------------------------
template <class T> using twice =
    std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int, unsigned>,
                       std::conditional_t<std::is_signed_v<T>, long, unsigned long>>;
template <class T> AP_VERB T add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(word_of<T>(a) + word_of<T>(b));
  else
    return a + b;
}
template <class T> AP_VERB T sub(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(word_of<T>(a) - word_of<T>(b));
  else
    return a - b;
}
template <class T> AP_VERB T mul(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<unsigned long>(a) * static_cast<unsigned long>(b));
  else
    return a * b;
}
template <class T> AP_VERB T mul_hi(T a, T b) {
  __extension__ typedef std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128> wide;
  return static_cast<T>(static_cast<wide>(a) * static_cast<wide>(b) >> 8 * sizeof(T));
}
template <class T> AP_VERB twice<T> mul_wide(T a, T b) {
  return static_cast<twice<T>>(a) * static_cast<twice<T>>(b);
}
template <class T> AP_VERB T mad(T a, T b, T c) { return add(mul(a, b), c); }
template <class T> AP_VERB T mad_hi(T a, T b, T c) { return add(mul_hi(a, b), c); }
template <class T> AP_VERB twice<T> mad_wide(T a, T b, twice<T> c) { return add(mul_wide(a, b), c); }
template <class T> AP_VERB T fma(T a, T b, T c) { return std::fma(a, b, c); }
template <class T> AP_VERB T div(T a, T b) { return a / b; }
template <class T> AP_VERB T rem(T a, T b) { return a % b; }
template <class T> AP_VERB T min(T a, T b) { return b < a || a != a ? b : a; }
template <class T> AP_VERB T max(T a, T b) { return a < b || a != a ? b : a; }
template <class T> AP_VERB T abs(T a) { return a < 0 ? -a : a; }
template <class T> AP_VERB T neg(T a) { return -a; }
template <class T> AP_VERB T bit_and(T a, T b) { return a & b; }
template <class T> AP_VERB T bit_or(T a, T b) { return a | b; }
template <class T> AP_VERB T bit_xor(T a, T b) { return a ^ b; }
template <class T> AP_VERB T bit_not(T a) {
  if constexpr (std::is_same_v<T, bool>)
    return !a;
  else
    return static_cast<T>(~a);
}
// Bits [at, at + count) of a; beyond its last bit there are copies of the sign, or zeros.
template <class T> AP_VERB T bfe(T a, unsigned at, unsigned count) {
  constexpr unsigned width = 8 * sizeof(T);
  at &= 0xFF, count &= 0xFF;
  const bool sign = static_cast<T>(-1) < 0 && count > 0 &&
                    (a >> (at + count - 1 < width - 1 ? at + count - 1 : width - 1) & 1) != 0;
  T all = 0;
  for (unsigned k = 0; k < width; ++k)
    if (k < count && at + k < width ? (a >> (at + k) & 1) != 0 : sign) all |= static_cast<T>(T{1} << k);
  return all;
}
// b with its bits [at, at + count) replaced by the low ones of a.
template <class T> AP_VERB T bfi(T a, T b, unsigned at, unsigned count) {
  at &= 0xFF, count &= 0xFF;
  for (unsigned k = 0; k < count && at + k < 8 * sizeof(T); ++k)
    b = static_cast<T>((b & ~(T{1} << (at + k))) | ((a >> k & 1) << (at + k)));
  return b;
}
// prmt: of the 8 bytes of b:a; bit 3 of a selector spreads the byte's sign.
AP_VERB unsigned permuted(unsigned a, unsigned b, unsigned how) {
  const unsigned long both = static_cast<unsigned long>(b) << 32 | a;
  unsigned all = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned which = how >> 4 * k, byte = static_cast<unsigned>(both >> (which & 7) * 8) & 0xFF;
    all |= ((which & 8) == 0 ? byte : (byte & 0x80) != 0 ? 0xFFu : 0u) << 8 * k;
  }
  return all;
}
template <class T> AP_VERB T shl(T a, unsigned by) {
  return by >= 8 * sizeof(T) ? 0 : static_cast<T>(word_of<T>(a) << by);
}
template <class T> AP_VERB T shr(T a, unsigned by) {
  if (by >= 8 * sizeof(T)) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : 0;
  return static_cast<T>(a >> by);
}
template <class T> AP_VERB unsigned popc(T a) { return static_cast<unsigned>(std::popcount(a)); }
template <class T> AP_VERB unsigned clz(T a) { return static_cast<unsigned>(std::countl_zero(a)); }
// Of a negative number, the highest zero.
template <class T> AP_VERB unsigned bfind(T a) {
  const auto bits = word_of<T>(a < 0 ? static_cast<T>(~a) : a);
  return static_cast<unsigned>(8 * sizeof(T) - 1) - static_cast<unsigned>(std::countl_zero(bits));
}
template <class T> AP_VERB T brev(T a) {
  T all = 0;
  for (unsigned i = 0; i < 8 * sizeof(T); ++i) all |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
  return all;
}
AP_VERB unsigned lop3(unsigned a, unsigned b, unsigned c, unsigned table) {
  unsigned all = 0;
  for (int i = 0; i < 8; ++i)
    if ((table >> i & 1) != 0) all |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return all;
}
template <class T> AP_VERB T rcp(T a) { return 1 / a; }
template <class T> AP_VERB T sqrt(T a) { return std::sqrt(a); }
template <class T> AP_VERB T rsqrt(T a) { return 1 / std::sqrt(a); }
template <class T> AP_VERB T ex2(T a) { return std::exp2(a); }
template <class T> AP_VERB T lg2(T a) { return std::log2(a); }
template <class T> AP_VERB T tanh(T a) { return std::tanh(a); }
// rounding: n, z, m or p, for conversion to integers. Values out of range saturate, NaN becomes 0.
template <class To, class From> AP_VERB To converted(From a, char rounding) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    const From whole = rounding == 'n'   ? std::nearbyint(a)
                       : rounding == 'm' ? std::floor(a)
                       : rounding == 'p' ? std::ceil(a)
                                         : std::trunc(a);
    if (whole != whole) return 0;
    if (whole <= static_cast<From>(std::numeric_limits<To>::lowest()))
      return std::numeric_limits<To>::lowest();
    if (whole >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(whole);
  } else {
    return static_cast<To>(a);
  }
}
using plain::from_bfloat;
using plain::from_half;
using plain::to_bfloat;
using plain::to_half;
using plain::to_tf32;
template <bool Wide> AP_VERB unsigned short fp8_pair(float upper, float lower) {
  return static_cast<unsigned short>(to_fp8(upper, true, Wide) << 8 | to_fp8(lower, true, Wide));
}
template <bool Wide> AP_VERB unsigned from_fp8_pair(unsigned short pair) {
  const auto half = [&](int at) {
    const auto x = static_cast<unsigned char>(pair >> at);
    return to_half(Wide ? from_e5m2(x) : from_e4m3(x));
  };
  return static_cast<unsigned>(half(8)) << 16 | half(0);
}
AP_VERB unsigned halves(float upper, float lower) {
  return static_cast<unsigned>(to_half(upper)) << 16 | to_half(lower);
}
AP_VERB unsigned bfloats(float upper, float lower) {
  return static_cast<unsigned>(to_bfloat(upper)) << 16 | to_bfloat(lower);
}

template <class T, class... Held> AP_VERB T packed(const Held&... x) {
  constexpr unsigned bits = 8 * sizeof(T) / sizeof...(Held);
  using part =
      std::conditional_t<bits == 32, unsigned, std::conditional_t<bits == 16, unsigned short, unsigned char>>;
  T all = 0;
  unsigned at = 0;
  ((all |= static_cast<T>(static_cast<T>(get<part>(x)) << at), at += bits), ...);
  return all;
}
template <int Count, class T> AP_VERB auto unpacked(T value) {
  constexpr unsigned bits = 8 * sizeof(T) / Count;
  using part =
      std::conditional_t<bits == 32, unsigned, std::conditional_t<bits == 16, unsigned short, unsigned char>>;
  several<part, Count> all;
  for (unsigned i = 0; i < Count; ++i) all.x[i] = static_cast<part>(value >> i * bits);
  return all;
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
AP_VERB bool special_is_explicit_cluster() { return special_cluster_nctarank() > 1; }

}  // namespace antiphase::plain::ptx

AP_VERB std::size_t __cvta_generic_to_shared(const void* p) {
  return antiphase::plain::ptx::to_shared(reinterpret_cast<unsigned long>(p));
}
AP_VERB void* __cvta_shared_to_generic(std::size_t a) { return antiphase::plain::ptx::in_shared(a); }
AP_VERB std::size_t __cvta_generic_to_global(const void* p) { return reinterpret_cast<std::size_t>(p); }
AP_VERB void* __cvta_global_to_generic(std::size_t a) { return reinterpret_cast<void*>(a); }
