// SPDX-License-Identifier: Apache-2.0
// Device functions of plain CUDA under the checker: indices, barriers, warps, atomic operations, mathematics.
#pragma once
#include <antiphase/core/scope.hpp>
#include <antiphase/executor/cpu/machine_verbs.hpp>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>  // clock()

#include "launch.h"

// Variables, as in CUDA, so that a program may have its own of these names. The pre-pass turns a read of one
// into built_in(threadIdx), and overload resolution finds out which is meant.
namespace antiphase::plain {
template <auto Ask> struct built_in_variable {
  using type = decltype(Ask());
  operator type() const { return Ask(); }
};
template <auto Ask> [[gnu::always_inline]] inline auto built_in(const built_in_variable<Ask>&) {
  return Ask();
}
template <class T> [[gnu::always_inline]] constexpr T&& built_in(T&& of_the_program) {
  return static_cast<T&&>(of_the_program);
}
}  // namespace antiphase::plain
constexpr antiphase::plain::built_in_variable<[] { return antiphase::plain::thread_idx(); }> threadIdx;
constexpr antiphase::plain::built_in_variable<[] { return antiphase::plain::block_idx(); }> blockIdx;
constexpr antiphase::plain::built_in_variable<[] { return antiphase::plain::block_dim(); }> blockDim;
constexpr antiphase::plain::built_in_variable<[] { return antiphase::plain::grid_dim(); }> gridDim;
#define AP_VERB [[gnu::always_inline]] inline
// 32, unless the program defines its own
extern __attribute__((visibility("hidden"))) const int warpSize;

// barriers and fences
// -----------------------------------------------------------------------------------------------------------
AP_VERB void __syncthreads(AP_AT) { antiphase::machine::block_barrier(ap_at); }
namespace antiphase::plain {
void fence(scope reach);
void fence(scope reach, ordering how);  // of acquire, of release, or of both
// For __activemask(). The lane is alone under every other seed: a program cannot rely on more. Under the
// others, lanes that come to this place at about the same time are together.
unsigned lanes_here(place where);
unsigned lanes_of_group(place where);  // the same for coalesced_threads(), which may be any that are there
unsigned vote(unsigned mask, bool predicate, place where);
}  // namespace antiphase::plain
AP_VERB int __syncthreads_count(int p, AP_AT) { return antiphase::machine::block_vote(p != 0, ap_at).yes; }
AP_VERB int __syncthreads_and(int p, AP_AT) {
  const antiphase::machine::vote_count votes = antiphase::machine::block_vote(p != 0, ap_at);
  return votes.yes == votes.all;
}
AP_VERB int __syncthreads_or(int p, AP_AT) { return antiphase::machine::block_vote(p != 0, ap_at).yes != 0; }
AP_VERB void __syncwarp(unsigned mask = ~0u, AP_AT) {
  antiphase::machine::warp_exchange(mask, nullptr, 0, ap_at);
}
AP_VERB void __threadfence_block() { antiphase::plain::fence(antiphase::scope::block); }
AP_VERB void __threadfence() { antiphase::plain::fence(antiphase::scope::device); }
AP_VERB void __threadfence_system() { antiphase::plain::fence(antiphase::scope::system); }

