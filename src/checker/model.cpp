// SPDX-License-Identifier: Apache-2.0
// Who knows of whom: threads, barriers, copies.
#include "model.hpp"

#include <algorithm>
#include <cstring>

#include "accessor.hpp"

namespace antiphase::checker_detail {

thread_local constinit model* active = nullptr;

model::model() { reset(); }

// runs, launches, blocks ------------------------------------------------------------------------------------------------------------

void model::reset() {
  memory_.reset();
  current_ = nullptr;
  for (auto& b : alive_) idle_.push_back(std::move(b));
  alive_.clear();
  blocks_.assign(1, {});
  launch_first_ = first_visible_ = first_pending_ = 1;
  launch_stream_ = nullptr;
  unordered_.clear();
  pending_.clear();
  unsynchronised_.clear();
  host_known_ = nullptr;
  ordered_.clear();
  apart_.clear();
  variables_low_ = variables_high_ = 0;
  shared_by_variables_ = forgiving_ = misled_ = misled_before_ = false;
  host_touches = nullptr;
  notes_.clear();
  shared_place = nullptr;
  variable_name = nullptr;
  host_place = {};
  chain_.clear();
  barriers_.clear();
  atomics_.clear();
  atomic_writes_.clear();
  total_fences_.clear();
  updates_.clear();
  brought_old_.reset();
  lent_.to = nullptr;
  entries_.clear();
  findings_.clear();
  accesses_ = effort_ = most_effort = 0;
  schedule_begins = nullptr;
  last_join_ = {};
  log.reset();
}

void model::begin_launch(const char* kernel, const void* params, std::size_t params_bytes, stream on, bool overlaps_previous) {
  if (log) log->begin_launch();
  kernel_ = kernel;
  misled_before_ = misled_;  // what such a thread wrote may mislead whoever comes
  params_low_ = reinterpret_cast<std::uintptr_t>(params);
  params_high_ = params_low_ + params_bytes;
  launch_stream_ = on;
  launch_first_ = first_visible_ = static_cast<block_number>(blocks_.size());
  first_pending_ = pending_.empty() ? launch_first_ : pending_.front().first;
  unordered_.clear();
  for (const past_launch& p : pending_)
    if (!in_order(on, p.on) && std::find(ordered_.begin(), ordered_.end(), std::pair(on, p.first)) == ordered_.end()) {
      unordered_.push_back(p);
      first_visible_ = std::min(first_visible_, p.first);
    }
  if (!overlaps_previous) std::erase_if(chain_, [&](const past_launch& p) { return on == nullptr || p.on == on; });
  if (!chain_.empty()) first_pending_ = std::min(first_pending_, chain_.front().first);
  before_ = 0;
  if (overlaps_previous) {
    for (const past_launch& p : chain_)
      if (p.on == on) first_visible_ = std::min(first_visible_, p.first);
    before_ = launch_first_;
    blocks_.emplace_back();
  }
  atomics_.clear();
  lane_reads_.clear();
  too_early_.clear();
}

void model::end_launch() {
  if (launch_stream_ == nullptr)  // whatever comes next comes after this, and this came after all of them
    std::erase_if(pending_, [&](const past_launch& p) { return in_order(p.on, nullptr); });
  if (launch_stream_ != nullptr || !apart_.empty())
    pending_.push_back({launch_first_, static_cast<block_number>(blocks_.size()), launch_stream_});
  unsynchronised_.push_back({launch_first_, static_cast<block_number>(blocks_.size()), launch_stream_});
  chain_.push_back({launch_first_, static_cast<block_number>(blocks_.size()), launch_stream_});
  for (auto& b : alive_) idle_.push_back(std::move(b));  // of a launch that failed
  alive_.clear();
  barriers_.clear();
}

void model::synchronize(stream on) {
  for (launches* of : {&pending_, &chain_, &unsynchronised_})
    std::erase_if(*of, [&](const past_launch& p) { return on == nullptr || p.on == on; });
}

void model::synchronize_default() {
  for (launches* of : {&pending_, &chain_, &unsynchronised_})
    std::erase_if(*of, [&](const past_launch& p) { return in_order(p.on, nullptr); });
}

bool model::ordered_launch(block_number b) const {
  return std::none_of(unordered_.begin(), unordered_.end(), [&](const past_launch& p) { return b >= p.first && b < p.last; });
}

bool model::overlapped_launch(block_number b) const {
  return before_ != 0 && std::any_of(chain_.begin(), chain_.end(),
                                     [&](const past_launch& p) { return p.on == launch_stream_ && b >= p.first && b < p.last; });
}

void model::cluster_met(thread_model& t) { record(t.block).met = std::max(record(t.block).met, ++t.met); }

// fence.mbarrier_init.release.cluster, then an arrival that need not release: what the PTX ISA has that fence for. Only of the mbarriers
// that the thread has initialised is anything told.
void model::arrive_in_cluster(thread_model& t) {
  const block_record& r = record(t.block);
  for (auto i = barriers_.lower_bound(r.lowest); i != barriers_.lower_bound(r.highest); ++i)
    if (mbarrier_model& b = i->second; b.initialised_by == t.index && b.init_fenced && b.told == 0) b.told = t.met + 1;
}
bool model::told_of(const thread_model& t, const mbarrier_model& b, const void* word) const {
  const auto offset = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(word) - memory_.lowest());
  const block_record& own = blocks_[t.block];
  const bool of_other = offset < own.lowest || offset >= own.highest;
  return of_other && b.told != 0 && own.met >= b.told && owner_of(t.block, offset, sizeof(std::uint64_t)) != 0;
}

