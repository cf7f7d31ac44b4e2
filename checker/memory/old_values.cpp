// SPDX-License-Identifier: Apache-2.0
#include "old_values.hpp"

#include <algorithm>

namespace antiphase::checker_detail {

void old_values::reset() {
  writes_.clear();
  total_fences_.clear();
  lent_.destination = nullptr;
}

// The cell tells of the write, and of nothing after it.
static bool is_last(const cell& c, const atomic_write& w) {
  return c.state == cell_state::written && c.strength != 0 && c.block == w.block && c.writer == w.writer &&
         c.time == w.time && c.place == w.place;
}

void old_values::write(thread_model& t, const atomic_operation& o, const void* value, std::size_t bytes,
                       const cell& before, place_number at, const atomic_order::state& released) {
  if (bytes > sizeof(std::uint64_t)) {
    writes_.erase(o.location);
    return;
  }
  std::vector<atomic_write>& all = writes_[o.location];
  if (!all.empty() && (all.back().bytes != bytes || !is_last(before, all.back()))) all.clear();
  if (all.size() == most) all.erase(all.begin());
  atomic_write& w = all.emplace_back(atomic_write{.number = ++number_,
                                                  .bytes = static_cast<std::uint32_t>(bytes),
                                                  .was_written = before.has_writer(),
                                                  .updates = o.reads(),
                                                  .reach = o.reach,
                                                  .block = t.block,
                                                  .writer = t.as_actor(),
                                                  .time = *t.time,
                                                  .place = at,
                                                  .released_before = {}});
  std::memcpy(&w.before, value, bytes);
  if (!enabled) return;
  w.released_before = released;
  t.seen[o.location] = w.number;
}

std::span<const atomic_write> old_values::latest(std::uintptr_t location, const cell& c) const {
  const auto found = writes_.find(location);
  if (found == writes_.end() || found->second.empty() || !is_last(c, found->second.back())) return {};
  return found->second;
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
  if (!enabled) return;
  if (const auto last = writes_.find(location); last != writes_.end() && !last->second.empty())
    t.seen[location] = last->second.back().number;
}

bool old_values::may_miss(const thread_model& t, std::uintptr_t location, const atomic_write& w,
                          scope reach) const {
  if (w.block == t.block && w.writer == t.as_actor()) return false;
  if (!clocks_.strong(w.reach, w.block, reach, t.block) || clocks_.knows(t, w.block, w.writer, w.time))
    return false;
  if (const view* v = t.heard != nullptr && w.block != t.block ? t.heard->of(w.block) : nullptr;
      v != nullptr && w.time <= v->of_thread(w.writer))
    return false;
  if (const auto seen = t.seen.find(location); seen != t.seen.end() && seen->second >= w.number) return false;
  // Two fence.sc whose scopes include both threads are ordered: after the later one, everything before the
  // earlier one is seen.
  const std::size_t together = w.block == t.block ? 0 : clocks_.one_cluster(w.block, t.block) ? 1 : 2;
  const auto fenced_behind = [&](std::uint64_t key) {
    const auto f = total_fences_.find(key);
    return f != total_fences_.end() && f->second[together] > w.number;
  };
  return !fenced_behind(key_of(w.block, w.writer)) || !fenced_behind(key_of(t.block, t.as_actor()));
}

const atomic_write* old_values::unseen(thread_model& t, std::uintptr_t location, std::size_t bytes,
                                       const cell& c, scope reach, change_of change, const void* with) {
  const auto found = writes_.find(location);
  if (found == writes_.end()) return nullptr;
  const std::vector<atomic_write>& all = found->second;
  if (all.empty() || all.back().bytes != bytes || !is_last(c, all.back())) return nullptr;
  // An update whose value stays may have been there before the write. If that is an update too, it has read
  // what this one then wrote, with all that this thread has released.
  const bool releases = std::ranges::any_of(t.released, [](const auto& k) { return k != nullptr; });
  const auto fits = [&](const atomic_write& w) {
    return change == nullptr || (change(w.before, with) == w.before && !(w.updates && releases));
  };
  std::vector<const atomic_write*> may;
  for (auto w = all.rbegin(); w != all.rend() && may_miss(t, location, *w, reach); ++w)
    if (fits(*w)) may.push_back(&*w);
  if (may.empty()) return nullptr;
  t.seen[location] = all.back().number;
  const std::size_t draw = (seed + all.back().number) % (2 * may.size());
  return may[draw < may.size() ? draw : may.size() - 1];
}

void old_values::lend(const void* p, std::size_t bytes, std::uint64_t old) {
  lent_ = {.destination = const_cast<void*>(p), .bytes = bytes, .value = 0};
  std::memcpy(&lent_.value, p, bytes);
  std::memcpy(lent_.destination, &old, bytes);
}

}  // namespace antiphase::checker_detail