// warps
// -----------------------------------------------------------------------------------------------------------
namespace antiphase::plain {
void exchange(unsigned mask, void* value, int bytes, int from, place where);  // the value of lane `from`
// A logical warp's use of its TempStorage of CUB, which those that exchange by shuffles leave alone.
void uses_storage(const void* storage, bool by_shuffles, place where);
template <class T> AP_VERB T moved(unsigned mask, T value, int from, place where) {
  static_assert(std::is_trivially_copyable_v<T>);
  T mine = value;
  exchange(mask, &mine, sizeof(T), from, where);
  return mine;
}
}  // namespace antiphase::plain
template <class T> AP_VERB T __shfl_sync(unsigned mask, T value, int from, int width = 32, AP_AT) {
  const int lane = antiphase::plain::lane();
  return antiphase::plain::moved(mask, value, (lane & ~(width - 1)) + (from & (width - 1)), ap_at);
}
template <class T> AP_VERB T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, AP_AT) {
  const int lane = antiphase::plain::lane();
  return antiphase::plain::moved(
      mask, value, (lane & (width - 1)) >= static_cast<int>(by) ? lane - static_cast<int>(by) : lane, ap_at);
}
template <class T> AP_VERB T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32, AP_AT) {
  const int lane = antiphase::plain::lane();
  return antiphase::plain::moved(
      mask, value, (lane & (width - 1)) + static_cast<int>(by) < width ? lane + static_cast<int>(by) : lane,
      ap_at);
}
template <class T> AP_VERB T __shfl_xor_sync(unsigned mask, T value, int by, int width = 32, AP_AT) {
  const int lane = antiphase::plain::lane(), other = lane ^ by;
  return antiphase::plain::moved(mask, value, other < (lane & ~(width - 1)) + width ? other : lane, ap_at);
}
AP_VERB unsigned __ballot_sync(unsigned mask, int p, AP_AT) {
  return antiphase::plain::vote(mask, p != 0, ap_at);
}
AP_VERB int __any_sync(unsigned mask, int p, AP_AT) {
  return antiphase::plain::vote(mask, p != 0, ap_at) != 0;
}
AP_VERB int __all_sync(unsigned mask, int p, AP_AT) {
  return antiphase::plain::vote(mask, p == 0, ap_at) == 0;
}
AP_VERB unsigned __activemask(AP_AT) { return antiphase::plain::lanes_here(ap_at); }
template <class T> AP_VERB unsigned __match_any_sync(unsigned mask, T value, AP_AT) {
  unsigned same = 0;
  const unsigned there = antiphase::plain::vote(mask, true, ap_at);
  for (int i = 0; i < 32; ++i)
    if ((there >> i & 1) != 0 && antiphase::plain::moved(mask, value, i, ap_at) == value) same |= 1u << i;
  return same;
}
template <class T> AP_VERB unsigned __match_all_sync(unsigned mask, T value, int* all, AP_AT) {
  const unsigned same = __match_any_sync(mask, value, ap_at);
  *all = same == antiphase::plain::vote(mask, true, ap_at);
  return *all ? same : 0;
}
namespace antiphase::plain {
template <class T, class Do> AP_VERB T warp_reduced(unsigned mask, T value, Do op, place where) {
  const unsigned there = vote(mask, true, where);
  T all = value;
  bool first = true;
  for (int i = 0; i < 32; ++i) {
    if ((there >> i & 1) == 0) continue;
    const T other = moved(mask, value, i, where);
    all = first ? other : op(all, other);
    first = false;
  }
  return all;
}
}  // namespace antiphase::plain
#define AP_REDUCE(name, expression)                                                    \
  template <class T> AP_VERB T __reduce_##name##_sync(unsigned mask, T value, AP_AT) { \
    return antiphase::plain::warp_reduced(                                             \
        mask, value, [](T a, T b) -> T { return expression; }, ap_at);                 \
  }
AP_REDUCE(add, a + b)
AP_REDUCE(min, a < b ? a : b)
AP_REDUCE(max, a < b ? b : a)
AP_REDUCE(and, a& b)
AP_REDUCE(or, a | b)
AP_REDUCE(xor, a ^ b)
#undef AP_REDUCE

