// SPDX-License-Identifier: Apache-2.0
// What an access finds in the cells it touches.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "accessor.hpp"
#include "places.hpp"

namespace antiphase::checker_detail {
namespace {

std::uintptr_t find_code_base() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&find_code_base), &info);
  return reinterpret_cast<std::uintptr_t>(info.dli_fbase);
}

const char* proxy_fence_missing(space in) {
  return in == space::shared ? "fence_async by the thread that wrote it, before the barrier that orders the two"
                             : "fence_async_global by the thread that wrote it, before what orders the two";
}

}  // namespace

std::uintptr_t code_base = find_code_base();

// places ------------------------------------------------------------------------------------------------------------------------------

place_number model::number_of(source where) {
  const auto key = std::tuple(where.file_name(), static_cast<unsigned>(where.line()), static_cast<unsigned>(where.column()));
  const auto [at, fresh] = source_numbers_.try_emplace(key, from_source | static_cast<place_number>(sources_.size()));
  if (fresh) sources_.push_back(where);
  return at->second;
}

place_number model::number_of_code(const void* code) {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(code) - code_base;
  if (offset < far_code) return static_cast<place_number>(offset);
  const auto at = std::find(far_code_.begin(), far_code_.end(), code);
  if (at == far_code_.end()) far_code_.push_back(code);
  return far_code | static_cast<place_number>(std::find(far_code_.begin(), far_code_.end(), code) - far_code_.begin());
}

place_number model::number_of(const void* code, source where) {
  const place_number p = number_of_code(code);
  also_.try_emplace(p, where);
  return p;
}

std::vector<code_place> model::lines(place_number p) const {
  const auto line_of = [](const source& s) { return std::vector<code_place>{{shown(s.file_name()), static_cast<int>(s.line())}}; };
  if ((p & from_source) != 0) return line_of(sources_[p & ~from_source]);
  auto all = lines_of(code_of(p));
  if (const auto at = also_.find(p); all.empty() && at != also_.end()) return line_of(at->second);
  return all;
}

code_place model::first_line(place_number p) const {
  const std::vector<code_place> all = lines(p);
  const auto at = std::ranges::find_if_not(all, is_machinery);
  return all.empty() ? code_place{} : at == all.end() ? all.front() : *at;
}

const void* model::code_of(place_number p) const {
  if ((p & from_source) != 0) return nullptr;
  return (p & far_code) != 0 ? far_code_[p & ~far_code] : reinterpret_cast<const void*>(code_base + p);
}

// accesses ----------------------------------------------------------------------------------------------------------------------------

