// SPDX-License-Identifier: Apache-2.0
// Hooks that the compiler calls at every memory access of an instrumented kernel: ThreadSanitizer's ABI, this
// checker's rules. This file is not instrumented itself, and libtsan is not linked.
#include <algorithm>
#include <bit>
#include <cstring>

#include "model.hpp"

namespace antiphase::checker_detail {

namespace {

// Fast paths. quick_read: a repeated read of words that the warp or another of the block has read at the same
// time and place. quick_write: a write of words whose earlier accesses all threads know. Next come reads_anew
// and writes_anew, for first accesses without a finding. Everything else, and every finding, is for
// model::access().
[[gnu::always_inline]] inline bool quick_read(model& m, const void* p, std::size_t words, const void* code) {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - m.memory.lowest();
  if (offset >= m.memory.size()) return m.host.on_stack(reinterpret_cast<std::uintptr_t>(p));
  const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(code) - code_base;
  if (offset % 4 != 0 || place >= place_table::far_code) return false;
  const thread_model& t = *m.current();
  const stamp now = *t.time;
  cell* c = m.memory.cells() + offset / 4;
  std::uint32_t before = t.lane;  // nonzero at the end: this lane has read all of them here before
  for (const cell* end = c + words; c < end; ++c) {
    reader& r = c->first;
    const bool first = r.block == t.block && r.unit == t.warp && r.kind == warp_reads && r.strength == 0 &&
                       r.time == now && r.place == place;
    reader_group* g = nullptr;
    if (!first || r.lanes == 0) {
      if (c->more == 0 || c->state == cell_state::split) return false;
      g = &m.memory.group(c->more);
      if (!g->at(t.block, now, static_cast<place_number>(place))) return false;
    }
    if (!access_history::surely_knows_writer(t, *c)) return false;
    std::uint32_t& lanes = g != nullptr ? g->lanes()[t.warp] : r.lanes;
    before &= lanes;
    lanes |= t.lane;
  }
  ++m.history.effort.accesses;
  if (m.writes_down) [[unlikely]]
    m.write_down(event_kind::read, p, words * 4, static_cast<place_number>(place));
  if (before != 0) m.loops.read_again(p, words * 4, code);
  return true;
}

[[gnu::always_inline]] inline bool quick_write(model& m, const void* p, std::size_t words, const void* code) {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - m.memory.lowest();
  if (offset >= m.memory.size()) return m.host.on_stack(reinterpret_cast<std::uintptr_t>(p));
  const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(code) - code_base;
  if (offset % 4 != 0 || place >= place_table::far_code) return false;
  if (m.history.effort.too_much()) return false;  // an endless loop may come by here alone
  const thread_model& t = *m.current();
  cell* const start = m.memory.cells() + offset / 4;
  for (const cell* c = start; c < start + words; ++c) {
    if (offset < shadow::shared_bytes && c->block != t.block)
      return false;  // left by another block: only visit() can tell whether this block owns it too
    if (!access_history::surely_knows_writer(t, *c) || !m.history.surely_knows_readers(t, *c)) return false;
  }
  for (cell* c = start; c < start + words; ++c) m.history.write_over(*c, t, static_cast<place_number>(place));
  ++m.history.effort.accesses;
  if (m.writes_down) [[unlikely]]
    m.write_down(event_kind::write, p, words * 4, static_cast<place_number>(place));
  return true;
}

[[gnu::always_inline]] inline bool reads_quickly(model& m, const void* p, std::size_t bytes,
                                                 const void* code) {
  return m.current() != nullptr && (quick_read(m, p, bytes / 4, code) || m.reads_anew(p, bytes, code));
}
[[gnu::always_inline]] inline bool writes_quickly(model& m, const void* p, std::size_t bytes,
                                                  const void* code) {
  return m.current() != nullptr && (quick_write(m, p, bytes / 4, code) || m.writes_anew(p, bytes, code));
}

template <std::size_t Bytes> [[gnu::always_inline]] inline void read(const void* p, const void* code) {
  model* m = active;
  if (m == nullptr) return;
  m->settle();
  if (Bytes >= 4 && reads_quickly(*m, p, Bytes, code)) return;
  m->access(p, Bytes, access_kind::read, code);
}
[[gnu::always_inline]] inline void any(const void* p, std::size_t bytes, access_kind kind, const void* code) {
  model* m = active;
  if (m == nullptr) return;
  m->settle();
  m->access(p, bytes, kind, code);
}
template <std::size_t Bytes> [[gnu::always_inline]] inline void write(const void* p, const void* code) {
  model* m = active;
  if (m == nullptr) return;
  m->settle();
  if (Bytes >= 4 && writes_quickly(*m, p, Bytes, code)) return m->loops.wrote(p);
  m->access(p, Bytes, access_kind::write, code);
}

// A volatile access is a relaxed one of system scope (PTX ISA, ld.volatile); 16 bytes are two.
void relaxed_volatile(model& m, const void* p, std::size_t bytes, atomic_kind kind, const void* code) {
  for (std::size_t done = 0; done < bytes; done += 8) {
    m.atomic(static_cast<const unsigned char*>(p) + done, std::min<std::size_t>(bytes - done, 8), kind,
             order::relaxed, volatile_reach, code);
  }
}
void read_volatile(const void* p, std::size_t bytes, const void* code) {
  model* m = active;
  if (m != nullptr && m->current() == nullptr)
    return m->host_atomic(p, bytes, atomic_kind::load, order::acquire, code);
  if (m == nullptr || !m->memory.follows(p)) return any(p, bytes, access_kind::read, code);
  m->settle();
  m->loops.comes_to_atomic(p, atomic_kind::load, code);
  std::uint64_t words[2] = {};
  if (m->brings_old(p, bytes, order::relaxed, volatile_reach, code, words[0])) {
    m->loops.looked(p, words[0], code);
    m->lockstep.read(*m->current(), p, m->places.number_of_code(code));
    return m->lend(p, bytes, words[0]);
  }
  std::memcpy(words, p, bytes);
  // This may switch to other threads; the load itself follows when the hook has returned.
  m->loops.looked(p, words[0] + 3 * words[1], code);
  relaxed_volatile(*m, p, bytes, atomic_kind::load, code);
  m->lockstep.read(*m->current(), p, m->places.number_of_code(code));
}
void write_volatile(const void* p, std::size_t bytes, const void* code) {
  model* m = active;
  if (m != nullptr && m->current() == nullptr)
    return m->host_atomic(p, bytes, atomic_kind::store, order::release, code);
  if (m == nullptr || !m->memory.follows(p)) return any(p, bytes, access_kind::write, code);
  m->settle();
  m->loops.comes_to_atomic(p, atomic_kind::store, code);
  relaxed_volatile(*m, p, bytes, atomic_kind::store, code);
  m->lockstep.write(*m->current(), p, bytes, m->places.number_of_code(code));
  m->loops.wrote(p);
}

void constructed(void** object, const void* code) {
  any(object, sizeof *object, access_kind::write, code);
  if (active != nullptr && active->current() == nullptr && active->memory.follows(object))
    active->history.holds_host_table(object);
}

void copied(const void* to, const void* from, std::size_t bytes, const void* code) {
  model* m = active;
  if (m == nullptr) return;
  m->settle();
  if (m->current() != nullptr) m->loops.wrote(to, bytes > 16);
  const bool whole = bytes > 0 && bytes % 4 == 0;
  if (!whole || !reads_quickly(*m, from, bytes, code)) m->access(from, bytes, access_kind::read, code);
  if (!whole || !writes_quickly(*m, to, bytes, code)) m->access(to, bytes, access_kind::write, code);
}

order of(int memory_order) {
  switch (memory_order) {
    case __ATOMIC_RELAXED: return order::relaxed;
    case __ATOMIC_CONSUME:
    case __ATOMIC_ACQUIRE: return order::acquire;
    case __ATOMIC_RELEASE: return order::release;
    default: return order::both;
  }
}
// The scope that a device function has written for the operation whose hook this is.
scope scope_of_this() { return std::exchange(machine::next_scope, scope::device); }
// Returns the operation's scope: other threads run here, and write theirs.
scope comes_to_atomic(const volatile void* p, atomic_kind kind, const void* code) {
  const scope reach = scope_of_this();
  if (model* m = active) {
    m->settle();
    if (m->current() != nullptr) m->loops.comes_to_atomic(const_cast<const void*>(p), kind, code);
  }
  return reach;
}
void atomic(const volatile void* p, std::size_t bytes, atomic_kind kind, int how, scope reach,
            const void* code) {
  model* m = active;
  if (m == nullptr) return;
  if (m->current() != nullptr)
    m->atomic(const_cast<const void*>(p), bytes, kind, of(how), reach, code);
  else
    m->host_atomic(const_cast<const void*>(p), bytes, kind, of(how), code);
}
template <class T> void compares(const volatile T* p, T expected) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &expected, sizeof expected);
  if (model* m = active; m != nullptr && m->current() != nullptr)
    m->compares(const_cast<const T*>(p), sizeof expected, bits);
}
// Called after a load or an update that found `value`. If memory still holds it, the thread may be polling in
// a loop.
template <class T> T found(const volatile T* p, T value, const void* code) {
  model* m = active;
  if (m == nullptr || m->current() == nullptr) return value;
  if (__atomic_load_n(p, __ATOMIC_RELAXED) == value)
    m->loops.looked(const_cast<const T*>(p), value, code);
  else
    m->loops.wrote(const_cast<const T*>(p), true);
  return value;
}
// True if a load returns a value from before a write that its thread is not ordered after. Never for
// sequential consistency.
template <class T> bool brings_old(const volatile T* p, int how, scope reach, const void* code, T& value) {
  model* m = active;
  if (m == nullptr || sizeof(T) > 8) return false;
  std::uint64_t old = 0;
  if (m->current() == nullptr) {
    const auto found =
        m->host_finds_old != nullptr ? m->host_finds_old(const_cast<const T*>(p), sizeof(T)) : std::nullopt;
    if (found) std::memcpy(&value, &*found, sizeof value);
    return found.has_value();
  }
  if (how == __ATOMIC_SEQ_CST) return false;
  if (!m->brings_old(const_cast<const T*>(p), sizeof(T), of(how), reach, code, old)) return false;
  std::memcpy(&value, &old, sizeof value);
  m->loops.looked(const_cast<const T*>(p), static_cast<std::uint64_t>(value), code);
  return true;
}
void stored(const volatile void* p) {
  if (model* m = active; m != nullptr && m->current() != nullptr)
    m->loops.wrote(const_cast<const void*>(p), true);
}

}  // namespace
}  // namespace antiphase::checker_detail