block_model* model::begin_block(extent3 index, int threads, unsigned char* shared, std::size_t shared_bytes, std::uint32_t cluster) {
  std::unique_ptr<block_model> b;
  if (!idle_.empty()) {
    b = std::move(idle_.back());
    idle_.pop_back();
  } else {
    b = std::make_unique<block_model>();
  }
  b->number = static_cast<block_number>(blocks_.size());
  const auto low = static_cast<std::uint32_t>(shared - memory_.shared());
  block_record& r = blocks_.emplace_back();
  r.index = index;
  r.threads = threads;
  r.cluster = cluster;
  r.lowest = low;
  r.highest = low + static_cast<std::uint32_t>(shared_bytes);
  cell fresh;
  fresh.state = shared_by_variables_ ? cell_state::nobodys : cell_state::uninitialised;
  if (shared_bytes > 0) memory_.set(shared, shared_bytes, fresh);
  b->times.assign(static_cast<std::size_t>((threads + 31) / 32), 1);
  b->threads.clear();
  b->threads.resize(static_cast<std::size_t>(threads));
  auto start = boost::intrusive_ptr<knowledge>(new knowledge);
  start->block = b->number;
  start->own = new view;
  for (int i = 0; i < threads; ++i) {
    thread_model& t = b->threads[static_cast<std::size_t>(i)];
    t.block = b->number;
    t.warp = static_cast<std::uint16_t>(i / 32);
    t.lane = 1u << i % 32;
    t.time = &b->times[static_cast<std::size_t>(i / 32)];
    t.index = i;
    t.block_threads = threads;
    t.shared_low = r.lowest;
    t.shared_high = r.highest;
    t.misled = misled_before_;
    learn(t, start);
  }
  if (log) log->begin_block(b->number, index, threads);
  alive_.push_back(std::move(b));
  return alive_.back().get();
}

void model::end_block(block_model& b) {
  report_lockstep(b.number);
  block_record& r = record(b.number);
  r.ended = true;
  if (log) log->end_block(b.number);
  const auto first = barriers_.lower_bound(r.lowest), last = barriers_.lower_bound(r.highest);
  for (auto i = first; i != last; ++i) {
    const mbarrier_model& m = i->second;
    if (m.last_load <= m.waited) continue;
    if (m.last_tracked != 0 && b.threads[static_cast<std::size_t>(m.last_thread)].copies.waited >= m.last_tracked) continue;
    left_behind(m.last_block, m.last_thread, m.last_place,
                m.last_tracked != 0 ? "asynchronous copy that nobody had waited for when its block ended"
                                    : "bulk load that nobody had waited for when its block ended",
                "a wait for the end of the mbarrier's phase that counts the copy, before the end of the block");
  }
  barriers_.erase(first, last);
  const auto at = std::find_if(alive_.begin(), alive_.end(), [&](const auto& p) { return p.get() == &b; });
  idle_.push_back(std::move(*at));
  alive_.erase(at);
}

void model::left_behind(block_number block, int thread, place_number at, const char* what, const char* missing) {
  bool fresh = false;
  found& f = entry(finding_kind::never_waited_for, at, 0, false, fresh);
  if (!fresh) return;
  f.what.access = {.action = what, .at = {}, .through = {}, .callers = {}, .block = record(block).index, .thread = thread, .when = {}};
  f.what.missing = missing;
  if (log) f.drawn = log->taken({.now = {{block, thread}, at, what}, .earlier = {}});
}

