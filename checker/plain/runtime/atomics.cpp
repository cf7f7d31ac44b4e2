// SPDX-License-Identifier: Apache-2.0
// Atomic operations of threads and of the host, and the schedules that show what they miss.
#include <antiphase/plain/device.h>
#include <fmt/format.h>
#include <array>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checker/order/missing.hpp"
#include "checker/plain/runtime/launches/launch_state.hpp"
#include "checker/plain/runtime/launches/streams.hpp"
#include "checker/plain/runtime/memory/undefined_values.hpp"
#include "core/executor/cpu/worker.hpp"
#include "run.hpp"

namespace antiphase::plain {
using checker_detail::access_kind;
using checker_detail::atomic_kind;
using checker_detail::model;

namespace {
void require_aligned(const void* p, std::size_t bytes, const char* what, const void* code) {
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(p) % bytes;
  if (beyond == 0) return;
  model& m = followed();
  m.note_here(finding_kind::misaligned, m.places.number_of_code(code),
              fmt::format("{} of {} bytes", what, bytes),
              fmt::format("an address that is {} more than a multiple of {}", beyond, bytes),
              checker_detail::explain(sentence::aligned, bytes));
  m.history.stop("a misaligned access");
}
// An atomic update by the host, safe against its own other threads.
template <class Word> std::uint64_t update_on_host(void* p,
                                                   std::uint64_t (*change)(std::uint64_t, const void*),
                                                   const void* with, bool reads) {
  auto* const word = static_cast<Word*>(p);
  Word before = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (!reads && !__atomic_compare_exchange_n(word, &before, static_cast<Word>(change(before, with)), false,
                                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return before;
}
std::uint64_t update_on_host(void* p, int bytes, ordering how,
                             std::uint64_t (*change)(std::uint64_t, const void*), const void* with,
                             unchanged same, std::uint64_t expected, ordering if_not, const void* code) {
  const bool reads = same == unchanged::only_read;
  std::uint64_t there = 0;
  std::memcpy(&there, p, static_cast<std::size_t>(bytes));
  if (same == unchanged::is_read && there != expected && change(there, with) == there) how = if_not;
  if (reads && is_followed())
    if (const auto old = found_by_host(p, static_cast<std::size_t>(bytes)); old) return *old;
  if (is_followed() && on_host_thread())
    followed().host_atomic(p, static_cast<std::size_t>(bytes),
                           reads                         ? atomic_kind::load
                           : same == unchanged::not_read ? atomic_kind::store
                                                         : atomic_kind::update,
                           static_cast<checker_detail::order>(how), code);
  switch (bytes) {
    case 1: return update_on_host<std::uint8_t>(p, change, with, reads);
    case 2: return update_on_host<std::uint16_t>(p, change, with, reads);
    case 4: return update_on_host<std::uint32_t>(p, change, with, reads);
    default: return update_on_host<std::uint64_t>(p, change, with, reads);
  }
}
// A compare-and-swap does not tell that a word has changed and come back (ABA), and few schedules show it. So
// under every other seed, a thread about to succeed is held back until another thread has changed the word
// and restored it, for a limited number of turns. Then the thread runs alone for a while.
struct kept_thread {
  const void* word = nullptr;  // null: no thread is kept
  std::uint64_t expected = 0;
  const cpu_detail::thread_state* alone = nullptr;
  int steps_alone = 0;
  int left = 0;  // times that one may still be kept
  std::uint32_t draw = 0;
  bool back = false;
  // Likewise before a relaxed store, until another thread has stored to the word: so two that take turns, as
  // in Peterson's lock, may both have looked before.
  const void* store = nullptr;
  int stores_left = 0;
  std::uint32_t draw_store = 0;
  bool stored = false;
};
kept_thread kept;
constexpr int most_turns = 64, most_alone = 12, most_kept = 6;

// Such a turn is no idle wait: the thread that is waited for may have finished, or wait itself.
void wait_a_turn(cpu_detail::thread_state& self, place where) {
  self.owner->suspend(self, cpu_detail::condition::polling, where);
  self.owner->progress();
}
void let_alone(cpu_detail::thread_state& self, place where) {
  if (kept.alone == &self && --kept.steps_alone <= 0) kept.alone = nullptr;
  for (int turns = 0; kept.back || (kept.alone != nullptr && kept.alone != &self); ++turns) {
    // and from then on each turn: others may have set them again since
    if (turns >= most_turns) kept.alone = nullptr, kept.back = false;
    wait_a_turn(self, where);
  }
}
void keep_before_swap(cpu_detail::thread_state& self, const void* p, std::uint64_t expected, place where) {
  kept.draw = kept.draw * 1664525 + 1013904223;
  if (kept.left == 0 || kept.word != nullptr || kept.draw >> 31 != 0) return;
  --kept.left;
  kept.word = p;
  kept.expected = expected;
  for (int turns = 0; turns < most_turns && !kept.back; ++turns) wait_a_turn(self, where);
  kept.word = nullptr;
  if (!std::exchange(kept.back, false)) return;
  kept.alone = &self;
  kept.steps_alone = most_alone;
}
}  // namespace
namespace {
// Offsets in global memory, of this launch; `dropped`: bytes may be dropped there, but not read too early.
struct brought {
  std::size_t at;
  bool dropped;
};
std::vector<brought> brought_into;
}  // namespace
void begin_keeping() {
  brought_into.clear();
  const unsigned drawn = seed();
  kept = {.left = drawn % 2 == 0 ? most_kept : 0,
          .draw = drawn,
          .stores_left = 2 * most_kept,
          .draw_store = drawn};
}
void keep_before_store(const void* p) {
  kept.stored |= p == kept.store;
  if (kept.stores_left == 0 || kept.store != nullptr) return;
  kept.draw_store = (kept.draw_store ^ kept.draw_store >> 15) * 0x2C1B3C6Du + 0x9E3779B9u;
  const std::uint32_t draw = kept.draw_store >> 24;
  if (draw % 4 == 0) return;
  const int most = most_turns >> (2 + draw / 4 % 3);  // few, so that the others do not end meanwhile
  --kept.stores_left;
  kept.store = p;
  kept.stored = false;
  cpu_detail::thread_state& self = cpu_detail::here();
  self.inside_hook = true;
  for (int turns = 0; turns < most && !kept.stored; ++turns) wait_a_turn(self, {});
  self.inside_hook = false;
  kept.store = nullptr;
}
namespace {
finding use_of(checker_detail::place_number at, const std::string& action, std::size_t offset,
               std::size_t bytes) {
  model& m = followed();
  finding f;
  f.kind = finding_kind::uninitialised;
  f.access = m.side_here(at, "");
  f.access.action = action;
  f.memory = m.findings.describe(
      {.thread = *m.current(), .kind = access_kind::read, .place = at, .bytes = bytes}, offset);
  f.missing = sentence::write;
  return f;
}
// True for an update that leaves the same whatever was there, such as an exchange.
bool overwrites(std::uint64_t (*change)(std::uint64_t, const void*), const void* with, std::uint64_t before,
                std::size_t bytes) {
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - 8 * bytes), after = change(before, with);
  return change(~before & all, with) == after && change(0, with) == after && change(all, with) == after;
}
// The result of such an update in memory that no thread had written: a program may only discard it.
std::uint64_t undefined_result(const void* p, std::size_t bytes, std::uint64_t after, const void* code) {
  model& m = followed();
  const checker_detail::place_number at = m.places.number_of_code(code);
  undefined_values::others instead{};  // what a program may ask for, as in atomicExch(&done, 1) == 0
  std::memcpy(instead[0].data(), &after, bytes);
  if (after == 0) instead[0][0] = 1;
  std::uint64_t result = 0;
  undefined_results().bring(at, &result, bytes, instead, [&] {
    return use_of(at, fmt::format("use of an atomic read of {} bytes", bytes), m.memory.offset_of(p, bytes),
                  bytes);
  });
  return result;
}
}  // namespace

namespace {
// A load that is an error only if its value is used, and the first one that has been seen in the same lines.
struct load_rule {
  bool by_use = false;
  checker_detail::place_number first = 0;
};
const load_rule& load_rule_of(checker_detail::place_number at) {
  static std::map<checker_detail::place_number, load_rule> known;
  static std::map<std::vector<std::pair<std::string, int>>, checker_detail::place_number> firsts;
  const auto [load, fresh] = known.try_emplace(at);
  if (fresh) {
    std::vector<std::pair<std::string, int>> lines;
    for (code_place& one : followed().places.lines(at)) {
      load->second.by_use |= one.file.ends_with("plain/ptx_by_use.h");
      lines.emplace_back(std::move(one.file), one.line);
    }
    load->second.first = firsts.try_emplace(std::move(lines), at).first->second;
  }
  return load->second;
}
}  // namespace

namespace {
// True in global memory if what a load of the widest vector takes in there has been written in part.
bool reads_some_written(std::size_t offset) {
  constexpr std::size_t vector = 16;
  if (offset < checker_detail::shadow::shared_bytes ||
      followed().memory.byte(offset).state != checker_detail::cell_state::uninitialised)  // an old value
    return false;
  const std::size_t first = offset / vector * vector;
  for (std::size_t at = first; at < first + vector; at += 4)
    if (followed().memory.byte(at).has_writer()) return true;
  return false;
}
}  // namespace

// Values that were brought into memory that is still unwritten are no outcome of the launch.
bool forget_brought() {
  model& m = followed();
  bool early = false;
  for (const brought& b : brought_into)
    if (m.memory.byte(b.at).state == checker_detail::cell_state::uninitialised)
      reinterpret_cast<unsigned char*>(m.memory.lowest())[b.at] = 0;
    else
      early |= b.dropped;
  return early;
}

// True if this read of unwritten memory is reported only once its value is used. Libraries read past the end
// of a tile and drop the value, and what is copied into shared memory may be dropped there, too. Programs
// that load rows as vectors do the same: that is pedantic.
bool unwritten_may_be_read(const checker_detail::accessor& w, std::size_t offset) {
  const load_rule& load = load_rule_of(w.place);
  const bool by_use = has_host_of_nvcc() || (load.by_use && undefined_results().decides(load.first));
  if (!by_use && !(reads_some_written(offset) && undefined_results().follows(load.first))) return false;
  model& m = followed();
  std::array<unsigned char, 4> value{};
  const auto read_of = [&](const char* words, sentence in_practice) {
    finding f = use_of(w.place, fmt::format("{} of {} bytes", words, w.bytes), offset, w.bytes);
    f.in_practice = in_practice;
    return f;
  };
  std::function<finding()> if_unused;
  if (!by_use) if_unused = [&] { return read_of("read", sentence::gpu_unused_bytes); };
  undefined_results().bring(
      load.first, value.data(), value.size(), undefined_values::extreme(),
      [&] { return read_of(by_use ? "use of a read" : "read", sentence::none); }, if_unused);
  for (std::size_t k = 0; k < value.size(); ++k)
    if (m.memory.byte(offset + k).state == checker_detail::cell_state::uninitialised) {
      reinterpret_cast<unsigned char*>(m.memory.lowest())[offset + k] = value[k];
      if (offset >= checker_detail::shadow::shared_bytes) brought_into.push_back({offset + k, !by_use});
    }
  return true;
}

std::uint64_t update(void* p, int bytes, scope reach, ordering how,
                     std::uint64_t (*change)(std::uint64_t, const void*), const void* with, unchanged same,
                     place where, std::uint64_t expected, ordering if_not) {
  if (!on_device())
    return update_on_host(p, bytes, how, change, with, same, expected, if_not, __builtin_return_address(0));
  cpu_detail::thread_state& self = cpu_detail::here();
  self.code = __builtin_return_address(0);
  model& m = followed();
  require_aligned(p, static_cast<std::size_t>(bytes), "atomic operation", self.code);
  m.settle();
  const auto size = static_cast<std::size_t>(bytes);
  std::uint64_t before = 0;
  const bool there = m.memory.follows(p, size);
  self.owner->give_way(self);
  if (kept.back || kept.alone != nullptr) let_alone(self, where);
  if (same == unchanged::not_read && there) keep_before_store(p);
  if (kept.left > 0 && same == unchanged::is_read && there) {
    std::memcpy(&before, p, size);
    if (change(before, with) != before) keep_before_swap(self, p, before, where);
  }
  // others may run until here, but none from here to the end
  if (there) std::memcpy(&before, p, size);
  const std::uint64_t after = there ? change(before, with) : 0;
  if (same == unchanged::is_read && after == before && before != expected) how = if_not;
  if (same == unchanged::is_read) m.compares(p, size, expected);
  const bool unwritten = there && same == unchanged::is_written && m.unwritten(p, size);
  const bool reads = same != unchanged::is_written || (after != before && !unwritten) ||
                     !overwrites(change, with, before, size);
  // acquire_release: sequentially consistent, so never an old value
  if (after == before && same != unchanged::not_read && how != ordering::acquire_release &&
      how != ordering::release &&
      m.brings_old(p, size, static_cast<checker_detail::order>(how), reach, self.code, before,
                   same == unchanged::only_read ? nullptr : change, with, reads)) {
    self.owner->loaded(self, p, before, where);
    if (self.loads.is_waiting()) self.loads.looked_in_vain();
    return before;
  }
  const bool writes = same == unchanged::is_written || same == unchanged::not_read || after != before;
  m.atomic(p, size,
           same == unchanged::not_read ? atomic_kind::store
           : writes                    ? atomic_kind::update
                                       : atomic_kind::load,
           static_cast<checker_detail::order>(how), reach, self.code, reads || !unwritten,
           same == unchanged::is_written && overwrites(change, with, before, size));
  if (!there) return 0;
  std::memcpy(p, &after, size);
  if (after == before) {
    self.owner->loaded(self, p, before, where);  // may be a polling loop
    if (self.loads.is_waiting()) self.loads.looked_in_vain();
  } else {
    self.loads.something_else();
    self.owner->note_write();
    kept.back |= p == kept.word && after == kept.expected;
    count_in_ticket(p, size, before, after, self.code);
  }
  if (unwritten && !reads) return undefined_result(p, size, after, self.code);
  return before;
}
}  // namespace antiphase::plain