using antiphase::checker_detail::access_kind;
using antiphase::checker_detail::any;
using antiphase::checker_detail::atomic;
using antiphase::checker_detail::atomic_kind;
using antiphase::checker_detail::brings_old;
using antiphase::checker_detail::comes_to_atomic;
using antiphase::checker_detail::compares;
using antiphase::checker_detail::constructed;
using antiphase::checker_detail::copied;
using antiphase::checker_detail::found;
using antiphase::checker_detail::read_volatile;
using antiphase::checker_detail::scope_of_this;
using antiphase::checker_detail::stored;
using antiphase::checker_detail::write_volatile;

#define CODE __builtin_return_address(0)

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

#define ACCESS(bytes)                                                                      \
  void __tsan_read##bytes(void* p) { antiphase::checker_detail::read<bytes>(p, CODE); }    \
  void __tsan_write##bytes(void* p) { antiphase::checker_detail::write<bytes>(p, CODE); }  \
  void __tsan_unaligned_read##bytes(void* p) { any(p, bytes, access_kind::read, CODE); }   \
  void __tsan_unaligned_write##bytes(void* p) { any(p, bytes, access_kind::write, CODE); } \
  void __tsan_volatile_read##bytes(void* p) { read_volatile(p, bytes, CODE); }             \
  void __tsan_volatile_write##bytes(void* p) { write_volatile(p, bytes, CODE); }           \
  void __tsan_unaligned_volatile_read##bytes(void* p) { read_volatile(p, bytes, CODE); }   \
  void __tsan_unaligned_volatile_write##bytes(void* p) { write_volatile(p, bytes, CODE); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