void model::end_thread(thread_model& t) {
  const auto in_flight = [](const own_actor& a) { return a.number != 0 && a.last_used > std::max(a.waited, a.tracked); };
  if (in_flight(t.copies))
    left_behind(t.block, t.index, t.copies.last_place, "asynchronous copy in flight when its thread ended",
                "copy_async_wait for its group before the end (in CUDA: __pipeline_wait_prior, cp.async.wait_group)");
  if (in_flight(t.stores_read))
    left_behind(t.block, t.index, t.stores_read.last_place, "bulk store that had not read its source when its thread ended",
                "bulk_commit and bulk_wait before the end of the thread that issued it");
}

// knowing -----------------------------------------------------------------------------------------------------------------------------

void model::learn(thread_model& t, knowledge_ptr known) {
  t.floor = known->own->floor;
  t.known = std::move(known);
}

void model::learn_also(thread_model& t, by_reach knowledge::*what, std::size_t by, const knowledge_ptr& more) {
  const knowledge_ptr& known = ((*t.known).*what)[by];
  const knowledge_ptr all = join(known, more, t.block);
  if (all == known) return;
  auto k = boost::intrusive_ptr<knowledge>(new knowledge(*t.known));
  ((*k).*what)[by] = all;
  learn(t, k);
}

bool model::knows(const thread_model& t, block_number block, actor a, stamp time) const {
  if (block < first_visible_) return true;
  if (block < launch_first_) return ordered_launch(block) && (!overlapped_launch(block) || t.known->of(before_) != nullptr);
  const block_record& r = blocks_[block];
  const bool is_thread = a < r.threads;
  if (block == t.block) {
    if (is_thread) return a == t.index || time <= t.known->own->of_thread(a);
    for (const own_actor* mine : {&t.copies, &t.stores_read, &t.stores_written, &t.matrix})
      if (mine->number == a && time <= mine->waited) return true;
  }
  const view* v = t.known->of(block);
  if (v == nullptr) return false;
  return is_thread ? time <= v->of_thread(a) : time <= v->of_copies(static_cast<std::size_t>(a - r.threads));
}

bool model::knows_fenced(const thread_model& t, space in, block_number block, actor a, stamp time) const {
  if (block < launch_first_) return true;
  const block_record& r = blocks_[block];
  const bool is_thread = a < r.threads;
  const proxy_fenced& own = t.fenced[in];
  if (block == t.block && own.known != nullptr) {
    if (is_thread && a == t.index && time <= own.time) return true;
    if (a == t.copies.number && time <= own.copies) return true;
  }
  for (const knowledge* k : {own.known.get(), t.known->fenced[in].get()}) {
    const view* v = k != nullptr ? k->of(block) : nullptr;
    if (v != nullptr && time <= (is_thread ? v->of_thread(a) : v->of_copies(static_cast<std::size_t>(a - r.threads)))) return true;
  }
  return false;
}

bool model::knows(const thread_model& t, const reader& r) const {
  if (r.by_copy()) return knows(t, r.block, r.unit, r.time);
  if (r.block < first_visible_) return true;
  if (r.block == t.block && r.time <= t.floor) return true;
  for (std::uint32_t lanes = r.lanes; lanes != 0; lanes &= lanes - 1)
    if (!knows(t, r.block, static_cast<actor>(r.unit * 32 + __builtin_ctz(lanes)), r.time)) return false;
  return true;
}

namespace {

void raise(std::vector<stamp>& to, std::size_t at, stamp value) {
  if (value == 0) return;
  if (to.size() <= at) to.resize(at + 1);
  to[at] = std::max(to[at], value);
}

// What a thread's own copies have come to, which others learn only from it.
void raise_own(view& v, const thread_model& t, int threads) {
  for (const own_actor* a : {&t.copies, &t.stores_read, &t.stores_written, &t.matrix})
    if (a->number != 0) raise(v.copies, static_cast<std::size_t>(a->number - threads), a->waited);
}

void set_thread(view& v, const thread_model& t, int threads, stamp time) {
  v.threads.resize(static_cast<std::size_t>(threads));
  v.threads[static_cast<std::size_t>(t.index)] = time;
}

}  // namespace

knowledge_ptr model::joined(const knowledge_ptr& a, const knowledge_ptr& b, block_number block) {
  if (a == b || b == nullptr) return a;
  if (last_join_.a == a && last_join_.b == b) return last_join_.both;
  last_join_ = {a, b, join(a, b, block)};
  return last_join_.both;
}

knowledge_ptr model::fenced_by(const thread_model& t, space in) const {
  const proxy_fenced& own = t.fenced[in];
  if (own.known == nullptr) return nullptr;
  const int threads = blocks_[t.block].threads;
  auto v = boost::intrusive_ptr<view>(new view);
  v->floor = own.known->own->floor;
  v->threads = own.known->own->threads;
  v->copies = own.known->own->copies;
  set_thread(*v, t, threads, own.time);
  if (t.copies.number != 0) raise(v->copies, static_cast<std::size_t>(t.copies.number - threads), own.copies);
  auto k = boost::intrusive_ptr<knowledge>(new knowledge);
  k->block = t.block;
  k->own = v;
  k->others = own.known->others;
  return k;
}