// atomic operations
// -----------------------------------------------------------------------------------------------------------
// Each operation may switch to other threads. One that changes nothing may be a polling loop's.
// Whether the run is one with this change of the program (plain_cuda.hpp, find_fixes()).
extern "C" bool antiphase_tried(int number);
namespace antiphase::plain {
template <class T> using word_of =
    std::conditional_t<sizeof(T) == 8, std::uint64_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t,
                                          std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;
// update(): the word at `p` becomes change(word, with), atomically; returns the old word. `same`: what the
// operation is if the word stays as it was: a write, or, for a failed compare-and-swap, only a read. A store
// (not_read) never reads, a load (only_read) never writes. `expected`: by a compare-and-swap (is_read), which
// has the order `if_not` where it fails.
enum class unchanged { is_written, is_read, not_read, only_read };
std::uint64_t update(void* p, int bytes, scope reach, ordering how,
                     std::uint64_t (*change)(std::uint64_t, const void*), const void* with, unchanged same,
                     place where, std::uint64_t expected, ordering if_not);
template <class T> AP_VERB std::uint64_t to_word(T v) { return std::bit_cast<word_of<T>>(v); }
template <class T> AP_VERB T from_word(std::uint64_t w) {
  return std::bit_cast<T>(static_cast<word_of<T>>(w));
}
template <class T, class Do> AP_VERB T updated(T* p, scope reach, ordering how, place where, const Do& op,
                                               unchanged same = unchanged::is_written,
                                               std::uint64_t expected = 0, ordering if_not = {}) {
  static_assert(sizeof(word_of<T>) == sizeof(T), "an atomic operation takes 1, 2, 4 or 8 bytes");
  const auto change = [](std::uint64_t w, const void* with) {
    return to_word<T>((*static_cast<const Do*>(with))(from_word<T>(w)));
  };
  return from_word<T>(update(p, sizeof(T), reach, how, change, &op, same, where, expected, if_not));
}
template <class T> using plain_type = std::type_identity_t<std::remove_volatile_t<T>>;
}  // namespace antiphase::plain
#define AP_ATOMIC(name, expression)                                                                         \
  template <class T>                                                                                        \
  AP_VERB std::remove_volatile_t<T> atomic##name(T* p, antiphase::plain::plain_type<T> v, AP_AT) {          \
    using U = std::remove_volatile_t<T>;                                                                    \
    return antiphase::plain::updated(const_cast<U*>(p), antiphase::scope::device,                           \
                                     antiphase::ordering::relaxed, ap_at,                                   \
                                     [&](U a) -> U { return expression; });                                 \
  }                                                                                                         \
  template <class T>                                                                                        \
  AP_VERB std::remove_volatile_t<T> atomic##name##_block(T* p, antiphase::plain::plain_type<T> v, AP_AT) {  \
    using U = std::remove_volatile_t<T>;                                                                    \
    return antiphase::plain::updated(const_cast<U*>(p), antiphase::scope::block,                            \
                                     antiphase::ordering::relaxed, ap_at,                                   \
                                     [&](U a) -> U { return expression; });                                 \
  }                                                                                                         \
  template <class T>                                                                                        \
  AP_VERB std::remove_volatile_t<T> atomic##name##_system(T* p, antiphase::plain::plain_type<T> v, AP_AT) { \
    using U = std::remove_volatile_t<T>;                                                                    \
    return antiphase::plain::updated(const_cast<U*>(p), antiphase::scope::system,                           \
                                     antiphase::ordering::relaxed, ap_at,                                   \
                                     [&](U a) -> U { return expression; });                                 \
  }
AP_ATOMIC(Add, static_cast<U>(a + v))
AP_ATOMIC(Sub, static_cast<U>(a - v))
AP_ATOMIC(Exch, v)
AP_ATOMIC(Min, v < a ? v : a)
AP_ATOMIC(Max, a < v ? v : a)
AP_ATOMIC(And, a& v)
AP_ATOMIC(Or, a | v)
AP_ATOMIC(Xor, a ^ v)
AP_ATOMIC(Inc, a >= v ? U(0) : static_cast<U>(a + 1))
AP_ATOMIC(Dec, a == 0 || a > v ? v : static_cast<U>(a - 1))
#undef AP_ATOMIC
// Of vectors, each number by itself.
#define AP_ATOMIC_VECTOR(suffix)                                                         \
  AP_VERB float2 atomicAdd##suffix(float2* p, float2 v, AP_AT) {                         \
    return {atomicAdd##suffix(&p->x, v.x, ap_at), atomicAdd##suffix(&p->y, v.y, ap_at)}; \
  }                                                                                      \
  AP_VERB float4 atomicAdd##suffix(float4* p, float4 v, AP_AT) {                         \
    return {atomicAdd##suffix(&p->x, v.x, ap_at), atomicAdd##suffix(&p->y, v.y, ap_at),  \
            atomicAdd##suffix(&p->z, v.z, ap_at), atomicAdd##suffix(&p->w, v.w, ap_at)}; \
  }