#undef ACCESS

// Aliases. A loaded program has hooks of its own, which skip untracked addresses and forward the rest to
// these (plain/compile.cpp).
#define ACCESS(bytes)                                                                       \
  void antiphase_checked_read##bytes(void* p) __attribute__((alias("__tsan_read" #bytes))); \
  void antiphase_checked_write##bytes(void* p) __attribute__((alias("__tsan_write" #bytes)));
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
#undef ACCESS

void __tsan_read_range(void* p, unsigned long bytes) { any(p, bytes, access_kind::read, CODE); }
void __tsan_write_range(void* p, unsigned long bytes) { any(p, bytes, access_kind::write, CODE); }
void __tsan_vptr_update(void** p, void*) { constructed(p, CODE); }
void __tsan_vptr_read(void** p) { any(p, sizeof *p, access_kind::read, CODE); }

// Instrumented units call these in place of the library's functions: see checked_prelude.hpp.
void* antiphase_checked_memcpy(void* to, const void* from, std::size_t bytes) {
  copied(to, from, bytes, CODE);
  return std::memcpy(to, from, bytes);
}
void* antiphase_checked_memmove(void* to, const void* from, std::size_t bytes) {
  copied(to, from, bytes, CODE);
  return std::memmove(to, from, bytes);
}
void* antiphase_checked_memset(void* to, int value, std::size_t bytes) {
  any(to, bytes, access_kind::write, CODE);
  return std::memset(to, value, bytes);
}