knowledge_ptr model::publish(thread_model& t) {
  const int threads = record(t.block).threads;
  auto v = boost::intrusive_ptr<view>(new view);
  v->floor = t.known->own->floor;
  v->threads = t.known->own->threads;
  v->copies = t.known->own->copies;
  set_thread(*v, t, threads, *t.time);
  raise_own(*v, t, threads);
  auto k = boost::intrusive_ptr<knowledge>(new knowledge);
  k->block = t.block;
  k->own = v;
  k->others = t.known->others;
  for (const space s : all_spaces) k->fenced[s] = join(t.known->fenced[s], fenced_by(t, s), t.block);
  k->passed = t.known->passed;
  k->seen = t.known->seen;
  ++*t.time;  // what it does from now on is not part of this
  return k;
}

void model::release(thread_model& t, knowledge_ptr& into, const char* what) {
  if (what != nullptr) write_down_order(t, event_kind::order, what);
  record(t.block).published |= record(t.block).cluster != 0;  // what it is released to may be the cluster's, or another block's
  into = join(into, publish(t), into != nullptr ? into->block : t.block);
}
void model::acquire(thread_model& t, const knowledge_ptr& from, const char* what) {
  if (what != nullptr) write_down_order(t, event_kind::wait, what);
  if (from != nullptr) learn(t, joined(t.known, from, t.block));
}

void model::wait_for_launch(thread_model& t) {
  if (before_ == 0) return;
  auto all_before = boost::intrusive_ptr<knowledge>(new knowledge);
  all_before->block = before_;
  all_before->own = new view;
  acquire(t, all_before);
}

void model::proxy_fence(thread_model& t, std::initializer_list<space> of) {
  write_down_order(t, event_kind::order, "proxy fence");
  for (const space s : of) t.fenced[s] = {t.known, *t.time, t.copies.waited};
  ++*t.time;
}
// fence.mbarrier_init: of what this thread did, only that it has initialised barriers.
void model::mbarrier_fence(thread_model& t) {
  const block_record& r = record(t.block);
  for (auto i = barriers_.lower_bound(r.lowest); i != barriers_.lower_bound(r.highest); ++i)
    i->second.init_fenced |= i->second.initialised_by == t.index;
}

namespace {

// What the proxy fences of threads of one block have passed on.
knowledge_ptr fenced_together(std::span<thread_model* const> threads, space in, int count) {
  knowledge_ptr fences;
  const knowledge* last = nullptr;
  const block_number block = threads.front()->block;
  for (const thread_model* t : threads) {
    const knowledge_ptr& known = t->fenced[in].known;
    if (known != nullptr && known.get() != last) fences = join(fences, known, block);
    if (known != nullptr) last = known.get();
  }
  auto v = boost::intrusive_ptr<view>(new view);
  v->floor = fences->own->floor;
  v->threads = fences->own->threads;
  v->copies = fences->own->copies;
  for (const thread_model* t : threads) {
    const proxy_fenced& own = t->fenced[in];
    if (own.known == nullptr) continue;
    raise(v->threads, static_cast<std::size_t>(t->index), own.time);  // another's fence may reach further
    if (t->copies.number != 0) raise(v->copies, static_cast<std::size_t>(t->copies.number - count), own.copies);
  }
  auto passed = boost::intrusive_ptr<knowledge>(new knowledge);
  passed->block = block;
  passed->own = v;
  passed->others = fences->others;
  return passed;
}

}  // namespace