AP_ATOMIC_VECTOR()
AP_ATOMIC_VECTOR(_block)
AP_ATOMIC_VECTOR(_system)
#undef AP_ATOMIC_VECTOR
#define AP_CAS(suffix, reach)                                                                     \
  template <class T> AP_VERB std::remove_volatile_t<T> atomicCAS##suffix(                         \
      T* p, antiphase::plain::plain_type<T> expected, antiphase::plain::plain_type<T> v, AP_AT) { \
    using U = std::remove_volatile_t<T>;                                                          \
    return antiphase::plain::updated(                                                             \
        const_cast<U*>(p), antiphase::scope::reach, antiphase::ordering::relaxed, ap_at,          \
        [&](U a) -> U {                                                                           \
          return antiphase::plain::to_word(a) == antiphase::plain::to_word(expected) ? v : a;     \
        },                                                                                        \
        antiphase::plain::unchanged::is_read, antiphase::plain::to_word<U>(expected));            \
  }
AP_CAS(, device)
AP_CAS(_block, block)
AP_CAS(_system, system)
#undef AP_CAS

// loads and stores with hints: ordinary ones here, except for __ldg, of memory that its launch may not write
// --------------------------------------------------------------------------------------
namespace antiphase::plain {
// `by_cache`: of textures and the like, for which only what the launch has written before matters.
void read_only(void* to, const void* from, std::size_t bytes, const char* by_cache = nullptr);
void discard(volatile void* p, std::size_t bytes);  // leaves memory undefined
// A load with a hint is made where it stands, even by a const parameter with __restrict__.
bool reads_by_restrict();  // true: the launch has such a parameter
void read_afresh(void* to, const void* from, std::size_t bytes);
template <class T> AP_VERB T loaded(const T& from) {
  if (!reads_by_restrict()) return from;
  std::remove_cv_t<T> value;
  read_afresh(&value, &from, sizeof value);
  return value;
}
template <class T> AP_VERB T read_only(const T& from) {  // a reference, so that its alignment is looked at
  std::remove_cv_t<T> value;
  read_only(&value, &from, sizeof value);
  return value;
}
}  // namespace antiphase::plain
template <class T> AP_VERB T __ldg(const T* p) { return antiphase::plain::read_only(*p); }
#define AP_LOAD(name) \
  template <class T> AP_VERB T name(const T* p) { return antiphase::plain::loaded(*p); }
AP_LOAD(__ldca)
AP_LOAD(__ldcg)
AP_LOAD(__ldcs)
AP_LOAD(__ldlu)
AP_LOAD(__ldcv)
#undef AP_LOAD
#define AP_STORE(name) \
  template <class T> AP_VERB void name(T* p, std::type_identity_t<T> v) { *p = v; }
AP_STORE(__stwb)
AP_STORE(__stcg)
AP_STORE(__stcs)
AP_STORE(__stwt)
#undef AP_STORE

// asynchronous copies of a thread
// -----------------------------------------------------------------------------------------------------
AP_VERB void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes, std::size_t zeros = 0,
                                     AP_AT) {
  antiphase::machine::copy_async(to, from, static_cast<int>(bytes), static_cast<int>(bytes - zeros), ap_at);
}
AP_VERB void __pipeline_commit() { antiphase::machine::copy_async_commit(); }
AP_VERB void __pipeline_wait_prior(int groups, AP_AT) { antiphase::machine::copy_async_wait(groups, ap_at); }

// launches that overlap
// -----------------------------------------------------------------------------------------------------
AP_VERB void cudaGridDependencySynchronize() { antiphase::machine::wait_for_previous_grid(); }
AP_VERB void cudaTriggerProgrammaticLaunchCompletion() { antiphase::machine::start_next_grid(); }

// time and ending
// -----------------------------------------------------------------------------------------------------------
AP_VERB long long clock64() {
  return 4096 * antiphase::machine::clock();
}  // large steps: a kernel that waits by it waits for milliseconds of a device
AP_VERB void __nanosleep(unsigned, AP_AT) { antiphase::machine::yield(ap_at); }
AP_VERB void __trap(AP_AT) { antiphase::machine::trap("__trap()", ap_at); }
AP_VERB void __brkpt() {}
AP_VERB bool __isShared(const void* p) {
  const auto* const b = antiphase::machine::current->block;
  return p >= b->shared && p < b->shared + b->shared_bytes;
}