void model::access(const void* p, std::size_t bytes, access_kind kind, const void* code) {
  if (bytes == 0) return;
  if (current_ == nullptr) {
    if (host_touches != nullptr) host_touches(p, bytes, kind, code);
    return;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  if (address >= stack_low && address < stack_high) return;
  if (kind == access_kind::write) {
    wrote(p);
  } else if (std::exchange(last_slow_read_, std::pair(p, code)) == std::pair(p, code)) {
    read_again(p, bytes, code);
  }
  const accessor w{.thread = *current_, .kind = kind, .place = number_of_code(code), .bytes = bytes};
  const auto of_host = [&] {  // and may be used
    return (address >= params_low_ && address + bytes <= params_high_) || (host_allows != nullptr && host_allows(address, bytes, kind));
  };
  if (log && (is_followed(p, bytes) || !of_host()))
    write_down(kind == access_kind::read ? event_kind::read : event_kind::write, p, bytes, w.place);
  if (reachable(w, p, bytes)) visit(w, p, bytes);
}

void model::write_down(event_kind kind, const void* p, std::size_t bytes, place_number place) {
  log->access({current_->block, current_->index}, kind, followed(p), bytes, place);
}

// Memory of the device goes on to visit(); of the host's, some may be used.
bool model::reachable(const accessor& w, const void* p, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  if (address - memory_.lowest() < memory_.size() && bytes <= memory_.size() - (address - memory_.lowest())) return true;
  if (address >= stack_low && address < stack_high) return false;
  if (is_variable(p) && address + bytes <= variables_high_) return true;
  if (w.kind == access_kind::read && address >= params_low_ && address + bytes <= params_high_) return false;
  if (host_allows != nullptr && host_allows(address, bytes, w.kind)) return false;
  report(w, finding_kind::outside_memory, ~std::size_t{0}, nullptr, nullptr,
         fmt::format("address {:#x} is host memory or none at all: a kernel reaches what its executor allocates", address));
  if (stop != nullptr) stop("a kernel left the memory it may touch");
  return false;
}

void model::visit(const accessor& w, const void* p, std::size_t bytes) {
  if (has_taken_long() && stop != nullptr) {
    say(fmt::format(
        "runs were ended within kernel {}, where they had taken long: what comes behind that is not judged. --blocks all does not "
        "end them",
        kernel_));
    most_effort = 0;
    stop("enough");
  }
  p = followed(p);
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - memory_.lowest();
  if (offset >= memory_.size() || bytes > memory_.size() - offset) {  // an asynchronous copy's, or a barrier's
    reachable(w, p, bytes);
    return;
  }
  const block_record& own = blocks_[w.thread.block];
  if (offset < shadow::shared_bytes && (offset < own.lowest || offset + bytes > own.highest)) {
    const block_number other = owner_of(w.thread.block, offset, bytes);
    if (other == 0) {
      report(w, finding_kind::outside_memory, offset, nullptr, nullptr,
             fmt::format("the block has {} bytes of shared memory", own.highest - own.lowest));
      return;
    }
    if (!has_begun(w.thread, other))
      report(w, finding_kind::outside_memory, offset, nullptr, nullptr,
             "a cluster barrier before it: nothing says that the other block has begun");
  }
  ++accesses_;
  bool out = false;
  memory_.visit(offset, bytes, [&](cell& c, std::size_t at, std::size_t) {
    if (c.state == cell_state::nobodys || c.state == cell_state::freed) {
      if (!out)
        report(w, finding_kind::outside_memory, at, nullptr, nullptr,
               c.state == cell_state::freed ? "the memory has been given back" : "nobody allocated it");
      out = true;
    } else if (w.kind == access_kind::read) {
      read_cell(w, c, at);
    } else {
      write_cell(w, c, at);
    }
  });
}

bool model::reads_anew(const void* p, std::size_t bytes, const void* code) {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(followed(p)) - memory_.lowest(), end = offset + bytes;
  const thread_model& t = *current_;
  if (has_taken_long() || last_slow_read_ == std::pair(p, code) || !surely_reaches(t, offset, bytes)) return false;
  for (std::size_t at = offset; at < end; at += 4)
    if (!surely_knows_writer(t, memory_.touched(at))) return false;
  const reader r = warp_reader(t, number_of_code(code));
  for (std::size_t at = offset; at < end; at += 4) add_reader(t, r, memory_.touched(at));
  last_slow_read_ = {p, code};
  ++accesses_;
  if (log) [[unlikely]]
    write_down(event_kind::read, p, bytes, r.place);
  return true;
}

bool model::writes_anew(const void* p, std::size_t bytes, const void* code) {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(followed(p)) - memory_.lowest(), end = offset + bytes;
  const thread_model& t = *current_;
  if (has_taken_long() || !surely_reaches(t, offset, bytes)) return false;
  for (std::size_t at = offset; at < end; at += 4) {
    const cell& c = memory_.touched(at);
    if ((c.state != cell_state::uninitialised && !surely_knows_writer(t, c)) || !surely_knows_readers(t, c)) return false;
  }
  const place_number place = number_of_code(code);
  for (std::size_t at = offset; at < end; at += 4) write_over(memory_.touched(at), t, place);
  ++accesses_;
  if (log) [[unlikely]]
    write_down(event_kind::write, p, bytes, place);
  return true;
}

// The block of the same cluster, still running, whose shared memory that is; 0: none.
block_number model::owner_of(block_number of_cluster, std::size_t offset, std::size_t bytes) const {
  const std::uint32_t cluster = blocks_[of_cluster].cluster;
  for (const auto& b : alive_) {
    const block_record& r = blocks_[b->number];
    if (cluster != 0 && r.cluster == cluster && offset >= r.lowest && offset + bytes <= r.highest) return b->number;
  }
  return 0;
}

// Whether a thread may count on another block of its cluster: blocks of a cluster are all resident, but begin one after the other. Who has
// learned anything from one of its threads knows, and so does everybody whose block has met at the cluster's barrier, whether or not its
// arrivals released anything.
bool model::has_begun(const thread_model& t, block_number other) const { return blocks_[t.block].met || t.known->of(other) != nullptr; }

// Atomic operations on the same memory do not race if each reaches the other.
bool model::strong(scope a, block_number block_a, scope b, block_number block_b) const {
  if (a == scope{} || b == scope{}) return false;
  const scope narrower = std::min(a, b);
  if (block_a == block_b || narrower >= scope::device) return true;
  return narrower == scope::cluster && blocks_[block_a].cluster != 0 && blocks_[block_a].cluster == blocks_[block_b].cluster;
}

// The engines behind bulk copies and Tensor Cores see ordinary writes, which threads and cp.async do, through a fence only.
bool model::needs_fence(const accessor& w, const cell& c, std::size_t offset) const {
  if (!w.behind_proxy() || w.init_fenced || c.block == 0) return false;
  const block_record& r = blocks_[c.block];
  const bool ordinary = c.writer < r.threads || r.actors[static_cast<std::size_t>(c.writer - r.threads)].kind == actor_kind::copies;
  return ordinary && !knows_fenced(w.thread, space_of(offset), c.block, c.writer, c.time);
}

void model::read_cell(const accessor& w, cell& c, std::size_t offset) {
  const thread_model& t = w.thread;
  if (c.state == cell_state::uninitialised) {
    if (!forgiving_ || offset < shadow::shared_bytes)
      report(w, finding_kind::uninitialised, offset, nullptr, nullptr, "a write before it");
    else
      w.thread.misled = misled_ = true;
  } else if (!surely_knows_writer(t, c) && !knows(t, c.block, c.writer, c.time)) {
    if (!strong(static_cast<scope>(c.scope), c.block, w.reach, t.block))
      report(w, c.state == cell_state::copied ? finding_kind::read_before_landing : finding_kind::race, offset, &c, nullptr, {});
  } else if (needs_fence(w, c, offset)) {
    report(w, finding_kind::missing_proxy_fence, offset, &c, nullptr, proxy_fence_missing(space_of(offset)));
  }
  if (c.more != 0 && c.scope != 0)
    each_reader(c, [&](const reader& r) {
      if (r.wrote() && !strong(static_cast<scope>(r.scope), r.block, w.reach, t.block) && !knows(t, r))
        report(w, finding_kind::race, offset, nullptr, &r, {});
    });
  if (w.updates) return;
  reader r = warp_reader(t, w.place);
  r.scope = static_cast<std::uint8_t>(w.reach);
  if (w.asynchronous()) {
    r.unit = w.number;
    r.kind = copy_reads;
    r.time = w.group;
    r.lanes = 1;
  }
  add_reader(t, r, c);
}

// The last write is an atomic operation that has read what an earlier one had written, as has everybody who comes behind it: whether or not
// it acquired anything, both of them are past.
bool model::observed(const thread_model& t, const cell& c, const reader& r) const {
  return r.wrote() && c.scope != 0 && updates_.contains(c.place) &&
         strong(static_cast<scope>(c.scope), c.block, static_cast<scope>(r.scope), r.block) && knows(t, c.block, c.writer, c.time);
}

void model::check_readers(const accessor& w, cell& c, std::size_t offset) {
  thread_model& t = w.thread;
  if (surely_knows_readers(t, c)) return;
  const auto check = [&](const reader& r) {
    if (r.lanes == 0) return;
    if (!r.by_copy() && r.block == t.block && r.unit == t.warp && r.lanes == t.lane) return;  // oneself
    if (strong(static_cast<scope>(r.scope), r.block, w.reach, t.block)) return;
    if (!knows(t, r) && !observed(t, c, r))
      report(w, r.wrote() ? finding_kind::race : finding_kind::overwritten_in_use, offset, nullptr, &r, {});
  };
  check(c.first);
  each_reader(c, check);
}

void model::write_cell(const accessor& w, cell& c, std::size_t offset) {
  thread_model& t = w.thread;
  check_readers(w, c, offset);
  if (c.state == cell_state::written || c.state == cell_state::copied) {
    if (!surely_knows_writer(t, c) && !knows(t, c.block, c.writer, c.time)) {
      if (!strong(static_cast<scope>(c.scope), c.block, w.reach, t.block))
        report(w, c.state == cell_state::copied ? finding_kind::overwritten_in_use : finding_kind::race, offset, &c, nullptr, {});
    } else if (needs_fence(w, c, offset)) {
      report(w, finding_kind::missing_proxy_fence, offset, &c, nullptr, proxy_fence_missing(space_of(offset)));
    }
  }
  if (w.reach == scope{})
    memory_.clear_readers(c);
  else
    cover(w, c);
  c.block = t.block;
  c.writer = w.as();
  c.state = w.asynchronous() ? cell_state::copied : cell_state::written;
  c.scope = static_cast<std::uint8_t>(w.reach);
  c.time = w.time();
  c.place = w.place;
}

// Who is ordered behind an ordinary write is behind all that came before it, and who is not races with it. Not so with an atomic write,
// about to happen: others may reach it unordered, and race with what came before. All of that is remembered, but for what whoever reaches
// the write reaches too.
void model::cover(const accessor& w, cell& c) {
  const thread_model& t = w.thread;
  const auto hidden = [&](const reader& r) {
    return r.block < first_pending_ || (static_cast<scope>(r.scope) >= w.reach && r.block == t.block && knows(t, r));
  };
  if (c.first.lanes != 0 && hidden(c.first)) c.first.lanes = 0;
  reader last{c.block, c.writer, c.scope, copy_wrote, c.time, 1, c.place};
  if (c.writer < blocks_[c.block].threads) {
    last.unit = c.writer / 32;
    last.kind = warp_wrote;
    last.lanes = 1u << c.writer % 32;
  }
  const bool covers = (c.state == cell_state::written || c.state == cell_state::copied) && !hidden(last);
  reader_group* with = nullptr;  // the last write belongs to it
  for (std::uint32_t* link = &c.more; *link != 0;) {
    reader_group& g = memory_.group(*link);
    bool any = false;
    for (std::uint32_t warp = 0; warp < g.warps(); ++warp) {
      std::uint32_t& lanes = g.lanes()[warp];
      reader r = g.of;
      if (!r.by_copy()) r.unit = static_cast<std::uint16_t>(warp);
      r.lanes = lanes;
      if (r.lanes == 0) continue;
      if (covers && r.same_group(last)) r.lanes &= ~last.lanes;  // the later write of a lane stands for its earlier one
      lanes = r.lanes != 0 && !hidden(r) ? r.lanes : 0;
      any |= lanes != 0;
    }
    const bool same = covers && last.kind == warp_wrote && g.of.kind == warp_wrote && g.of.block == last.block &&
                      g.of.scope == last.scope && g.of.time == last.time && g.of.place == last.place;
    if (same) with = &g;
    if (any || same) {
      link = &g.next;
      continue;
    }
    const std::uint32_t gone = std::exchange(*link, g.next);
    g.next = 0;
    memory_.drop_groups(gone);
  }
  if (!covers) return;
  (with != nullptr ? *with : memory_.add_group(c, last, warps_of(last))).lanes_of(last) |= last.lanes;
}

// Readers that a later reader is ordered behind need not be remembered: who is ordered behind the later one is behind them too.
void model::add_reader(const thread_model& t, const reader& r, cell& c) {
  reader& first = c.first;
  if (first.lanes != 0 && first.same_group(r) && first.time != r.time) {
    if (r.kind == warp_reads) first.lanes &= ~r.lanes;  // the lane's own later read stands for it
    if (r.kind == copy_reads || (first.lanes != 0 && knows(t, first))) first.lanes = 0;
  }
  if (first.lanes == 0 || (!first.wrote() && first.block < first_pending_)) {
    first = r;
    return;
  }
  if (first.same_group(r) && first.time == r.time && first.place == r.place) {
    first.lanes |= r.lanes;
    return;
  }
  bool has_lost[4][5] = {};  // by kind and scope
  for (std::uint32_t* link = &c.more; *link != 0;) {
    reader_group& g = memory_.group(*link);
    const bool alike =
        g.of.block == r.block && g.of.kind == r.kind && g.of.scope == r.scope && (r.kind != copy_reads || g.of.unit == r.unit);
    if (alike && g.of.time == r.time && g.of.place == r.place) {
      g.lanes_of(r) |= r.lanes;
      return;
    }
    // Of blocks that have ended without ever telling others how far they were, one reader stands for all of its kind: nobody who comes can
    // know of any of them.
    const block_record& from = blocks_[g.of.block];
    const bool lost = g.of.block >= launch_first_ && from.ended && !from.published;
    bool& standing = has_lost[g.of.kind][g.of.scope];
    // Others may reach an atomic read without being ordered behind it, and not reach what came before.
    const bool reached = r.scope == 0 || g.of.scope >= r.scope;
    const bool known =
        g.of.kind == warp_reads && (g.of.block < first_pending_ || (reached && g.of.block == t.block && g.of.time <= t.floor));
    if (known || (lost && standing) || (alike && r.kind == copy_reads)) {
      const std::uint32_t gone = std::exchange(*link, g.next);
      g.next = 0;
      memory_.drop_groups(gone);
      continue;
    }
    standing |= lost;
    link = &g.next;
  }
  memory_.add_group(c, r, warps_of(r)).lanes_of(r) = r.lanes;
}

// by the host ---------------------------------------------------------------------------------------------------------------------------

void model::free(void* p) {
  if (p != nullptr) memory_.free(p);
}

// A copy by the host's order is a launch of its own, of one thread.
bool model::host_access(const void* p, std::size_t bytes, access_kind kind, stream on, const char* what) {
  if (bytes == 0) return true;
  p = followed(p);
  std::string launched = kernel_;
  begin_launch(what, nullptr, 0, on);
  blocks_.emplace_back().threads = 1;
  static stamp time = 1;
  thread_model t;
  auto start = boost::intrusive_ptr<knowledge>(new knowledge);
  start->block = t.block = static_cast<block_number>(blocks_.size() - 1);
  start->own = new view;
  t.lane = 1;
  t.time = &time;
  learn(t, start);
  accessor w{.thread = t, .kind = kind, .place = number_of(host_place.line() != 0 ? host_place : source::current()), .bytes = bytes};
  w.what = what;
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - memory_.lowest();
  const bool exists = offset < memory_.size() && bytes <= memory_.size() - offset;
  if (!exists)
    report(w, finding_kind::outside_memory, ~std::size_t{0}, nullptr, nullptr, "the executor did not allocate this memory");
  else
    memory_.visit_alike(offset, bytes, [&](cell& c, std::size_t at, std::size_t) {
      if (c.state == cell_state::nobodys || c.state == cell_state::freed)
        report(w, finding_kind::outside_memory, at, nullptr, nullptr,
               c.state == cell_state::freed ? "the memory has been given back" : "nobody allocated it");
      else if (kind == access_kind::write)
        write_cell(w, c, at);
      else if (c.state != cell_state::uninitialised)  // what nobody has written may be copied out
        read_cell(w, c, at);
    });
  blocks_.back().ended = true;
  end_launch();
  chain_.pop_back();  // only kernels overlap
  kernel_ = std::move(launched);
  return exists;
}

// findings ------------------------------------------------------------------------------------------------------------------------------

model::found& model::entry(finding_kind kind, place_number at, place_number earlier, bool has_earlier, bool& fresh) {
  const auto [i, is_new] = entries_.try_emplace({kind, at, has_earlier ? earlier : ~0u}, findings_.size());
  fresh = is_new;
  if (is_new) {
    found f;
    f.what.kind = kind;
    f.what.kernel = kernel_;
    f.at = at;
    f.earlier = earlier;
    f.has_earlier = has_earlier;
    findings_.push_back(std::move(f));
  }
  ++findings_[i->second].what.times;
  return findings_[i->second];
}

namespace {

const char* copy_name(actor_kind k) {
  switch (k) {
    case actor_kind::copies: return "asynchronous copy";
    case actor_kind::stores_reading:
    case actor_kind::stores_writing: return "bulk store";
    case actor_kind::matrix: return "Tensor Core operation";
    case actor_kind::loads: return "bulk load";
    case actor_kind::thread: break;
  }
  return "access";
}

std::string ordered_by(scope reach) { return reach == scope{} ? "" : "atomic "; }

}  // namespace

finding_side model::side_of(const accessor& w) const {
  const block_record& r = blocks_[w.thread.block];
  finding_side side{.action = {}, .at = {}, .through = {}, .callers = {}, .block = r.index, .thread = w.thread.index, .when = {}};
  if (!w.what.empty())
    side.action = w.what;
  else if (w.asynchronous())
    side.action = fmt::format("{} of {} bytes {}", copy_name(w.by), w.bytes, w.kind == access_kind::read ? "from it" : "into it");
  else
    side.action = fmt::format("{}{} of {} bytes", ordered_by(w.reach), w.kind == access_kind::read ? "read" : "write", w.bytes);
  if (w.thread.barriers > 0) side.when = fmt::format("after {} block barrier{}", w.thread.barriers, w.thread.barriers == 1 ? "" : "s");
  if (w.by == actor_kind::copies) side.when += fmt::format("{}in copy group {}", side.when.empty() ? "" : ", ", w.group);
  if (w.by == actor_kind::loads) side.when += fmt::format("{}in phase {} of its mbarrier", side.when.empty() ? "" : ", ", w.group);
  return side;
}

finding_side model::side_of_write(const cell& c) const {
  const block_record& r = blocks_[c.block];
  finding_side side{.action = {}, .at = {}, .through = {}, .callers = {}, .block = r.index, .thread = c.writer, .when = {}};
  if (c.writer < r.threads) {
    side.action = ordered_by(static_cast<scope>(c.scope)) + "write";
    return side;
  }
  const actor_record& a = r.actors[static_cast<std::size_t>(c.writer - r.threads)];
  side.action = copy_name(a.kind);
  side.thread = a.thread;
  side.when = a.kind == actor_kind::loads ? fmt::format("in phase {} of its mbarrier", c.time) : fmt::format("in group {}", c.time);
  return side;
}

finding_side model::side_of_reader(const reader& r) const {
  const block_record& b = blocks_[r.block];
  finding_side side{.action = {}, .at = {}, .through = {}, .callers = {}, .block = b.index, .thread = 0, .when = {}};
  if (r.by_copy()) {
    const actor_record& a = b.actors[static_cast<std::size_t>(r.unit - b.threads)];
    side.action = fmt::format("{} {} it", copy_name(a.kind), r.wrote() ? "into" : "from");
    side.thread = a.thread;
    side.when = fmt::format("in group {}", r.time);
  } else {
    side.action = ordered_by(static_cast<scope>(r.scope)) + (r.kind == warp_wrote ? "write" : "read");
    side.thread = r.unit * 32 + __builtin_ctz(r.lanes);
  }
  return side;
}

std::string model::missing_edge(const accessor& w, const cell* write, const reader* read) const {
  const thread_model& t = w.thread;
  const block_number other = write != nullptr ? write->block : read->block;
  const block_record& r = blocks_[other];
  if (other < launch_first_ && ordered_launch(other)) return "wait_for_previous_grid: the launch before may not have ended";
  if (other < launch_first_) return "the launches are on different streams, and nobody synchronised them";
  const actor a = write != nullptr ? write->writer : read->by_copy() ? read->unit : static_cast<actor>(read->unit * 32);
  const auto theirs = static_cast<scope>(write != nullptr ? write->scope : read->scope);
  if (a >= r.threads) {
    const actor_record& c = r.actors[static_cast<std::size_t>(a - r.threads)];
    const bool mine = c.thread == t.index && other == t.block;
    switch (c.kind) {
      case actor_kind::copies:
        return mine ? "copy_async_wait that leaves fewer groups in flight (in CUDA: __pipeline_wait_prior, cp.async.wait_group)"
                    : "copy_async_wait by the thread that copies, and a barrier after it (in CUDA: __pipeline_wait_prior, "
                      "cp.async.wait_group)";
      case actor_kind::loads: return "a wait for the end of the mbarrier's phase that counts the copy";
      case actor_kind::stores_reading: return mine ? "bulk_wait_read" : "bulk_wait_read by the thread that stores, and a barrier after it";
      case actor_kind::stores_writing: return mine ? "bulk_wait" : "bulk_wait by the thread that stores, and an order after it";
      case actor_kind::matrix:
        return c.thread / 32 == t.index / 32 && other == t.block
                   ? "a wait for the group of the Tensor Core operation"
                   : "a wait for the group of the Tensor Core operation by the warp that issued it, and a barrier after it";
      case actor_kind::thread: break;
    }
  }
  const bool one_cluster = r.cluster != 0 && r.cluster == blocks_[t.block].cluster;
  if (theirs != scope{} && w.reach != scope{} && other != t.block) {
    const bool block_scope = std::min(theirs, w.reach) == scope::block;
    return fmt::format("{} scope does not reach another {}: {} scope", block_scope ? "block" : "cluster", block_scope ? "block" : "cluster",
                       one_cluster ? "cluster" : "device");
  }
  if (other != t.block && one_cluster) return "a cluster barrier, or a release and an acquire at cluster scope, between the two";
  if (other != t.block) return "blocks of a launch are ordered by a release and an acquire at device scope only: these, or two launches";
  if (read != nullptr && !read->wrote()) {
    const block_record& own = blocks_[t.block];
    const bool has_slots = !shared_by_variables_ || barriers_.lower_bound(own.lowest) != barriers_.lower_bound(own.highest);
    if (has_slots) return "a barrier between their reading and this: the slot has not been released";
    return fmt::format("{} between the two: this is written before all threads have read what was there",
                       read->unit == t.warp ? "a __syncwarp() or __syncthreads()" : "a __syncthreads()");
  }
  return "a block barrier, or another barrier that both take part in, between the two";
}

std::string model::describe_memory(const accessor& w, std::size_t offset) const {
  if (offset == ~std::size_t{0}) return {};
  const block_record& own = blocks_[w.thread.block];
  if (offset < shadow::shared_bytes) {
    if (shared_place != nullptr && offset >= own.lowest && offset < own.highest) return shared_place(offset - own.lowest);
    if (offset >= own.lowest && offset < own.highest) return fmt::format("shared memory, byte {}", offset - own.lowest);
    if (offset >= own.highest && offset - own.highest < 1024)
      return fmt::format("shared memory, {} bytes behind its end", offset - own.highest);
    if (const block_number other = owner_of(w.thread.block, offset, 1); other != 0) {
      const block_record& r = blocks_[other];
      return fmt::format("shared memory of block ({}, {}, {}), byte {}", r.index.x, r.index.y, r.index.z, offset - r.lowest);
    }
    return "shared memory of another block, or of none";
  }
  const std::uintptr_t address = memory_.lowest() + offset;
  const auto bytes_between = [](std::uintptr_t from, const void* to) { return reinterpret_cast<std::uintptr_t>(to) - from; };
  const auto [start, next] = memory_.allocations_beside(reinterpret_cast<const void*>(address));
  if (start == nullptr && next == nullptr) return "global memory that nobody allocated";
  const std::size_t from = start != nullptr ? address - reinterpret_cast<std::uintptr_t>(start) : 0,
                    bytes = start != nullptr ? memory_.allocated(start) : 0;
  if (start != nullptr && from < bytes) {
    if (start != variables_ || variable_name == nullptr) return fmt::format("global memory, byte {} of {} allocated", from, bytes);
    return "the device's variable " + variable_name(reinterpret_cast<const void*>(variables_low_ + from));
  }
  // Of nobody's memory: what is meant is the allocation that is closer.
  const auto named = [&](const void* a) {
    return a == variables_ ? std::string("the device's variables") : fmt::format("{} allocated", memory_.allocated(a));
  };
  if (next != nullptr && (start == nullptr || bytes_between(address, next) < from - bytes))
    return fmt::format("global memory, {} bytes before the {}", bytes_between(address, next), named(next));
  return fmt::format("global memory, {} bytes behind the end of {}", from - bytes, named(start));
}

void model::report(const accessor& w, finding_kind kind, std::size_t offset, const cell* earlier_write, const reader* earlier_reader,
                   std::string missing) {
  if (w.thread.misled) return say_misled();
  const bool has_earlier = earlier_write != nullptr || earlier_reader != nullptr;
  const place_number earlier = earlier_write != nullptr ? earlier_write->place : earlier_reader != nullptr ? earlier_reader->place : 0;
  bool fresh = false;
  found& f = entry(kind, w.place, earlier, has_earlier, fresh);
  if (!fresh) return;
  if (&w.thread == current_) f.callers = callers_of(code_of(w.place));
  f.what.memory = describe_memory(w, offset);
  f.what.access = side_of(w);
  if (earlier_write != nullptr) f.what.earlier = side_of_write(*earlier_write);
  if (earlier_reader != nullptr) f.what.earlier = side_of_reader(*earlier_reader);
  f.what.missing = !missing.empty() ? std::move(missing) : has_earlier ? missing_edge(w, earlier_write, earlier_reader) : std::string();
  if (!log) return;
  event_log::question q{.now = {{w.thread.block, w.thread.index}, w.place, f.what.access.action},
                        .earlier = {},
                        .memory = offset == ~std::size_t{0} ? 0 : memory_.lowest() + offset};
  if (has_earlier)
    q.earlier = {
        {earlier_write != nullptr ? earlier_write->block : earlier_reader->block, f.what.earlier->thread}, earlier, f.what.earlier->action};
  f.drawn = log->taken(q);
}

}  // namespace antiphase::checker_detail