// What a thread did that has ended is not passed on by a barrier: CUDA promises visibility of the accesses of those that take part, and PTX
// orders a barrier's participants only. So a word that a thread wrote just before it returned is a race for who reads it behind the
// barrier, although most GPUs would show it. The end of the launch orders all.
void model::meet(std::span<thread_model* const> threads, bool whole_block) {
  if (log) {
    std::vector<event_log::who> all;
    for (const thread_model* t : threads) all.push_back({t->block, t->index});
    log->met(all, whole_block ? "block barrier" : "meets others of its warp");
  }
  const block_number block = threads.front()->block;
  if (std::any_of(threads.begin(), threads.end(), [&](const thread_model* t) { return t->block != block; })) {  // of a cluster
    knowledge_ptr all;
    for (thread_model* t : threads) {
      record(t->block).published = true;
      all = all == nullptr ? publish(*t) : join(all, publish(*t), all->block);
    }
    for (thread_model* t : threads) acquire(*t, all);
    return;
  }
  const int count = record(block).threads;
  knowledge_ptr known = threads.front()->known;
  const knowledge* last_known = known.get();
  by_space<bool> fenced{};
  knowledge_ptr heard;
  if (late_writes)
    for (const thread_model* t : threads)
      for (const knowledge_ptr& of : {t->heard, t->acquirable.back()})
        if (of != nullptr && of != heard) heard = join(heard, of, block);
  for (const thread_model* t : threads) {
    if (t->known.get() != last_known) known = joined(known, t->known, block);
    last_known = t->known.get();
    for (const space s : all_spaces) fenced[s] |= t->fenced[s].known != nullptr;
  }
  const bool everybody = whole_block && static_cast<int>(threads.size()) == count;
  auto v = boost::intrusive_ptr<view>(new view);
  v->floor = known->own->floor;
  v->copies = known->own->copies;
  if (!everybody) v->threads = known->own->threads;
  stamp latest = v->floor;
  for (thread_model* t : threads) {
    if (heard != nullptr) t->heard = heard;
    latest = std::max(latest, *t->time);
    if (everybody)
      v->floor = std::max(v->floor, *t->time);
    else
      set_thread(*v, *t, count, *t->time);
    raise_own(*v, *t, count);
  }
  auto k = boost::intrusive_ptr<knowledge>(new knowledge);
  k->block = block;
  k->own = v;
  k->others = known->others;
  k->fenced = known->fenced;
  k->passed = known->passed;
  k->seen = known->seen;
  for (const space s : all_spaces)
    if (fenced[s]) k->fenced[s] = join(k->fenced[s], fenced_together(threads, s, count), block);
  const knowledge_ptr shared = k;
  stamp* advanced = nullptr;
  for (thread_model* t : threads) {
    learn(*t, shared);
    t->fenced = {};  // it is part of what all know now
    t->barriers += whole_block;
    if (whole_block)
      *t->time = latest + 1;
    else if (t->time != advanced)
      ++*(advanced = t->time);
  }
}

// a thread's own groups -------------------------------------------------------------------------------------------------------------

stamp model::open_group(thread_model& t, own_actor& a, actor_kind kind, place_number at) {
  block_record& r = record(t.block);
  if (a.number == 0) {
    a.number = static_cast<actor>(r.threads + static_cast<int>(r.actors.size()));
    r.actors.push_back({kind, t.index});
  }
  a.last_used = a.closed + 1;
  a.last_place = at;
  return a.last_used;
}
void model::close_group(own_actor& a) { ++a.closed; }
void model::wait_groups(own_actor& a, int groups_left) {
  stamp done = a.closed;
  auto part = a.parts.rbegin();
  for (int left = groups_left; done > 0; --done) {
    if (part != a.parts.rend() && *part == done)
      ++part;
    else if (left-- == 0)
      break;
  }
  a.waited = std::max(a.waited, done);
  std::erase_if(a.parts, [&](stamp p) { return p <= a.waited; });
}

void model::issue_copy(thread_model& t, const void* to, const void* from, std::size_t bytes, std::size_t bytes_read, place_number at) {
  const stamp group = open_group(t, t.copies, actor_kind::copies, at);
  write_down_copy(t, {copy_groups(t, actor_kind::copies), group}, to, bytes, at);
  accessor w{.thread = t, .kind = access_kind::read, .place = at, .bytes = bytes};
  w.become(actor_kind::copies, t.copies.number, group);
  if (bytes_read > 0) visit(w, from, bytes_read);
  w.kind = access_kind::write;
  visit(w, to, bytes);
}
void model::commit_copies(thread_model& t) {
  close_group(t.copies);
  write_down_order(t, event_kind::order, "commits a group of copies");
}
void model::wait_copies(thread_model& t, int groups_left) {
  wait_groups(t.copies, groups_left);
  write_down_order(t, event_kind::wait, "waits for copies", {copy_groups(t, actor_kind::copies), t.copies.waited});
}

