// SPDX-License-Identifier: Apache-2.0
// Loads that bring old values. Accesses happen one after the other here; on a GPU, an atomic or volatile write may stay unseen for a while
// by a thread that nothing has told of it: no fence, release and acquire, or barrier lies between the two (PTX ISA, memory consistency
// model, causality and coherence). Such a load may bring what stood there before, until the thread has seen the write once. Not so behind a
// barrier with a thread that has read what a fence published, whether or not it has a fence of its own: the example of __threadfence() in
// the CUDA guide has none.
#include <cstring>

#include "accessor.hpp"

namespace antiphase::checker_detail {

// An atomic write is about to happen.
void model::note_write(thread_model& t, std::uintptr_t location, const void* value, std::size_t bytes, place_number at) {
  const std::size_t offset = location - memory_.lowest();
  const cell& before = memory_.byte(offset);
  if (bytes > sizeof(std::uint64_t)) {
    atomic_writes_.erase(location);
    return;
  }
  const bool was_written = before.state == cell_state::written || before.state == cell_state::copied;
  atomic_write& w = atomic_writes_[location];
  w = {.before = 0,
       .number = ++atomic_number_,
       .bytes = static_cast<std::uint32_t>(bytes),
       .was_written = was_written,
       .block = t.block,
       .writer = static_cast<actor>(t.index),
       .time = *t.time,
       .at = at,
       .released_before = {}};
  std::memcpy(&w.before, value, bytes);
  t.seen[location] = w.number;
}

bool model::brings_old(const void* p, std::size_t bytes, order how, const void* code, std::uint64_t& old) {
  if (!late_writes || how == order::total || !is_followed(p, bytes)) return false;
  thread_model& t = *current_;
  const void* const there = followed(p);
  const auto location = reinterpret_cast<std::uintptr_t>(there);
  const auto last = atomic_writes_.find(location);
  if (last == atomic_writes_.end() || last->second.bytes != bytes) return false;
  const atomic_write& written = last->second;
  const cell& c = memory_.byte(location - memory_.lowest());
  const bool still_last = c.state == cell_state::written && c.scope != 0 && c.block == written.block && c.writer == written.writer &&
                          c.time == written.time && c.place == written.at;
  if (!still_last || (c.block == t.block && c.writer == t.index)) return false;
  const scope reach = machine::next_scope;
  if (!strong(static_cast<scope>(c.scope), c.block, reach, t.block) || knows(t, c.block, c.writer, c.time)) return false;
  if (const view* v = t.heard != nullptr && c.block != t.block ? t.heard->of(c.block) : nullptr;
      v != nullptr && c.time <= v->of_thread(c.writer))
    return false;
  std::uint64_t& seen = t.seen[location];
  if (seen >= written.number) return false;
  // Two fences of sequential consistency whose scopes include both threads are ordered: behind the later one, all is seen that came before
  // the earlier one.
  const std::uint32_t cluster = blocks_[t.block].cluster;
  const std::size_t together = c.block == t.block ? 0 : cluster != 0 && cluster == blocks_[c.block].cluster ? 1 : 2;
  const auto fenced_behind = [&](std::uint64_t key) {
    const auto f = total_fences_.find(key);
    return f != total_fences_.end() && f->second[together] > written.number;
  };
  if (fenced_behind(key_of(c.block, c.writer)) && fenced_behind(key_of(t.block, static_cast<actor>(t.index)))) return false;
  seen = written.number;
  accessor w{.thread = t, .kind = access_kind::read, .place = number_of_code(code), .bytes = bytes, .reach = reach};
  if (!written.was_written) {
    if (!forgiving_ || location - memory_.lowest() < shadow::shared_bytes)
      report(w, finding_kind::uninitialised, location - memory_.lowest(), &c, nullptr,
             "what tells this thread of the write, which it may not have seen yet: a fence or release there, a fence or acquire here");
    return false;
  }
  machine::next_scope = scope::device;
  old = written.before;
  take_in(t, location, atomic_state(written.released_before), reach, how == order::acquire || how == order::both);
  if (!brought_old_) brought_old_ = {.load = side_of(w), .write = side_of_write(c), .at = w.place, .written_at = c.place};
  visit(w, p, bytes);
  return true;
}

void model::lend_old(const void* p, std::size_t bytes, std::uint64_t old) {
  lent_ = {.to = const_cast<void*>(p), .bytes = bytes, .value = 0};
  std::memcpy(&lent_.value, p, bytes);
  std::memcpy(lent_.to, &old, bytes);
}

}  // namespace antiphase::checker_detail