// Before comparisons in a lab of the course: see -fsanitize-coverage=trace-cmp. What may be an address says
// nothing: it differs between launches.
static void compared(std::uint64_t value) {
  auto* const m = antiphase::checker_detail::active;
  if (m != nullptr && (value < 1ull << 32 || value >> 47 != 0)) m->looked_at(value);
}
#define COMPARES(name, type, bits)                                      \
  void __sanitizer_cov_trace_##name(type a, type b) {                   \
    compared(std::bit_cast<bits>(a)), compared(std::bit_cast<bits>(b)); \
  }
COMPARES(cmp1, std::uint8_t, std::uint8_t)
COMPARES(cmp2, std::uint16_t, std::uint16_t)
COMPARES(cmp4, std::uint32_t, std::uint32_t)
COMPARES(cmp8, std::uint64_t, std::uint64_t)
COMPARES(const_cmp1, std::uint8_t, std::uint8_t)
COMPARES(const_cmp2, std::uint16_t, std::uint16_t)
COMPARES(const_cmp4, std::uint32_t, std::uint32_t)
COMPARES(const_cmp8, std::uint64_t, std::uint64_t)
COMPARES(cmpf, float, std::uint32_t)
COMPARES(cmpd, double, std::uint64_t)
#undef COMPARES
void __sanitizer_cov_trace_switch(std::uint64_t value, const std::uint64_t*) { compared(value); }

// Before arithmetic of a thread of a timed run, see plain/assembly.hpp.
void antiphase_checked_arithmetic(unsigned instructions) {
  if (auto* m = antiphase::checker_detail::active) m->arithmetic(instructions, CODE);
}

int antiphase_checked_memcmp(const void* a, const void* b, std::size_t bytes) {
  any(a, bytes, access_kind::read, CODE);
  any(b, bytes, access_kind::read, CODE);
  return std::memcmp(a, b, bytes);
}

// The hooks perform the operations themselves.
#define FETCH(bits, type, name, operation)                                         \
  type __tsan_atomic##bits##_fetch_##name(volatile type* p, type value, int how) { \
    const auto reach = comes_to_atomic(p, atomic_kind::update, CODE);              \
    atomic(p, sizeof(type), atomic_kind::update, how, reach, CODE);                \
    return found(p, operation(p, value, __ATOMIC_SEQ_CST), CODE);                  \
  }
