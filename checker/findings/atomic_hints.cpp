// SPDX-License-Identifier: Apache-2.0
#include "atomic_hints.hpp"

#include <utility>

#include "checker/order/missing.hpp"

namespace antiphase::checker_detail {

void atomic_hints::reset() {
  begin_launch();
  seqlocks_.clear();
}
void atomic_hints::begin_launch() {
  threads_.clear();
  stores_.clear();
  left_ = most;
}

void atomic_hints::looks_at(const thread_model& t, std::uintptr_t location, place_number at) {
  of_thread& own = threads_[key_of(t)];
  if (const auto finding = std::exchange(own.unordered, {});
      finding && own.last_read == location && own.last_place != at)
    seqlocks_.push_back(*finding);
  own.last_read = location;
  own.last_place = at;
}

void atomic_hints::reads(thread_model& t, const atomic_operation& o, place_number at) {
  looks_at(t, o.location, at);
  if (const auto last = stores_.find(o.location); last != stores_.end() && last->second.by != key_of(t))
    t.hinted = join(t.hinted, last->second.known, t.block);
}

void atomic_hints::writes(thread_model& t, const atomic_operation& o, bool overwrites) {
  threads_[key_of(t)].writes_unfenced = true;
  if (o.reads() && !overwrites) return;  // it goes on with what the store before has told
  stores_.erase(o.location);
  if (left_ == 0) return;
  --left_;
  stores_[o.location] = {key_of(t), join(clocks_.so_far(t), t.hinted, t.block)};
}

void atomic_hints::met(std::span<thread_model* const> threads) {
  const block_number block = threads.front()->block;
  knowledge_ptr all;
  for (const thread_model* t : threads) {
    if (t->block != block) return;  // a barrier of the cluster
    if (t->hinted != nullptr && t->hinted != all) all = join(all, t->hinted, block);
  }
  if (all == nullptr) return;
  for (thread_model* t : threads) t->hinted = all;
}

void atomic_hints::misses(const thread_model& t, block_number block, actor writer) {
  if (of_thread& own = threads_[key_of(t)]; own.writes_unfenced) own.missed = key_of(block, writer);
}

sentence atomic_hints::missing_at(const thread_model& t, bool heard) const {
  const auto own = threads_.find(key_of(t));
  return heard                                                  ? sentence::read_fence
         : own != threads_.end() && own->second.writes_unfenced ? sentence::total_fence
                                                                : sentence::unseen_write;
}

sentence atomic_hints::missing_between(const thread_model& t, block_number other, actor a, stamp time) const {
  const view* v = t.hinted != nullptr ? t.hinted->of(other) : nullptr;
  if (v != nullptr && a < clocks_.block(other).threads && time <= v->of_thread(a))
    return sentence::relaxed_meeting;
  const auto has_missed = [&](std::uint64_t one, std::uint64_t another) {
    const auto at = threads_.find(one);
    return at != threads_.end() && at->second.missed == another;
  };
  const std::uint64_t mine = key_of(t), theirs = key_of(other, a);
  return has_missed(mine, theirs) || has_missed(theirs, mine) ? sentence::total_fence : sentence::none;
}

void atomic_hints::reads_unordered(block_number block, actor thread, std::size_t finding) {
  if (of_thread& own = threads_[key_of(block, thread)]; own.last_read != 0) own.unordered = finding;
}

}  // namespace antiphase::checker_detail
