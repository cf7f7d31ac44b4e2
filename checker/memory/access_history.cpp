// SPDX-License-Identifier: Apache-2.0
#include "access_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "checker/order/missing.hpp"

namespace antiphase::checker_detail {
namespace {

space space_of(std::size_t offset) { return offset < shadow::shared_bytes ? space::shared : space::global; }

constexpr int loop_groups = 16;  // of a word's readers, in which a lane's earlier read is looked for

// Whatever is strong together with `b` is so with `a`, too.
bool reaches(strength_bits a, strength_bits b) { return of_one_size(a, b) && reach_of(a) >= reach_of(b); }
reader warp_reader(const thread_model& t, place_number place) {
  return {t.block, t.warp, 0, warp_reads, *t.time, t.lane, place};
}

}  // namespace

void access_history::reset() {
  updates_.clear();
  forgiving_ = misled_ = false;
  host_tables_.clear();
  effort = {};
}

// accesses
// -----------------------------------------------------------------------------------------------------------

void access_history::check_access(const accessor& w, std::size_t offset, std::size_t bytes) {
  if (effort.too_much() && takes_long) takes_long(w);
  if (!has_owner(w, offset, bytes)) return;
  ++effort.accesses;
  bool missing = false;
  memory_.visit(offset, bytes, [&](cell& c, std::size_t at, std::size_t) {
    if (!c.exists()) {
      if (!std::exchange(missing, true)) report_missing(w, c, at);
    } else if (w.kind == access_kind::read) {
      read_cell(w, c, at);
    } else {
      write_cell(w, c, at);
    }
  });
}

void access_history::report_outside(const accessor& w, const void* p) const {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  constexpr std::uintptr_t near_null = 1 << 16;
  const bool is_null = address + near_null < 2 * near_null;  // with an index, also a negative one
  found_(w, {.kind = finding_kind::outside_memory,
             .missing = explain(is_null ? sentence::null_pointer : sentence::host_memory,
                                fmt::format("{:#x}", address))});
  if (stop != nullptr) stop("a kernel left the memory it may touch");
}

void access_history::report_missing(const accessor& w, const cell& c, std::size_t offset) const {
  found_(w, {.kind = finding_kind::outside_memory,
             .offset = offset,
             .missing = c.state == cell_state::freed ? sentence::freed : sentence::unallocated});
}

// True for global memory, the block's own shared memory and that of a running block of its cluster. Reports
// shared memory of no thread, and of a block that may not have begun.
bool access_history::has_owner(const accessor& w, std::size_t offset, std::size_t bytes) const {
  const block_record& own = clocks_.block(w.thread.block);
  if (offset >= shadow::shared_bytes || (offset >= own.lowest && offset + bytes <= own.highest)) return true;
  const block_number other = clocks_.owner_of(w.thread.block, offset, bytes);
  if (const block_number gone = other == 0 ? clocks_.past_owner_of(w.thread.block, offset) : 0; gone != 0)
    found_(w, {.kind = finding_kind::outside_memory,
               .offset = offset,
               .missing = explain(sentence::other_block_ended, clocks_.block(gone).index.x,
                                  clocks_.block(gone).index.y, clocks_.block(gone).index.z)});
  else if (other == 0)
    found_(w, {.kind = finding_kind::outside_memory,
               .offset = offset,
               .missing = explain(sentence::shared_size, own.highest - own.lowest)});
  else if (!clocks_.has_begun(w.thread, other))
    found_(w,
           {.kind = finding_kind::outside_memory, .offset = offset, .missing = sentence::other_block_runs});
  return other != 0;
}

std::size_t access_history::words_at(const thread_model& t, const void* p, std::size_t bytes) const {
  const std::size_t offset = memory_.offset_of(p, bytes);
  if (offset % 4 != 0 || effort.too_much()) return shadow::outside;
  return offset >= shadow::shared_bytes || (offset >= t.shared_low && offset + bytes <= t.shared_high)
             ? offset
             : shadow::outside;
}

bool access_history::reads_anew(const thread_model& t, const void* p, std::size_t bytes, place_number place) {
  const std::size_t offset = words_at(t, p, bytes);
  if (offset == shadow::outside) return false;
  const std::size_t end = offset + bytes;
  for (std::size_t at = offset; at < end; at += 4)
    if (!surely_knows_writer(t, memory_.touched(at))) return false;
  const reader r = warp_reader(t, place);
  for (std::size_t at = offset; at < end; at += 4) add_reader(t, r, memory_.touched(at));
  ++effort.accesses;
  return true;
}

bool access_history::reads_later(const thread_model& t, const void* p, place_number place) {
  const std::size_t offset = memory_.offset_of(p);
  if (offset == shadow::outside) return false;
  const cell& c = memory_.byte(offset);
  const auto earlier = [&](const reader& r, std::uint32_t lanes) {
    return r.block == t.block && r.kind == warp_reads && r.strength == 0 && r.place == place &&
           r.time != *t.time && (lanes & t.lane) != 0;
  };
  if (earlier(c.first, c.first.unit == t.warp ? c.first.lanes : 0)) return true;
  if (c.state == cell_state::split) return false;
  std::uint32_t more = c.more;
  for (int i = 0; i < loop_groups && more != 0; ++i) {
    reader_group& g = memory_.group(more);
    if (g.reader.kind == warp_reads && g.reader.block == t.block && earlier(g.reader, g.lanes()[t.warp]))
      return true;
    more = g.next;
  }
  return false;
}

bool access_history::writes_anew(const thread_model& t, const void* p, std::size_t bytes,
                                 place_number place) {
  const std::size_t offset = words_at(t, p, bytes);
  if (offset == shadow::outside) return false;
  const std::size_t end = offset + bytes;
  for (std::size_t at = offset; at < end; at += 4) {
    const cell& c = memory_.touched(at);
    if ((c.state != cell_state::uninitialised && !surely_knows_writer(t, c)) || !surely_knows_readers(t, c))
      return false;
  }
  for (std::size_t at = offset; at < end; at += 4) write_over(memory_.touched(at), t, place);
  ++effort.accesses;
  return true;
}

bool access_history::read_as_constant(const thread_model& t, const cell& c) {
  int threads = 0;
  bool own = false;
  const auto count = [&](const reader& r) {
    if (r.kind != constant_reads || r.block < launches_.first()) return;
    threads += std::popcount(r.lanes);
    own |= r.block == t.block && r.unit == t.warp && (r.lanes & t.lane) != 0;
  };
  count(c.first);
  if (!own && threads < 2) memory_.each_reader(c, count);
  return own || threads > 1;
}

bool access_history::written_before(const thread_model& t, const void* p, std::size_t bytes) {
  const std::size_t offset = words_at(t, p, bytes);
  if (offset == shadow::outside || bytes % 4 != 0) return false;
  for (std::size_t at = offset; at < offset + bytes; at += 4)
    if (const cell& c = memory_.touched(at);
        c.state != cell_state::written || c.strength != 0 || c.block >= t.first_visible)
      return false;
  return true;
}

bool access_history::reads_constant_again(const thread_model& t, const void* p, std::size_t bytes) {
  const std::size_t offset = words_at(t, p, bytes);
  if (offset == shadow::outside || bytes % 4 != 0) return false;
  for (std::size_t at = offset; at < offset + bytes; at += 4) {
    const cell& c = memory_.touched(at);
    if (c.state != cell_state::written || c.strength != 0 || c.block >= t.first_visible ||
        !read_as_constant(t, c))
      return false;
  }
  ++effort.accesses;
  return true;
}

// cells
// -----------------------------------------------------------------------------------------------------------

bool access_history::knows(const thread_model& t, const reader& r) const {
  if (r.block < launches_.first() && r.block >= t.first_visible && !r.wrote() && launches_.over(r.block))
    return true;
  const auto known = [&](actor a) {
    return r.wrote() ? clocks_.knows(t, r.block, a, r.time) : clocks_.knows_over(t, r.block, a, r.time);
  };
  if (r.by_copy()) return known(r.unit);
  if (r.block < t.first_visible) return true;
  if (r.block == t.block && r.time <= t.floor) return true;
  for (std::uint32_t lanes = r.lanes; lanes != 0; lanes &= lanes - 1)
    if (!known(static_cast<actor>(r.unit * 32 + __builtin_ctz(lanes)))) return false;
  return true;
}

// Bulk copies and Tensor Cores work in the async proxy: they see ordinary writes, those of threads and of
// cp.async, only after a proxy fence.
bool access_history::needs_fence(const accessor& w, const cell& c, std::size_t offset) const {
  if (!w.behind_proxy() || w.init_fenced || c.block == 0) return false;
  const block_record& r = clocks_.block(c.block);
  const bool ordinary = c.writer < r.threads ||
                        r.actors[static_cast<std::size_t>(c.writer - r.threads)].kind == actor_kind::copies;
  return ordinary && !clocks_.knows_fenced(w.thread, space_of(offset), c.block, c.writer, c.time);
}

void access_history::check_writer(const accessor& w, cell& c, std::size_t offset, finding_kind if_copied) {
  const thread_model& t = w.thread;
  const auto known = [&] {  // for one who writes over a copy it is enough that it has landed
    return c.state == cell_state::copied && w.kind == access_kind::write
               ? clocks_.knows_over(t, c.block, c.writer, c.time)
               : clocks_.knows(t, c.block, c.writer, c.time);
  };
  if (w.follows(c.block, c.writer)) return;
  if (!surely_knows_writer(t, c) && !known()) {
    if (!strong(c.strength, c.block, w.strength(), t.block))
      found_(w, {.kind = c.state == cell_state::copied ? if_copied : finding_kind::race,
                 .offset = offset,
                 .write = &c});
  } else if (needs_fence(w, c, offset)) {
    found_(w, {.kind = finding_kind::missing_proxy_fence,
               .offset = offset,
               .write = &c,
               .missing = w.of_barrier                        ? sentence::fence_mbarrier
                          : space_of(offset) == space::shared ? sentence::fence_shared
                                                              : sentence::fence_global});
  }
}

void access_history::holds_barrier(const void* word) {
  const std::size_t offset = memory_.offset_of(word, sizeof(std::uint64_t));
  for (std::size_t at = offset; at < offset + sizeof(std::uint64_t); at += 4)
    if (cell& c = memory_.touched(at); c.state == cell_state::written) c.state = cell_state::barrier;
}

void access_history::holds_host_table(const void* word) {
  memory_.set(word, sizeof(void*), cell_state::uninitialised);
  host_tables_.insert(memory_.offset_of(word) / sizeof(void*));
}

void access_history::check_barrier(const accessor& w, const cell& c, std::size_t offset) const {
  if (c.state != cell_state::barrier || w.of_barrier) return;
  found_(w, {.kind = finding_kind::barrier_misuse,
             .offset = offset,
             .write = &c,
             .missing = sentence::inval_before_use,
             .in_practice = sentence::gpu_mbarrier_word});
}

// By what a thread takes memory as constant that a kernel writes which this launch overlaps; null: it does
// not. After its wait the thread is ordered after that kernel.
const char* access_history::taken_as_constant(const accessor& w, const cell& c, std::size_t offset) const {
  if (!c.has_writer() || c.block < launches_.first_visible() || !launches_.overlapped(c.block) ||
      w.asynchronous() || w.reach != scope{} || !clocks_.knows(w.thread, c.block, c.writer, c.time))
    return nullptr;
  if (w.constant) return "__ldg or ld.global.nc";
  if (w.cached) return "the caches of textures and constants";
  const bool by_parameter = !reads_afresh && std::ranges::any_of(read_only, [&](const address_range& r) {
    return r.holds(memory_.lowest() + offset);
  });
  return by_parameter ? "a const parameter with __restrict__" : nullptr;
}

void access_history::read_cell(const accessor& w, cell& c, std::size_t offset) {
  const thread_model& t = w.thread;
  check_barrier(w, c, offset);
  if ((w.constant || w.cached) && c.has_writer() && c.block >= launches_.first())
    found_(w, {.kind = finding_kind::race,
               .offset = offset,
               .write = &c,
               .missing = w.constant ? sentence::ordinary_load : sentence::own_launch});
  else if (const char* const by = taken_as_constant(w, c, offset); by != nullptr)
    found_(w, {.kind = finding_kind::race,
               .offset = offset,
               .write = &c,
               .missing = explain(sentence::afresh, by),
               .in_practice = launches_.did_late(c.block, c.writer, c.time) ? sentence::none
                                                                            : sentence::gpu_before_start});
  else if (c.state != cell_state::uninitialised)
    check_writer(w, c, offset, finding_kind::read_before_landing);
  else if (host_tables_.contains(offset / sizeof(void*)))
    found_(w,
           {.kind = finding_kind::outside_memory, .offset = offset, .missing = sentence::object_of_kernel});
  else if (forgives(offset))
    w.thread.misled = misled_ = true;
  else
    found_(w, {.kind = finding_kind::uninitialised, .offset = offset, .missing = sentence::write});
  if (c.more != 0 && c.strength != 0)
    memory_.each_reader(c, [&](const reader& r) {
      if (r.wrote() && !strong(r.strength, r.block, w.strength(), t.block) && !knows(t, r))
        found_(w, {.kind = finding_kind::race, .offset = offset, .read = &r});
    });
  if (w.updates || (w.constant && read_as_constant(t, c))) return;
  reader r = warp_reader(t, w.place);
  r.strength = w.strength();
  if (w.constant) r.kind = constant_reads;
  if (w.asynchronous()) {
    r.unit = w.number;
    r.kind = copy_reads;
    r.time = w.group;
    r.lanes = 1;
  }
  add_reader(t, r, c);
}

// The last write is a read-modify-write that saw what `r` wrote. A thread ordered after it is after `r`
// too, whether or not the read-modify-write acquired anything.
bool access_history::observed(const thread_model& t, const cell& c, const reader& r) const {
  return r.wrote() && c.strength != 0 && updates_.contains(c.place) &&
         strong(c.strength, c.block, r.strength, r.block) && clocks_.knows(t, c.block, c.writer, c.time);
}

// True for a warp's ordinary reads of shared memory that its own copy engine's write follows, ordered by
// nothing but the program and __syncwarp(). PTX asks for a proxy fence after other reads too; there a
// release or a barrier has waited for them, and pipelines rely on that.
bool access_history::may_be_under_way(const accessor& w, const reader& r, std::size_t offset) const {
  const thread_model& t = w.thread;
  if (!w.behind_proxy() || r.kind != warp_reads || r.strength != 0 || space_of(offset) != space::shared ||
      r.block != t.block || r.unit != t.warp || t.loads_done == nullptr || r.time <= *t.loads_done ||
      !knows(t, r))
    return false;
  for (std::uint32_t lanes = r.lanes; lanes != 0; lanes &= lanes - 1)
    if (!clocks_.knows_fenced(t, space::shared, r.block,
                              static_cast<actor>(r.unit * 32 + std::countr_zero(lanes)), r.time))
      return true;
  return false;
}

void access_history::check_readers(const accessor& w, cell& c, std::size_t offset) {
  const thread_model& t = w.thread;
  if (surely_knows_readers(t, c)) return;
  const auto check = [&](const reader& r) {
    if (r.lanes == 0) return;
    if (r.kind == constant_reads && r.block >= launches_.first())
      return found_(
          w, {.kind = finding_kind::race, .offset = offset, .read = &r, .missing = sentence::ordinary_load});
    if (may_be_under_way(w, r, offset))
      return found_(w, {.kind = finding_kind::missing_proxy_fence,
                        .offset = offset,
                        .read = &r,
                        .missing = sentence::fence_after_reads});
    if (!r.by_copy() && r.block == t.block && r.unit == t.warp && r.lanes == t.lane) return;  // itself
    if (r.by_copy() && w.follows(r.block, r.unit)) return;
    if (strong(r.strength, r.block, w.strength(), t.block)) return;
    if (!knows(t, r) && !observed(t, c, r))
      found_(w, {.kind = r.wrote() || r.kind == made ? finding_kind::race : finding_kind::overwritten_in_use,
                 .offset = offset,
                 .read = &r,
                 .missing = r.kind == made ? sentence::after_allocation : sentence::none});
  };
  check(c.first);
  memory_.each_reader(c, check);
}

void access_history::write_cell(const accessor& w, cell& c, std::size_t offset) {
  check_barrier(w, c, offset);
  check_readers(w, c, offset);
  if (c.has_writer()) check_writer(w, c, offset, finding_kind::overwritten_in_use);
  if (w.reach == scope{})
    memory_.clear_readers(c);
  else
    cover(w, c);
  c.block = w.thread.block;
  c.writer = w.as();
  c.state = w.asynchronous() ? cell_state::copied : cell_state::written;
  c.strength = w.strength();
  c.time = w.time();
  c.place = w.place;
}

void access_history::unlink(std::uint32_t& link) {
  const std::uint32_t gone = std::exchange(link, memory_.group(link).next);
  memory_.group(gone).next = 0;
  memory_.drop_groups(gone);
}

// An ordinary write replaces all earlier accesses: a thread ordered after it is after them, and any other
// thread races with it. An atomic write, about to happen here, does not: another atomic operation may reach
// it unordered and still race with earlier accesses. Those stay remembered, unless whatever reaches this
// write reaches them too.
void access_history::cover(const accessor& w, cell& c) {
  const thread_model& t = w.thread;
  const auto hidden = [&](const reader& r) {
    return r.block < launches_.first_pending() ||
           (reaches(r.strength, w.strength()) && r.block == t.block && knows(t, r));
  };
  if (c.first.lanes != 0 && hidden(c.first)) c.first.lanes = 0;
  reader last{c.block, c.writer, c.strength, copy_wrote, c.time, 1, c.place};
  if (c.writer < clocks_.block(c.block).threads) {
    last.unit = c.writer / 32;
    last.kind = warp_wrote;
    last.lanes = 1u << c.writer % 32;
  }
  const bool covers = c.has_writer() && !hidden(last);
  reader_group* with = nullptr;  // the group that the last write belongs to
  for (std::uint32_t* link = &c.more; *link != 0;) {
    reader_group& g = memory_.group(*link);
    bool any = false;
    for (std::uint32_t warp = 0; warp < g.warps(); ++warp) {
      std::uint32_t& lanes = g.lanes()[warp];
      reader r = g.reader;
      if (!r.by_copy()) r.unit = static_cast<std::uint16_t>(warp);
      r.lanes = lanes;
      if (r.lanes == 0) continue;
      // a later write of a lane replaces its earlier one
      if (covers && r.same_group(last)) r.lanes &= ~last.lanes;
      lanes = r.lanes != 0 && !hidden(r) ? r.lanes : 0;
      any |= lanes != 0;
    }
    const bool same = covers && last.kind == warp_wrote && g.reader.kind == warp_wrote &&
                      g.reader.block == last.block && g.reader.strength == last.strength &&
                      g.reader.time == last.time && g.reader.place == last.place;
    if (same) with = &g;
    if (any || same)
      link = &g.next;
    else
      unlink(*link);
  }
  if (!covers) return;
  (with != nullptr ? *with : memory_.add_group(c, last, warps_of(last))).lanes_of(last) |= last.lanes;
}

// In a loop, a lane's later read by the same instruction replaces its earlier one in the group at `link`.
// False: that group was unlinked.
bool access_history::keeps_beside(std::uint32_t& link, const reader& r) {
  reader_group& g = memory_.group(link);
  if (r.kind != warp_reads || g.reader.kind != warp_reads || g.reader.place != r.place ||
      g.reader.block != r.block || g.reader.strength != r.strength || (g.lanes_of(r) & r.lanes) == 0)
    return true;
  g.lanes_of(r) &= ~r.lanes;
  if (std::any_of(g.lanes(), g.lanes() + g.warps(), [](std::uint32_t lanes) { return lanes != 0; }))
    return true;
  unlink(link);
  return false;
}

// A reader that a later one is ordered after is dropped: whatever is ordered after the later one is after
// it too.
void access_history::add_reader(const thread_model& t, const reader& r, cell& c) {
  reader& first = c.first;
  const block_number pending = launches_.first_pending();
  if (first.lanes != 0 && first.same_group(r) && first.time != r.time && r.kind != constant_reads) {
    if (r.kind == warp_reads) first.lanes &= ~r.lanes;  // the lane's own later read replaces it
    if (r.kind == copy_reads || (first.lanes != 0 && knows(t, first))) first.lanes = 0;
  }
  if (first.lanes == 0 || (!first.wrote() && first.block < pending)) {
    first = r;
    return;
  }
  if (first.same_group(r) && first.time == r.time && first.place == r.place) {
    first.lanes |= r.lanes;
    return;
  }
  bool has_lost[6][6] = {};  // by kind and scope
  for (std::uint32_t* link = &c.more; *link != 0;) {
    reader_group& g = memory_.group(*link);
    const bool alike = g.reader.block == r.block && g.reader.kind == r.kind &&
                       g.reader.strength == r.strength && (r.kind != copy_reads || g.reader.unit == r.unit);
    if (alike && g.reader.time == r.time && g.reader.place == r.place) {
      g.lanes_of(r) |= r.lanes;
      std::uint32_t* behind = &g.next;
      for (int i = 0; i < loop_groups && *behind != 0; ++i)
        if (keeps_beside(*behind, r)) behind = &memory_.group(*behind).next;
      return;
    }
    if (alike && !keeps_beside(*link, r)) continue;
    // A block that has ended without publishing (no release wider than the block) can never be known to
    // others. One such reader is enough for each kind and scope.
    const block_record& from = clocks_.block(g.reader.block);
    const bool lost = g.reader.block >= launches_.first() && from.ended && !from.published;
    bool& standing = has_lost[g.reader.kind][static_cast<std::size_t>(reach_of(g.reader.strength))];
    // Another thread may reach an atomic read without being ordered after it, and not reach what came
    // before.
    const bool reached = r.strength == 0 || reaches(g.reader.strength, r.strength);
    const bool known =
        g.reader.kind == warp_reads &&
        (g.reader.block < pending || (reached && g.reader.block == t.block && g.reader.time <= t.floor));
    if (known || (lost && standing) || (alike && r.kind == copy_reads)) {
      unlink(*link);
      continue;
    }
    standing |= lost;
    link = &g.next;
  }
  memory_.add_group(c, r, warps_of(r)).lanes_of(r) = r.lanes;
}

// accesses by the host
// -----------------------------------------------------------------------------------------------------------

void access_history::host_copy(const accessor& w, std::size_t offset, std::size_t bytes) {
  memory_.visit_alike(offset, bytes, [&](cell& c, std::size_t at, std::size_t) {
    if (!c.exists())
      report_missing(w, c, at);
    else if (w.kind == access_kind::write)
      write_cell(w, c, at);
    else if (c.state != cell_state::uninitialised)  // copying out memory that was never written is allowed
      read_cell(w, c, at);
  });
}

void access_history::allocated(const accessor& w, const void* p) {
  cell c = fresh_cell(cell_state::uninitialised);
  c.first = warp_reader(w.thread, w.place);
  c.first.kind = made;
  memory_.set(p, w.bytes, c);
}

void access_history::host_touch(const accessor& w, const void* p) {
  // Where both are atomic, or the host has read what was released, the scope alone is at fault.
  const auto missing = [&](strength_bits of, bool heard) {
    return heard || (w.reach >= scope::system && of != 0) ? sentence::system_scope : sentence::host_waits;
  };
  const auto both_atomic = [&](strength_bits of) {
    return w.reach >= scope::system && reach_of(of) >= scope::system;
  };
  memory_.visit(memory_.offset_of(p), w.bytes, [&](cell& c, std::size_t at, std::size_t) {
    if (!c.exists()) return report_missing(w, c, at);
    if (c.has_writer() && launches_.unsynchronised(c.block) &&
        !clocks_.host_acquired(c.block, c.writer, c.time) && !both_atomic(c.strength))
      found_(w, {.kind = finding_kind::race,
                 .offset = at,
                 .write = &c,
                 .missing = missing(c.strength, clocks_.host_heard(c.block, c.writer, c.time))});
    if (w.kind == access_kind::read) return;
    const auto all_of = [&](const reader& r, const auto& known) {
      if (r.by_copy()) return known(r.unit);
      for (std::uint32_t lanes = r.lanes; lanes != 0; lanes &= lanes - 1)
        if (!known(static_cast<actor>(r.unit * 32 + std::countr_zero(lanes)))) return false;
      return true;
    };
    const auto acquired = [&](const reader& r) {
      return all_of(r, [&](actor a) { return clocks_.host_acquired(r.block, a, r.time); });
    };
    const auto heard = [&](const reader& r) {
      return all_of(r, [&](actor a) { return clocks_.host_heard(r.block, a, r.time); });
    };
    const auto check = [&](const reader& r) {
      if (r.lanes != 0 && launches_.unsynchronised(r.block) && !both_atomic(r.strength) && !acquired(r))
        found_(w, {.kind = finding_kind::overwritten_in_use,
                   .offset = at,
                   .read = &r,
                   .missing = missing(r.strength, heard(r))});
    };
    check(c.first);
    memory_.each_reader(c, check);
    memory_.clear_readers(c);
    c = fresh_cell(cell_state::written);
  });
}

}  // namespace antiphase::checker_detail