void model::issue_store(thread_model& t, const void* to, const void* from, std::size_t bytes, place_number at) {
  const std::span range(static_cast<const unsigned char*>(to), bytes);
  issue_store(t, {&range, 1}, from, bytes, at);
}
void model::issue_store(thread_model& t, ranges to, const void* from, std::size_t bytes, place_number at, scope updates) {
  const stamp group = open_group(t, t.stores_read, actor_kind::stores_reading, at);
  write_down_copy(t, {copy_groups(t, actor_kind::stores_reading), group}, from, bytes, at);
  open_group(t, t.stores_written, actor_kind::stores_writing, at);
  accessor w{.thread = t, .kind = access_kind::read, .place = at, .bytes = bytes};
  w.become(actor_kind::stores_reading, t.stores_read.number, group);
  visit(w, from, bytes);
  w.become(actor_kind::stores_writing, t.stores_written.number, group);
  w.reach = updates;
  if (updates != scope{})
    for (const auto& r : to) visit(w, r.data(), r.size());
  w.kind = access_kind::write;
  for (const auto& r : to) visit(w, r.data(), r.size());
}
void model::commit_stores(thread_model& t) {
  close_group(t.stores_read);
  close_group(t.stores_written);
  write_down_order(t, event_kind::order, "commits a group of bulk stores");
}
void model::wait_stores(thread_model& t, int groups_left, bool written) {
  wait_groups(t.stores_read, groups_left);
  write_down_order(t, event_kind::wait, "waits for bulk stores", {copy_groups(t, actor_kind::stores_reading), t.stores_read.waited});
  if (written) wait_groups(t.stores_written, groups_left);
}

// The operations of a warpgroup are one actor, of which each of its threads knows what it has waited for.
void model::join_warpgroup(thread_model& t) {
  if (t.matrix.number != 0) return;
  auto& actors = record(t.block).actors;
  const auto at = std::find_if(actors.begin(), actors.end(),
                               [&](const actor_record& a) { return a.kind == actor_kind::matrix && a.thread / 128 == t.index / 128; });
  t.matrix.number = static_cast<actor>(record(t.block).threads + static_cast<int>(at - actors.begin()));
  if (at == actors.end()) actors.push_back({actor_kind::matrix, t.index});
}

namespace {
std::size_t total(ranges all) {
  std::size_t bytes = 0;
  for (const auto& r : all) bytes += r.size();
  return bytes;
}
}  // namespace

void model::issue_matrix(std::span<thread_model* const> warp, ranges from, place_number at) {
  thread_model& first = *warp.front();
  for (thread_model* t : warp) {
    join_warpgroup(*t);
    open_group(*t, t->matrix, actor_kind::matrix, at);
  }
  accessor w{.thread = first, .kind = access_kind::read, .place = at, .bytes = total(from)};
  w.become(actor_kind::matrix, first.matrix.number, first.matrix.last_used);
  if (!from.empty())
    write_down_copy(first, {copy_groups(first, actor_kind::matrix), first.matrix.last_used}, from.front().data(), total(from), at);
  for (const auto& r : from) visit(w, r.data(), r.size());
}
void model::issue_matrix(thread_model& t, const void* from, std::size_t bytes, place_number at) {
  thread_model* alone = &t;
  const std::span range(static_cast<const unsigned char*>(from), bytes);
  issue_matrix({&alone, 1}, {&range, 1}, at);
}
void model::commit_matrix(thread_model& t) {
  join_warpgroup(t);
  close_group(t.matrix);
}
void model::wait_matrix(thread_model& t, int groups_left) {
  wait_groups(t.matrix, groups_left);
  write_down_order(t, event_kind::wait, "waits for Tensor Cores", {copy_groups(t, actor_kind::matrix), t.matrix.waited});
}

// barriers in shared memory -----------------------------------------------------------------------------------------------------------

model::mbarrier_model& model::barrier(const void* word) {
  return barriers_[static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(word) - memory_.lowest())];
}

void model::init_barrier(thread_model& t, const void* word, place_number at) {
  accessor w{.thread = t, .kind = access_kind::write, .place = at, .bytes = sizeof(std::uint64_t)};
  visit(w, word, sizeof(std::uint64_t));
  mbarrier_model& b = barrier(word);
  b.arrived = b.ended = nullptr;  // its copies and phases go on being counted
  b.initialised_by = t.index;
  b.init_fenced = false;
  b.told = 0;
}

// The barrier's own word: initialised, and that is known to whoever uses it. Its users do not disturb each other.
void model::touch_barrier(thread_model& t, const void* word, place_number at) {
  accessor w{.thread = t, .kind = access_kind::read, .place = at, .bytes = sizeof(std::uint64_t), .reach = scope::block};
  w.what = "use of an mbarrier";
  if (!told_of(t, barrier(word), word)) visit(w, word, sizeof(std::uint64_t));
}

void model::arrive_barrier(thread_model& t, const void* word) { release(t, barrier(word).arrived, "arrives at an mbarrier"); }

// Of an asynchronous actor, that it has come so far.
knowledge_ptr model::landed(block_number block, actor number, stamp time) const {
  auto v = boost::intrusive_ptr<view>(new view);
  raise(v->copies, static_cast<std::size_t>(number - blocks_[block].threads), time);
  auto k = boost::intrusive_ptr<knowledge>(new knowledge);
  k->block = block;
  k->own = v;
  return k;
}

