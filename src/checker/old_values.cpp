// SPDX-License-Identifier: Apache-2.0
#include "old_values.hpp"

#include <algorithm>

namespace antiphase::checker_detail {

void old_values::reset() {
  writes_.clear();
  total_fences_.clear();
  lent_.to = nullptr;
}

void old_values::write(thread_model& t, const atomic_operation& o, const void* value, std::size_t bytes,
                       const cell& before, place_number at, const atomic_order::state& released) {
  if (!on) return;
  if (bytes > sizeof(std::uint64_t)) {
    writes_.erase(o.location);
    return;
  }
  atomic_write& w = writes_[o.location];
  w = {.number = ++number_,
       .bytes = static_cast<std::uint32_t>(bytes),
       .was_written = before.has_writer(),
       .block = t.block,
       .writer = t.as_actor(),
       .time = *t.time,
       .at = at,
       .released_before = released};
  std::memcpy(&w.before, value, bytes);
  t.seen[o.location] = w.number;
}

void old_values::fence(const thread_model& t, scope reach) {
  std::fill_n(total_fences_[key_of(t.block, t.as_actor())].begin(), circles_of(reach), ++number_);
}

void old_values::met(std::span<thread_model* const> threads) {
  const block_number block = threads.front()->block;
  knowledge_ptr heard;
  for (const thread_model* t : threads) {
    if (t->block != block) return;  // a barrier of the cluster
    for (const knowledge_ptr& of : {t->heard, t->acquirable[circles_of(scope::device) - 1]})
      if (of != nullptr && of != heard) heard = join(heard, of, block);
  }
  if (heard == nullptr) return;
  for (thread_model* t : threads) t->heard = heard;
}

void old_values::read(thread_model& t, std::uintptr_t location) {
  if (!on) return;
  if (const auto last = writes_.find(location); last != writes_.end()) t.seen[location] = last->second.number;
}

const atomic_write* old_values::unseen(thread_model& t, std::uintptr_t location, std::size_t bytes,
                                       const cell& c, scope reach) {
  const auto last = writes_.find(location);
  if (last == writes_.end() || last->second.bytes != bytes) return nullptr;
  const atomic_write& w = last->second;
  const bool still_last = c.state == cell_state::written && c.strength != 0 && c.block == w.block &&
                          c.writer == w.writer && c.time == w.time && c.place == w.at;
  if (!still_last || (c.block == t.block && c.writer == t.index)) return nullptr;
  if (!clocks_.strong(reach_of(c.strength), c.block, reach, t.block) ||
      clocks_.knows(t, c.block, c.writer, c.time))
    return nullptr;
  if (const view* v = t.heard != nullptr && c.block != t.block ? t.heard->of(c.block) : nullptr;
      v != nullptr && c.time <= v->of_thread(c.writer))
    return nullptr;
  std::uint64_t& seen = t.seen[location];
  if (seen >= w.number) return nullptr;
  // Two fence.sc whose scopes include both threads are ordered: after the later one, everything before the
  // earlier one is seen.
  const std::size_t together = c.block == t.block ? 0 : clocks_.one_cluster(c.block, t.block) ? 1 : 2;
  const auto fenced_behind = [&](std::uint64_t key) {
    const auto f = total_fences_.find(key);
    return f != total_fences_.end() && f->second[together] > w.number;
  };
  if (fenced_behind(key_of(c.block, c.writer)) && fenced_behind(key_of(t.block, t.as_actor())))
    return nullptr;
  seen = w.number;
  return &w;
}

void old_values::lend(const void* p, std::size_t bytes, std::uint64_t old) {
  lent_ = {.to = const_cast<void*>(p), .bytes = bytes, .value = 0};
  std::memcpy(&lent_.value, p, bytes);
  std::memcpy(lent_.to, &old, bytes);
}

}  // namespace antiphase::checker_detail
