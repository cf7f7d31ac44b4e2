// SPDX-License-Identifier: Apache-2.0
#include "async_work.hpp"

#include <algorithm>

#include "checker/order/event_log.hpp"

namespace antiphase::checker_detail {
namespace {

// Key of a thread's own copy groups. It differs from that of an mbarrier's: no mbarrier has so low an
// address.
copy_group group_of(const thread_model& t, actor_kind k, stamp number) {
  return {(std::uintptr_t{t.block} * 2048 + static_cast<std::uintptr_t>(t.index)) * 8 +
              static_cast<std::uintptr_t>(k),
          number};
}

// Operations of a warpgroup share one actor; each of its threads keeps what it has itself waited for.
void join_warpgroup(happens_before& clocks, thread_model& t) {
  if (t.matrix.number != 0) return;
  const auto& actors = clocks.block(t.block).actors;
  const auto at = std::ranges::find_if(actors, [&](const actor_record& a) {
    return a.kind == actor_kind::matrix && a.thread / 128 == t.index / 128;
  });
  t.matrix.number = at == actors.end()
                        ? clocks.add_actor(t.block, {actor_kind::matrix, t.index})
                        : static_cast<actor>(t.block_threads + static_cast<int>(at - actors.begin()));
}

}  // namespace

void async_work::write_down(const thread_model& t, copy_group in, const void* to, std::size_t bytes,
                            place_number place) {
  if (clocks_.log != nullptr) clocks_.log->copy({t.block, t.index}, in, to, bytes, place);
}

void async_work::issue_copy(thread_model& t, const void* to, const void* from, std::size_t bytes,
                            std::size_t bytes_read, place_number at) {
  const stamp group = clocks_.open_group(t, t.copies, actor_kind::copies, at);
  write_down(t, group_of(t, actor_kind::copies, group), to, bytes, at);
  accessor w{.thread = t, .kind = access_kind::read, .place = at, .bytes = bytes};
  w.become(actor_kind::copies, t.copies.number, group);
  if (bytes_read > 0) history_.visit(w, from, bytes_read);
  w.kind = access_kind::write;
  history_.visit(w, to, bytes);
}
void async_work::commit_copies(thread_model& t) {
  ++t.copies.closed;
  clocks_.write_down(t, "commits a group of copies");
}
void async_work::wait_copies(thread_model& t, int groups_left) {
  t.copies.wait(groups_left);
  clocks_.write_down_wait(t, "waits for copies", group_of(t, actor_kind::copies, t.copies.waited));
}

void async_work::init_barrier(thread_model& t, const void* word, place_number at) {
  end_barrier(t, word, at);
  history_.holds_barrier(word);
  barriers_.init(t, word, at);
}
void async_work::end_barrier(thread_model& t, const void* word, place_number at) {
  const accessor w{.thread = t,
                   .kind = access_kind::write,
                   .place = at,
                   .bytes = sizeof(std::uint64_t),
                   .of_barrier = true};
  history_.visit(w, word, sizeof(std::uint64_t));
}

// Checks the mbarrier's word: it must be initialised, and the user must be ordered after that. Uses of it do
// not conflict with each other.
void async_work::touch_barrier(thread_model& t, const void* word, place_number at) {
  accessor w{.thread = t,
             .kind = access_kind::read,
             .place = at,
             .bytes = sizeof(std::uint64_t),
             .reach = scope::block};
  w.text = "use of an mbarrier";
  w.of_barrier = true;
  if (!barriers_.told_of(t, word)) history_.visit(w, word, sizeof(std::uint64_t));
}

void async_work::issue_load(thread_model& t, const void* to, std::size_t bytes, ranges from, const void* word,
                            place_number at, bool generic) {
  const mbarrier_order::load counted = barriers_.begin_load(t, word, at);
  accessor w{.thread = t, .kind = access_kind::read, .place = at, .bytes = bytes};
  w.become(generic ? actor_kind::copies : actor_kind::loads, counted.number, counted.phase);
  write_down(t, {reinterpret_cast<std::uintptr_t>(word), counted.phase}, to, bytes, at);
  w.text = "use of an mbarrier by the copy engine";
  w.init_fenced = counted.init_fenced;
  w.of_barrier = true;
  if (!generic && !barriers_.told_of(t, word)) history_.visit(w, word, sizeof(std::uint64_t));
  w.init_fenced = w.of_barrier = false;
  w.text = {};
  for (const auto& r : from) history_.visit(w, r.data(), r.size());
  w.kind = access_kind::write;
  history_.visit(w, to, bytes);
}

void async_work::issue_store(thread_model& t, ranges to, const void* from, std::size_t bytes, place_number at,
                             scope updates, std::size_t operand) {
  const stamp group = clocks_.open_group(t, t.stores_read, actor_kind::stores_reading, at);
  write_down(t, group_of(t, actor_kind::stores_reading, group), from, bytes, at);
  clocks_.open_group(t, t.stores_written, actor_kind::stores_writing, at);
  accessor w{.thread = t, .kind = access_kind::read, .place = at, .bytes = bytes};
  w.become(actor_kind::stores_reading, t.stores_read.number, group);
  history_.visit(w, from, bytes);
  w.become(actor_kind::stores_writing, t.stores_written.number, group);
  w.reach = updates;
  w.operand = operand;
  if (updates != scope{})
    for (const auto& r : to) history_.visit(w, r.data(), r.size());
  w.kind = access_kind::write;
  for (const auto& r : to) history_.visit(w, r.data(), r.size());
}
void async_work::commit_stores(thread_model& t) {
  ++t.stores_read.closed;
  ++t.stores_written.closed;
  clocks_.write_down(t, "commits a group of bulk stores");
}
void async_work::wait_stores(thread_model& t, int groups_left, stores what) {
  t.stores_read.wait(groups_left);
  clocks_.write_down_wait(t, "waits for bulk stores",
                          group_of(t, actor_kind::stores_reading, t.stores_read.waited));
  if (what == stores::written)
    t.stores_written.wait(groups_left);
  else if (t.stores_written.number != 0)
    clocks_.block(t.block).actors[static_cast<std::size_t>(t.stores_written.number - t.block_threads)].read =
        t.stores_read.waited;
}

void async_work::issue_matrix(std::span<thread_model* const> warp, ranges from, place_number at) {
  thread_model& first = *warp.front();
  for (thread_model* t : warp) {
    join_warpgroup(clocks_, *t);
    clocks_.open_group(*t, t->matrix, actor_kind::matrix, at);
  }
  std::size_t bytes = 0;
  for (const auto& r : from) bytes += r.size();
  accessor w{.thread = first, .kind = access_kind::read, .place = at, .bytes = bytes};
  w.become(actor_kind::matrix, first.matrix.number, first.matrix.last_used);
  if (!from.empty())
    write_down(first, group_of(first, actor_kind::matrix, first.matrix.last_used), from.front().data(), bytes,
               at);
  for (const auto& r : from) history_.visit(w, r.data(), r.size());
}
void async_work::commit_matrix(thread_model& t) {
  join_warpgroup(clocks_, t);
  ++t.matrix.closed;
}
void async_work::wait_matrix(thread_model& t, int groups_left) {
  t.matrix.wait(groups_left);
  clocks_.write_down_wait(t, "waits for Tensor Cores", group_of(t, actor_kind::matrix, t.matrix.waited));
}

stamp async_work::issue_tensor(thread_model& t, machine::tensor_work kind, const char* name,
                               std::span<const machine::memory_range> all, place_number at) {
  static constexpr actor_kind roles[] = {actor_kind::tensor_products, actor_kind::tensor_loads,
                                         actor_kind::tensor_stores};
  const auto of = static_cast<std::size_t>(kind);
  own_actor& a = t.tensor[of];
  const stamp group = clocks_.open_group(t, a, roles[of], at);
  a.closed = group;
  clocks_.block(t.block).published |= clocks_.block(t.block).cluster != 0;
  accessor w{.thread = t, .kind = access_kind::read, .place = at, .bytes = 4, .text = name};
  w.become(roles[of], a.number, group);
  if (!all.empty())
    write_down(t, {reinterpret_cast<std::uintptr_t>(&a), group}, all.back().first, all.back().bytes, at);
  for (const machine::memory_range& r : all) {
    w.kind = r.writes ? access_kind::write : access_kind::read;
    w.bytes = r.bytes;
    history_.visit(w, r.first, r.bytes);
  }
  return group;
}
void async_work::wait_tensor(thread_model& t, thread_model& owner, machine::tensor_work kind, stamp last) {
  own_actor& a = owner.tensor[static_cast<std::size_t>(kind)];
  a.waited = std::max(a.waited, std::min(last, a.closed));
  clocks_.write_down_wait(t, "waits for Tensor Memory", {reinterpret_cast<std::uintptr_t>(&a), a.waited});
  if (&t != &owner && a.number != 0) clocks_.acquire(t, clocks_.landed(t.block, a.number, a.waited));
}

}  // namespace antiphase::checker_detail