void model::end_phase(block_model&, const void* word) {
  mbarrier_model& b = barrier(word);
  ++b.phase;
  if (b.arrived != nullptr)
    for (const auto& [started_in, number] : b.loads) b.arrived = join(b.arrived, landed(started_in, number, b.phase), b.arrived->block);
  b.ended = b.arrived;
}

void model::wait_barrier(thread_model& t, const void* word) {
  mbarrier_model& b = barrier(word);
  b.waited = b.phase;
  write_down_order(t, event_kind::wait, "waits for an mbarrier", {reinterpret_cast<std::uintptr_t>(word), b.phase});
  acquire(t, b.ended);
}

stamp model::track_copies(thread_model& t, const void* word) {
  own_actor& c = t.copies;
  if (c.last_used > c.closed) c.parts.push_back(++c.closed);  // what the thread copies from now on is another part of its group
  c.tracked = c.closed;
  mbarrier_model& b = barrier(word);
  if (c.last_used <= c.waited) return c.closed;
  b.last_load = b.phase + 1;
  b.last_block = t.block;
  b.last_thread = t.index;
  b.last_place = c.last_place;
  b.last_tracked = c.last_used;
  return c.closed;
}
void model::arrive_with_copies(thread_model& t, const void* word, stamp tracked) {
  if (t.copies.number == 0) return;
  knowledge_ptr& arrived = barrier(word).arrived;
  arrived = join(arrived, landed(t.block, t.copies.number, tracked), arrived != nullptr ? arrived->block : t.block);
}

// The copies that threads of a block start and an mbarrier counts, of this block or another, are one actor of theirs.
actor model::loads_counted_by(mbarrier_model& b, block_number started_in, int thread) {
  for (const auto& [block, number] : b.loads)
    if (block == started_in) return number;
  block_record& r = record(started_in);
  const auto number = static_cast<actor>(r.threads + static_cast<int>(r.actors.size()));
  r.actors.push_back({actor_kind::loads, thread});
  r.published |= r.cluster != 0;  // who waits in another block learns of them
  b.loads.push_back({started_in, number});
  return number;
}

void model::issue_load(thread_model& t, const void* to, std::size_t bytes, ranges from, const void* word, place_number at) {
  mbarrier_model& b = barrier(word);
  accessor w{.thread = t, .kind = access_kind::read, .place = at, .bytes = bytes};
  w.become(actor_kind::loads, loads_counted_by(b, t.block, t.index), b.phase + 1);
  b.last_load = b.phase + 1;
  b.last_block = t.block;
  b.last_thread = t.index;
  b.last_place = at;
  b.last_tracked = 0;
  write_down_copy(t, {reinterpret_cast<std::uintptr_t>(word), b.phase + 1}, to, bytes, at);
  w.what = "use of an mbarrier by the copy engine";
  w.init_fenced = b.init_fenced;
  if (!told_of(t, b, word)) visit(w, word, sizeof(std::uint64_t));
  w.init_fenced = false;
  w.what = {};
  for (const auto& r : from) visit(w, r.data(), r.size());
  w.kind = access_kind::write;
  visit(w, to, bytes);
}
void model::issue_load(thread_model& t, const void* to, const void* from, std::size_t bytes, const void* word, place_number at) {
  const std::span range(static_cast<const unsigned char*>(from), bytes);
  issue_load(t, to, bytes, {&range, 1}, word, at);
}

// atomic operations and fences ------------------------------------------------------------------------------------------------------

namespace {
std::size_t circles_of(scope reach) { return std::min<std::size_t>(static_cast<std::size_t>(reach), 3); }
}  // namespace

// Whom a thread's atomic operation reaches: the threads of its block and, by its scope, those of its cluster and all.
std::array<model::circle, 3> model::circles_around(const thread_model& t) const {
  const std::uint32_t cluster = blocks_[t.block].cluster;
  return {{{0, t.block}, {1, cluster != 0 ? cluster : ~t.block}, {2, 0}}};
}

// A read of a value, and of what was released with it.
void model::take_in(thread_model& t, std::uintptr_t location, const atomic_state& a, scope reach, bool acquires) {
  const auto circles = circles_around(t);
  const auto begun = t.begun.find(location);
  for (std::size_t i = 0; i < circles_of(reach); ++i) {
    const auto seen = a.find(circles[i]);
    if (acquires && begun != t.begun.end()) acquire(t, std::exchange(begun->second.read[i], nullptr));
    if (seen == a.end()) continue;
    if (acquires) {
      acquire(t, seen->second);  // before the access itself, which comes after what it has seen
    } else {
      t.acquirable[i] = join(t.acquirable[i], seen->second, t.block);
      knowledge_ptr& read = t.begun[location].read[i];
      read = join(read, seen->second, t.block);
    }
  }
  for (std::size_t i = 0; i < circles_of(reach) && !a.empty(); ++i)
    if (const auto seen = a.find(before_fences(circles[i])); seen != a.end()) learn_also(t, &knowledge::seen, i, seen->second);
}

