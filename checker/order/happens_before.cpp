// SPDX-License-Identifier: Apache-2.0
#include "happens_before.hpp"

#include <algorithm>

#include "event_log.hpp"

namespace antiphase::checker_detail {

void own_actor::wait(int groups_left) {
  stamp done = closed;
  auto part = parts.rbegin();
  for (int left = groups_left; done > 0; --done) {
    if (part != parts.rend() && *part == done)
      ++part;
    else if (left-- == 0)
      break;
  }
  waited = std::max(waited, done);
  std::erase_if(parts, [&](stamp p) { return p <= waited; });
}

void happens_before::reset() {
  for (auto& b : alive_) idle_.push_back(std::move(b));
  alive_.clear();
  blocks_.assign(1, {});
  host_known_ = host_heard_ = nullptr;
  last_join_ = {};
  log = nullptr;
}

void happens_before::write_down(const thread_model& t, const char* what, copy_group in) const {
  if (log != nullptr) log->order({t.block, t.index}, event_kind::order, what, in);
}
void happens_before::write_down_wait(const thread_model& t, const char* what, copy_group done) const {
  if (log != nullptr) log->order({t.block, t.index}, event_kind::wait, what, done);
}

// blocks
// -----------------------------------------------------------------------------------------------------------

block_number happens_before::add_block(block_record of) {
  blocks_.push_back(std::move(of));
  return next_block() - 1;
}

thread_model happens_before::lone_thread() {
  static stamp time = 1;
  thread_model t;
  t.block = add_block({.index = {}, .threads = 1, .is_stream_work = true, .actors = {}});
  t.first_visible = launches_.first_visible();
  t.lane = 1;
  t.time = &time;
  learn(t, knowledge_of(t.block, make<view>()));
  return t;
}

block_model* happens_before::begin_block(const block_record& of) {
  std::unique_ptr<block_model> b;
  if (!idle_.empty()) {
    b = std::move(idle_.back());
    idle_.pop_back();
  } else {
    b = std::make_unique<block_model>();
  }
  b->number = add_block(of);
  const auto warps = static_cast<std::size_t>((of.threads + 31) / 32);
  b->times.assign(warps, 1);
  b->times.resize(2 * warps);
  b->threads.clear();
  b->threads.resize(static_cast<std::size_t>(of.threads));
  const knowledge_ptr start = knowledge_of(b->number, make<view>());
  for (int i = 0; i < of.threads; ++i) {
    thread_model& t = b->threads[static_cast<std::size_t>(i)];
    t.block = b->number;
    t.warp = static_cast<std::uint16_t>(i / 32);
    t.lane = 1u << i % 32;
    t.time = &b->times[static_cast<std::size_t>(i / 32)];
    t.loads_done = t.time + warps;
    t.first_visible = launches_.first_visible();
    t.index = i;
    t.block_threads = of.threads;
    t.shared_low = of.lowest;
    t.shared_high = of.highest;
    learn(t, start);
  }
  if (log != nullptr) log->begin_block(b->number, of.index, of.threads);
  alive_.push_back(std::move(b));
  return alive_.back().get();
}

void happens_before::end_block(block_model& b) {
  block(b.number).ended = true;
  if (log != nullptr) log->end_block(b.number);
  const auto at = std::ranges::find(alive_, &b, &std::unique_ptr<block_model>::get);
  idle_.push_back(std::move(*at));
  alive_.erase(at);
}

void happens_before::end_launch() {
  for (auto& b : alive_) idle_.push_back(std::move(b));
  alive_.clear();
}

block_number happens_before::owner_of(block_number of_cluster, std::size_t offset, std::size_t bytes) const {
  for (const auto& b : alive_)
    if (const block_record& r = blocks_[b->number];
        one_cluster(b->number, of_cluster) && offset >= r.lowest && offset + bytes <= r.highest)
      return b->number;
  return 0;
}
block_number happens_before::past_owner_of(block_number of_cluster, std::size_t offset) const {
  for (block_number b = next_block() - 1; b > 0; --b)
    if (const block_record& r = blocks_[b];
        r.ended && one_cluster(b, of_cluster) && offset >= r.lowest && offset < r.highest)
      return b;
  return 0;
}

// queries
// -----------------------------------------------------------------------------------------------------------

void happens_before::learn(thread_model& t, knowledge_ptr known) {
  t.floor = known->own->floor;
  t.known = std::move(known);
}

void happens_before::learn_also(thread_model& t, by_reach knowledge::*what, std::size_t by,
                                const knowledge_ptr& more) {
  const knowledge_ptr& known = ((*t.known).*what)[by];
  const knowledge_ptr all = join(known, more, t.block);
  if (all == known) return;
  const auto k = make<knowledge>(*t.known);
  ((*k).*what)[by] = all;
  learn(t, k);
}

void happens_before::learn_over(thread_model& t, const knowledge_ptr& of) {
  const auto alone = make<knowledge>(*of);
  alone->passed = alone->seen = {};
  alone->over = nullptr;
  const auto k = make<knowledge>(*t.known);
  k->over = join(join(t.known->over, alone, t.block), of->over, t.block);
  learn(t, k);
}

bool happens_before::knows(const thread_model& t, block_number block, actor a, stamp time) const {
  if (block < launches_.first_visible()) return true;
  if (block < launches_.first()) {
    if (launches_.known(block)) return true;
    if (launches_.previous() == 0) return false;
    if (has_waited(t) && launches_.ordered(block)) return true;
  }
  const block_record& r = blocks_[block];
  const bool is_thread = a < r.threads;
  if (block == t.block) {
    if (is_thread) return a == t.index || time <= t.known->own->of_thread(a);
    for (const own_actor* mine :
         {&t.copies, &t.stores_read, &t.stores_written, &t.matrix, &t.tensor[0], &t.tensor[1], &t.tensor[2]})
      if (mine->number == a && time <= mine->waited) return true;
  }
  const view* v = t.known->of(block);
  if (v == nullptr) return false;
  return is_thread ? time <= v->of_thread(a) : time <= v->of_copies(static_cast<std::size_t>(a - r.threads));
}

bool happens_before::knows_over(const thread_model& t, block_number block, actor a, stamp time) const {
  if (knows(t, block, a, time)) return true;
  const view* v = t.known->over != nullptr ? t.known->over->of(block) : nullptr;
  const int threads = blocks_[block].threads;
  return v != nullptr &&
         time <= (a < threads ? v->of_thread(a) : v->of_copies(static_cast<std::size_t>(a - threads)));
}

bool happens_before::has_heard(const thread_model& t, block_number block, actor a, stamp time) const {
  const auto covers = [&](const knowledge_ptr& k) {
    const view* v = k != nullptr ? k->of(block) : nullptr;
    return v != nullptr && a < blocks_[block].threads && time <= v->of_thread(a);
  };
  return covers(t.heard) || std::ranges::any_of(t.acquirable, covers) ||
         std::ranges::any_of(t.known->seen, covers);
}

bool happens_before::knows_fenced(const thread_model& t, space in, block_number block, actor a,
                                  stamp time) const {
  if (block < launches_.first() &&
      (launches_.previous() == 0 || launches_.known(block) || (has_waited(t) && launches_.ordered(block))))
    return true;
  const block_record& r = blocks_[block];
  const bool is_thread = a < r.threads;
  const proxy_fenced& own = t.fenced[in];
  if (block == t.block && own.known != nullptr) {
    if (is_thread && a == t.index && time <= own.time) return true;
    if (a == t.copies.number && time <= own.copies) return true;
  }
  for (const knowledge* k : {own.known.get(), t.known->fenced[in].get()}) {
    const view* v = k != nullptr ? k->of(block) : nullptr;
    if (v != nullptr &&
        time <= (is_thread ? v->of_thread(a) : v->of_copies(static_cast<std::size_t>(a - r.threads))))
      return true;
  }
  return false;
}

// True if `t` may access shared memory of another block of its cluster: they are all resident, but begin one
// after the other. Having learned anything from a thread of that block is enough. So is one cluster barrier
// that a thread of the own block has waited at, or a phase of an mbarrier in which one of the other block has
// arrived, even if these arrivals released nothing.
bool happens_before::has_begun(const thread_model& t, block_number other) const {
  const block_record& own = blocks_[t.block];
  return own.met != 0 || t.known->of(other) != nullptr ||
         std::ranges::find(own.begun, other) != own.begun.end();
}

// Atomic operations at the same address do not race if the scope of each includes the other.
bool happens_before::strong(scope a, block_number block_a, scope b, block_number block_b) const {
  if (a == scope{} || b == scope{}) return false;
  const scope narrower = std::min(a, b);
  if (block_a == block_b || narrower >= scope::device) return true;
  return narrower == scope::cluster && one_cluster(block_a, block_b);
}

bool happens_before::host_acquired(block_number block, actor a, stamp time) const {
  return covers(host_known_, block, a, time);
}
bool happens_before::covers(const knowledge_ptr& k, block_number block, actor a, stamp time) const {
  const view* v = k != nullptr ? k->of(block) : nullptr;
  const int threads = blocks_[block].threads;
  return v != nullptr &&
         time <= (a < threads ? v->of_thread(a) : v->of_copies(static_cast<std::size_t>(a - threads)));
}

// synchronisation
// -----------------------------------------------------------------------------------------------------------

namespace {

void raise(std::vector<stamp>& to, std::size_t at, stamp value) {
  if (value == 0) return;
  if (to.size() <= at) to.resize(at + 1);
  to[at] = std::max(to[at], value);
}

// Raises the entries of a thread's own asynchronous actors to what it has waited for: others learn that only
// from it.
void raise_own(view& v, const thread_model& t) {
  for (const own_actor* a :
       {&t.copies, &t.stores_read, &t.stores_written, &t.matrix, &t.tensor[0], &t.tensor[1], &t.tensor[2]})
    if (a->number != 0) raise(v.copies, static_cast<std::size_t>(a->number - t.block_threads), a->waited);
}

void set_thread(view& v, const thread_model& t, stamp time) {
  v.threads.resize(static_cast<std::size_t>(t.block_threads));
  v.threads[static_cast<std::size_t>(t.index)] = time;
}

// Knowledge that a thread's own last proxy fence covers; null: no fence yet.
knowledge_ptr fenced_by(const thread_model& t, space in) {
  const proxy_fenced& own = t.fenced[in];
  if (own.known == nullptr) return nullptr;
  const auto v = make<view>(*own.known->own);
  set_thread(*v, t, own.time);
  if (t.copies.number != 0)
    raise(v->copies, static_cast<std::size_t>(t.copies.number - t.block_threads), own.copies);
  const auto k = knowledge_of(t.block, v);
  k->others = own.known->others;
  return k;
}

// The same of several threads of one block, joined.
knowledge_ptr fenced_together(std::span<thread_model* const> threads, space in) {
  knowledge_ptr fences;
  const knowledge* last = nullptr;
  const block_number block = threads.front()->block;
  for (const thread_model* t : threads) {
    const knowledge_ptr& known = t->fenced[in].known;
    if (known != nullptr && known.get() != last) fences = join(fences, known, block);
    if (known != nullptr) last = known.get();
  }
  const auto v = make<view>(*fences->own);
  for (const thread_model* t : threads) {
    const proxy_fenced& own = t->fenced[in];
    if (own.known == nullptr) continue;
    raise(v->threads, static_cast<std::size_t>(t->index), own.time);  // another's fence may reach further
    if (t->copies.number != 0)
      raise(v->copies, static_cast<std::size_t>(t->copies.number - t->block_threads), own.copies);
  }
  const auto passed = knowledge_of(block, v);
  passed->others = fences->others;
  return passed;
}

}  // namespace

knowledge_ptr happens_before::joined(const knowledge_ptr& a, const knowledge_ptr& b, block_number block) {
  if (a == b || b == nullptr) return a;
  if (last_join_.a == a && last_join_.b == b) return last_join_.both;
  last_join_ = {a, b, join(a, b, block)};
  return last_join_.both;
}

knowledge_ptr happens_before::publish(thread_model& t) {
  const auto v = make<view>(*t.known->own);
  set_thread(*v, t, *t.time);
  raise_own(*v, t);
  const auto k = make<knowledge>(*t.known);
  k->own = v;
  for (const space s : all_spaces) k->fenced[s] = join(t.known->fenced[s], fenced_by(t, s), t.block);
  if (t.loads_done != nullptr) *t.loads_done = *t.time;
  ++*t.time;  // later accesses are not part of this release
  return k;
}

knowledge_ptr happens_before::so_far(thread_model& t) {
  const auto v = make<view>(*t.known->own);
  // Its time does not go on: by it, lockstep_watch tells what threads have done since they met.
  set_thread(*v, t, *t.time);
  const auto k = knowledge_of(t.block, v);
  k->others = t.known->others;
  return k;
}

void happens_before::release(thread_model& t, knowledge_ptr& into, const char* what) {
  if (what != nullptr) write_down(t, what);
  // `into` may be the cluster's or another block's
  block(t.block).published |= block(t.block).cluster != 0;
  into = join(into, publish(t), into != nullptr ? into->block : t.block);
}
void happens_before::acquire(thread_model& t, const knowledge_ptr& from, const char* what) {
  if (what != nullptr) write_down_wait(t, what);
  if (from != nullptr) learn(t, joined(t.known, from, t.block));
}

bool happens_before::has_waited(const thread_model& t) const {
  return launches_.previous() == 0 || t.known->of(launches_.previous()) != nullptr;
}
void happens_before::wait_for_launch(thread_model& t) {
  if (launches_.previous() != 0) acquire(t, knowledge_of(launches_.previous(), make<view>()));
}

void happens_before::proxy_fence(thread_model& t, std::initializer_list<space> of) {
  write_down(t, "proxy fence");
  for (const space s : of) t.fenced[s] = {t.known, *t.time, t.copies.waited};
  ++*t.time;
}

void happens_before::meet_in_cluster(std::span<thread_model* const> threads) {
  knowledge_ptr all;
  for (thread_model* t : threads) {
    block(t->block).published = true;
    all = all == nullptr ? publish(*t) : join(all, publish(*t), all->block);
  }
  for (thread_model* t : threads) acquire(*t, all);
}

// A barrier does not pass on what threads did that have already ended. CUDA guarantees visibility between
// participants, and PTX orders the participants only. So a word written just before its thread returns races
// with a read after the barrier, although most GPUs would deliver it. The end of the launch orders
// everything.
void happens_before::meet(std::span<thread_model* const> threads, meeting of) {
  const bool whole_block = of == meeting::of_block;
  if (log != nullptr) {
    std::vector<event_log::who> all;
    for (const thread_model* t : threads) all.push_back({t->block, t->index});
    log->met(all, whole_block ? "block barrier" : "meets others of its warp");
  }
  const block_number block = threads.front()->block;
  const auto is_of_other = [&](const thread_model* t) { return t->block != block; };
  if (blocks_[block].cluster != 0 && std::ranges::any_of(threads, is_of_other))
    return meet_in_cluster(threads);
  knowledge_ptr known = threads.front()->known;
  const knowledge* last_known = known.get();
  by_space<bool> fenced{};
  for (const thread_model* t : threads) {
    if (t->known.get() != last_known) known = joined(known, t->known, block);
    last_known = t->known.get();
    for (const space s : all_spaces) fenced[s] |= t->fenced[s].known != nullptr;
  }
  const bool everybody = whole_block && static_cast<int>(threads.size()) == threads.front()->block_threads;
  const auto v = make<view>();
  v->floor = known->own->floor;
  v->copies = known->own->copies;
  if (!everybody) v->threads = known->own->threads;
  stamp latest = v->floor;
  for (const thread_model* t : threads) {
    latest = std::max(latest, *t->time);
    if (everybody)
      v->floor = std::max(v->floor, *t->time);
    else
      set_thread(*v, *t, *t->time);
    raise_own(*v, *t);
  }
  const auto shared = make<knowledge>(*known);
  shared->own = v;
  for (const space s : all_spaces)
    if (fenced[s]) shared->fenced[s] = join(shared->fenced[s], fenced_together(threads, s), block);
  stamp* advanced = nullptr;
  const bool several_warps = threads.front()->warp != threads.back()->warp;
  for (thread_model* t : threads) {
    learn(*t, shared);
    t->fenced = {};  // included in `shared`
    t->barriers += whole_block;
    if (whole_block) {
      *t->loads_done = latest;
      *t->time = latest + 1;
    } else if (t->time != advanced) {
      advanced = t->time;
      if (several_warps) *t->loads_done = *advanced;
      ++*advanced;
    }
  }
}

// asynchronous actors
// -----------------------------------------------------------------------------------------------------------

actor happens_before::add_actor(block_number of, actor_record a) {
  block_record& r = block(of);
  r.actors.push_back(a);
  return static_cast<actor>(r.threads + static_cast<int>(r.actors.size()) - 1);
}

stamp happens_before::open_group(thread_model& t, own_actor& a, actor_kind kind, place_number at) {
  if (a.number == 0) a.number = add_actor(t.block, {kind, t.index});
  a.last_used = a.closed + 1;
  a.last_place = at;
  return a.last_used;
}

knowledge_ptr happens_before::landed(block_number block, actor number, stamp time) const {
  const auto v = make<view>();
  raise(v->copies, static_cast<std::size_t>(number - blocks_[block].threads), time);
  return knowledge_of(block, v);
}

}  // namespace antiphase::checker_detail