#define COMPARE(bits, type, kind)                                                                            \
  int __tsan_atomic##bits##_compare_exchange_##kind(volatile type* p, type* expected, type value, int how,   \
                                                    int if_not) {                                            \
    const auto reach = comes_to_atomic(p, atomic_kind::update, CODE);                                        \
    compares(p, *expected);                                                                                  \
    const bool will_write = __atomic_load_n(p, __ATOMIC_SEQ_CST) == *expected;                               \
    atomic(p, sizeof(type), will_write ? atomic_kind::update : atomic_kind::load, will_write ? how : if_not, \
           reach, CODE);                                                                                     \
    const bool done =                                                                                        \
        __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
    found<type>(p, *expected, CODE);                                                                         \
    return done;                                                                                             \
  }
#define ATOMIC(bits, type)                                                                                   \
  type __tsan_atomic##bits##_load(const volatile type* p, int how) {                                         \
    const auto reach = comes_to_atomic(p, atomic_kind::load, CODE);                                          \
    if (type old = 0; brings_old<type>(p, how, reach, CODE, old)) return old;                                \
    atomic(p, sizeof(type), atomic_kind::load, how, reach, CODE);                                            \
    return found<type>(p, __atomic_load_n(p, __ATOMIC_SEQ_CST), CODE);                                       \
  }                                                                                                          \
  void __tsan_atomic##bits##_store(volatile type* p, type value, int how) {                                  \
    const auto reach = comes_to_atomic(p, atomic_kind::store, CODE);                                         \
    atomic(p, sizeof(type), atomic_kind::store, how, reach, CODE);                                           \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                            \
    stored(p);                                                                                               \
  }                                                                                                          \
  FETCH(bits, type, add, __atomic_fetch_add)                                                                 \
  FETCH(bits, type, sub, __atomic_fetch_sub)                                                                 \
  FETCH(bits, type, and, __atomic_fetch_and)                                                                 \
  FETCH(bits, type, or, __atomic_fetch_or)                                                                   \
  FETCH(bits, type, xor, __atomic_fetch_xor)                                                                 \
  FETCH(bits, type, nand, __atomic_fetch_nand)                                                               \
  type __tsan_atomic##bits##_exchange(volatile type* p, type value, int how) {                               \
    const auto reach = comes_to_atomic(p, atomic_kind::update, CODE);                                        \
    atomic(p, sizeof(type), atomic_kind::update, how, reach, CODE);                                          \
    return found<type>(p, __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST), CODE);                            \
  }                                                                                                          \
  COMPARE(bits, type, strong)                                                                                \
  COMPARE(bits, type, weak)                                                                                  \
  type __tsan_atomic##bits##_compare_exchange_val(volatile type* p, type expected, type value, int how,      \
                                                  int if_not) {                                              \
    const auto reach = comes_to_atomic(p, atomic_kind::update, CODE);                                        \
    compares(p, expected);                                                                                   \
    const bool will_write = __atomic_load_n(p, __ATOMIC_SEQ_CST) == expected;                                \
    atomic(p, sizeof(type), will_write ? atomic_kind::update : atomic_kind::load, will_write ? how : if_not, \
           reach, CODE);                                                                                     \
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);             \
    return found<type>(p, expected, CODE);                                                                   \
  }
ATOMIC(8, unsigned char)
ATOMIC(16, unsigned short)
ATOMIC(32, unsigned)
ATOMIC(64, unsigned long)
#undef ATOMIC
#undef COMPARE
#undef FETCH

void __tsan_atomic_thread_fence(int how) {
  if (auto* m = antiphase::checker_detail::active)
    m->fence(how == __ATOMIC_SEQ_CST ? antiphase::checker_detail::order::total
                                     : antiphase::checker_detail::of(how),
             scope_of_this());
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"