void model::atomic(const void* p, std::size_t bytes, bool reads, bool writes, order how, const void* code) {
  constexpr std::uint64_t worth = 20;
  effort_ += worth;
  const scope reach = std::exchange(machine::next_scope, scope::device);
  if (current_ == nullptr) return;
  thread_model& t = *current_;
  accessor w{.thread = t, .kind = access_kind::read, .place = number_of_code(code), .bytes = bytes, .reach = reach};
  if (!reachable(w, p, bytes)) return;
  const void* const value = std::exchange(p, followed(p));
  if (log) write_down(event_kind::atomic, p, bytes, w.place);

  const auto circles = circles_around(t);
  const bool acquires = how == order::acquire || how == order::both, releases = how == order::release || how == order::both;
  const auto location = reinterpret_cast<std::uintptr_t>(p);
  atomic_state& a = atomics_[location];
  const cell& last = memory_.byte(location - memory_.lowest());
  const atomic_state before_all = late_writes && writes ? a : atomic_state{};
  if (!reads || last.scope == 0)
    a.clear();  // a store ends the sequence that an earlier release headed; a read-modify-write goes on with it
  if (reads) take_in(t, location, a, reach, acquires);
  const auto begun_here = t.begun.find(location);
  begun_patterns* begun = begun_here != t.begun.end() ? &begun_here->second : nullptr;
  const auto begin = [&]() -> begun_patterns& { return *(begun != nullptr ? begun : begun = &t.begun[location]); };
  if (!writes) {
    visit(w, p, bytes);
    if (late_writes)
      if (const auto last_write = atomic_writes_.find(location); last_write != atomic_writes_.end())
        t.seen[location] = last_write->second.number;
    return;
  }
  if (late_writes) {
    note_write(t, location, value, bytes, w.place);
    if (const auto noted = atomic_writes_.find(location); noted != atomic_writes_.end()) noted->second.released_before = before_all;
  }
  if (reads) {
    w.updates = true;
    updates_.insert(w.place);
    visit(w, p, bytes);
  }
  w.kind = access_kind::write;
  visit(w, p, bytes);
  knowledge_ptr now;
  if (releases) {
    if (reach > scope::block) record(t.block).published = true;
    now = publish(t);
    std::fill_n(begin().released.begin(), circles_of(reach), now);
  }
  for (std::size_t i = 0; i < circles_of(reach); ++i) {
    if (const knowledge_ptr& passed = t.known->passed[i]; passed != nullptr) {
      knowledge_ptr& into = a[before_fences(circles[i])];
      into = join(into, passed, into != nullptr ? into->block : t.block);
    }
    const knowledge_ptr before = begun != nullptr ? join(t.released[i], begun->released[i], t.block) : t.released[i];
    const knowledge_ptr& what = now != nullptr ? now : before;
    if (what == nullptr) continue;
    knowledge_ptr& into = a[circles[i]];
    into = join(into, what, into != nullptr ? into->block : what->block);
  }
}

void model::fence(order how) {
  const scope reach = std::exchange(machine::next_scope, scope::device);
  if (current_ == nullptr) return;
  thread_model& t = *current_;
  write_down_order(t, event_kind::order, "fence");
  if (how != order::release)
    for (std::size_t i = 0; i < circles_of(reach); ++i) acquire(t, std::exchange(t.acquirable[i], nullptr));
  if (how == order::acquire) return;
  const bool total = how == order::total;
  if (total) {
    ++atomic_number_;
    auto& numbers = total_fences_[key_of(t.block, static_cast<actor>(t.index))];
    std::fill_n(numbers.begin(), circles_of(reach), atomic_number_);
    for (std::size_t i = 0; i < circles_of(reach); ++i) acquire(t, t.known->seen[i]);
  }
  if (reach > scope::block) record(t.block).published = true;
  const knowledge_ptr now = publish(t);
  std::fill_n(t.released.begin(), circles_of(reach), now);
  if (!total) return;
  auto alone = boost::intrusive_ptr<knowledge>(new knowledge(*now));
  alone->passed = alone->seen = {};
  for (std::size_t i = 0; i < circles_of(reach); ++i) learn_also(t, &knowledge::passed, i, alone);
}

}  // namespace antiphase::checker_detail
