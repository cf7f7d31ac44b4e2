// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "checker/order/missing.hpp"
#include "checker/order/places.hpp"
#include "checker/runs/process/process.hpp"

namespace antiphase::checker_detail {

thread_local constinit model* active = nullptr;

model::model() {
  history.takes_long = [this](const accessor& w) {
    if (history.end_long_run == nullptr) return;
    if (begins_few && effort_of_launch() > history.effort.most / 2)
      unfinished_at = w.place;  // told later: libdw needs more stack than a kernel's thread has
    else
      findings.say(fmt::format(
          "runs were stopped within kernel {}, after too many accesses: nothing after that is checked. "
          "--blocks all does not stop them",
          findings.kernel));
    history.effort.most = 0;
    history.end_long_run();
  };
}

void model::reset() {
  launches = {};
  clocks.reset();
  counts.reset();
  times.reset();
  streams.reset();
  writes_down = false;
  memory.reset();
  barriers.clear();
  atomics.reset();
  old.reset();
  hints.reset();
  findings.reset();
  history.reset();
  custom.reset();
  unsettled_ = false;
  current_ = nullptr;
  misled_before_ = starts_dependents = begins_few = false;
  unfinished_at = 0;
  ended_at.clear();
  brought_old.reset();
  host_read_ = nullptr;
  host_place = {};
  host_stages = false;
  host_touches = nullptr;
  host_finds_old = nullptr;
  host_reads_atomically = nullptr;
  block_ends = nullptr;
  schedule_begins = nullptr;
}

// launches, blocks, threads
// -----------------------------------------------------------------------------------------------------------

void model::begin_launch(const char* kernel, const void* params, std::size_t params_bytes, stream on,
                         overlap with_previous) {
  if (clocks.log != nullptr) clocks.log->begin_launch();
  findings.kernel = kernel;
  constants_written_ = false;
  if (counts) counts->begin_launch(kernel);
  effort_before_ = history.effort.total();
  misled_before_ = history.misled();  // what a misled thread wrote may mislead later ones
  host.params = {reinterpret_cast<std::uintptr_t>(params), params != nullptr ? params_bytes : 0};
  launches.begin(on, clocks.next_block(), with_previous);
  history.read_only.clear();
  if (launches.previous() != 0) clocks.add_block({});
  if (launches.previous() == 0) atomics.begin_launch(), hints.begin_launch();
  lockstep.begin_launch();
}

void model::wait_for_launch(thread_model& t) {
  starts_dependents = true;
  launches.waits(t.block);
  clocks.wait_for_launch(t);
}

void model::start_next_launch(thread_model& t) {
  starts_dependents = true;
  ++*t.time;  // later accesses come after it
  launches.lets_begin(t.block, t.as_actor(), *t.time, clocks.has_waited(t));
}

void model::end_launch() {
  count_followed(history.effort.accesses);
  launches.end(clocks.next_block());
  clocks.end_launch();  // blocks left by a launch that failed
  barriers.clear();
}

block_model* model::begin_block(extent3 index, int threads, unsigned char* shared, std::size_t shared_bytes,
                                std::uint32_t cluster) {
  if (shared_bytes > 0)
    memory.set(shared, shared_bytes,
               memory.shared_by_variables ? cell_state::nobodys : cell_state::uninitialised);
  const auto low = static_cast<std::uint32_t>(shared - memory.shared());
  block_model* const b = clocks.begin_block({.index = index,
                                             .threads = threads,
                                             .cluster = cluster,
                                             .lowest = low,
                                             .highest = low + static_cast<std::uint32_t>(shared_bytes),
                                             .actors = {}});
  for (thread_model& t : b->threads) t.misled = misled_before_;
  return b;
}

void model::end_block(block_model& b) {
  if (block_ends != nullptr) block_ends(b.number);
  lockstep.end_block(b.number);
  if (streams) streams->end_block(b.number);
  if (times) times->end_block(b.number);
  const auto unwaited = barriers.end_block(b);
  clocks.end_block(b);
  for (const mbarrier_order::counted_copy& c : unwaited)
    left_behind(c.block, c.thread, c.place,
                c.tracked != 0 ? "asynchronous copy that no thread had waited for when its block ended"
                               : "bulk load that no thread had waited for when its block ended",
                sentence::phase_until_end);
}

void model::end_thread(const thread_model& t) {
  if (streams) streams->ended(t);
  if (t.copies.in_flight()) {
    const block_record& b = clocks.block(t.block);
    const auto& arrivals = b.actors[static_cast<std::size_t>(t.copies.number - b.threads)].arrivals;
    const bool arrived = !arrivals.empty() && arrivals.back().group >= t.copies.last_used;
    left_behind(t.block, t.index, t.copies.last_place, "asynchronous copy in flight when its thread ended",
                arrived ? sentence::plain_arrival : sentence::copy_until_end);
  }
  if (const own_actor& products = t.tensor[0]; products.in_flight())
    left_behind(t.block, t.index, products.last_place,
                "Tensor Core operation in flight when its thread ended", sentence::tensor_commit_until_end);
  if (t.stores_read.in_flight())
    left_behind(t.block, t.index, t.stores_read.last_place,
                "bulk store that had not read its source when its thread ended", sentence::store_until_end);
}

void model::left_behind(block_number block, int thread, place_number place, const char* action,
                        sentence missing) {
  finding f{.kind = finding_kind::never_waited_for,
            .kernel = findings.kernel,
            .memory = {},
            .access = {.action = action,
                       .place = {},
                       .through = {},
                       .block = clocks.block(block).index,
                       .thread = thread,
                       .moment = {}},
            .earlier = {},
            .missing = missing,
            .first = {}};
  findings.note(std::move(f), place,
                event_log::question{.now = {{block, thread}, place, action}, .earlier = {}});
}

void model::set_current(thread_model* t) {
  settle();
  ++history.effort.aside;
  current_ = t;
  loops.thread_runs();
}

void model::meet(std::span<thread_model* const> threads, meeting of, const void* code) {
  old.met(threads);
  hints.met(threads);
  if (streams && (!times || times->wants(*threads.front()))) {
    streams->met(threads, places.number_of_code(code));
    if (times)
      for (const thread_model* t : threads) times->met(*t);
  }
  clocks.meet(threads, of);
}

// accesses
// -----------------------------------------------------------------------------------------------------------

void model::access(const void* p, std::size_t bytes, access_kind kind, const void* code) {
  if (bytes == 0) return;
  if (current_ == nullptr) {
    if (host_touches != nullptr) host_touches(p, bytes, kind, code, {});
    return;
  }
  if (host.on_stack(reinterpret_cast<std::uintptr_t>(p))) return;
  if (constants.holds(reinterpret_cast<std::uintptr_t>(p))) {
    if (kind == access_kind::write)
      constants_written_ = true;
    else if (constants_written_)
      return read_constant(p, bytes, code, "read of a constant");
  }
  if (kind == access_kind::write)
    loops.wrote(p);
  else if (std::exchange(last_slow_read_, std::pair(p, code)) == std::pair(p, code))
    loops.read_again(p, bytes, code);
  const accessor w{.thread = *current_, .kind = kind, .place = places.number_of_code(code), .bytes = bytes};
  if (kind == access_kind::read && history.reads_later(*current_, p, w.place))
    loops.read_later(p, bytes, code);
  if (writes_down && (memory.follows(p, bytes) || !host.allows(p, bytes, kind)))
    write_down(kind == access_kind::read ? event_kind::read : event_kind::write, p, bytes, w.place);
  history.visit(w, p, bytes);
}

void model::read_constant(const void* p, std::size_t bytes, const void* code, const char* by_cache) {
  old.put_back();
  if (host.on_stack(reinterpret_cast<std::uintptr_t>(p))) return;
  if (by_cache != nullptr && history.written_before(*current_, p, bytes) && reads_anew(p, bytes, code))
    return;
  if (std::exchange(last_slow_read_, std::pair(p, code)) == std::pair(p, code))
    loops.read_again(p, bytes, code);
  if (by_cache == nullptr && !writes_down && history.reads_constant_again(*current_, p, bytes)) return;
  const accessor w{.thread = *current_,
                   .kind = access_kind::read,
                   .place = places.number_of_code(code),
                   .bytes = bytes,
                   .text = by_cache != nullptr ? by_cache : "read-only load",
                   .constant = by_cache == nullptr,
                   .cached = by_cache != nullptr};
  if (writes_down && memory.follows(p, bytes)) write_down(event_kind::read, p, bytes, w.place);
  history.visit(w, p, bytes);
}

void model::discard(const void* p, std::size_t bytes, const void* code) {
  if (current_ == nullptr || bytes == 0 || !memory.follows(p, bytes)) return;
  settle();
  loops.wrote(p);
  const accessor w{.thread = *current_,
                   .kind = access_kind::write,
                   .place = places.number_of_code(code),
                   .bytes = bytes,
                   .text = "discard"};
  if (writes_down) write_down(event_kind::write, p, bytes, w.place);
  history.visit(w, p, bytes);
  memory.set(p, bytes, cell_state::uninitialised);
}

void model::write_down(event_kind kind, const void* p, std::size_t bytes, place_number place) {
  if (clocks.log != nullptr) {
    const event_log::who by{current_->block, current_->index};
    clocks.log->access(by, kind, memory.followed(p), bytes, place);
    if (kind != event_kind::read && memory.follows(p, bytes)) clocks.log->stores(by, p, bytes);
  }
  count(*current_,
        kind == event_kind::read    ? line_action::read
        : kind == event_kind::write ? line_action::write
                                    : line_action::atomic,
        p, bytes, place);
}

void model::looked_at(std::uint64_t value) {
  if (clocks.log != nullptr && current_ != nullptr)
    clocks.log->looked_at({current_->block, current_->index}, value);
}

void model::count(const thread_model& t, line_action what, const void* p, std::size_t bytes,
                  place_number place) {
  const std::size_t offset = memory.offset_of(p, bytes);
  if (!streams || offset == shadow::outside || bytes == 0 || (times && !times->wants(t))) return;
  lane_event e{.action = what,
               .memory = offset < shadow::shared_bytes                          ? line_memory::shared
                         : constants.holds(reinterpret_cast<std::uintptr_t>(p)) ? line_memory::constant
                                                                                : line_memory::global,
               .place = place,
               .bytes = static_cast<std::uint32_t>(bytes),
               .moment = offset};
  if (times) e = times->access(t, e);
  streams->access(t, e);
}

void model::did(const thread_model& t, lane_event::kind is, const void* code, const void* at,
                std::uint32_t bytes) {
  if (times && times->wants(t))
    streams->add(
        t, times->order(t, is, places.number_of_code(code), reinterpret_cast<std::uintptr_t>(at), bytes));
}

void model::bulk_load(const thread_model& t, const void* to, std::uint32_t bytes, const void* word,
                      place_number place) {
  if (times && times->wants(t))
    streams->add(
        t, times->bulk_load(t, memory.offset_of(to), bytes, reinterpret_cast<std::uintptr_t>(word), place));
  else if (!times)
    count(t, line_action::bulk_copy, to, bytes, place);
}

void model::arithmetic(std::uint32_t instructions, const void* code) {
  if (current_ != nullptr) did(*current_, lane_event::kind::arithmetic, code, nullptr, instructions);
}

void model::matrix(std::span<thread_model* const> warp, const void* from, std::uint32_t multiply_adds,
                   place_number place) {
  if (clocks.log != nullptr)
    for (const thread_model* t : warp) clocks.log->products({t->block, t->index}, multiply_adds, place);
  if (!times || !times->wants(*warp.front())) return;
  const auto at = from != nullptr ? std::optional(std::uint64_t{memory.offset_of(from)}) : std::nullopt;
  for (const thread_model* t : warp) streams->add(*t, times->matrix(*t, at, multiply_adds, place));
}

bool model::reads_anew(const void* p, std::size_t bytes, const void* code) {
  if (last_slow_read_ == std::pair(p, code)) return false;
  if (constants_written_ && constants.holds(reinterpret_cast<std::uintptr_t>(p))) return false;
  const place_number place = places.number_of_code(code);
  const bool later = history.reads_later(*current_, p, place);
  if (!history.reads_anew(*current_, p, bytes, place)) return false;
  last_slow_read_ = {p, code};
  if (later) loops.read_later(p, bytes, code);
  if (writes_down) [[unlikely]]
    write_down(event_kind::read, p, bytes, place);
  return true;
}

bool model::writes_anew(const void* p, std::size_t bytes, const void* code) {
  if (constants.holds(reinterpret_cast<std::uintptr_t>(p))) [[unlikely]]
    return false;
  const place_number place = places.number_of_code(code);
  if (!history.writes_anew(*current_, p, bytes, place)) return false;
  if (writes_down) [[unlikely]]
    write_down(event_kind::write, p, bytes, place);
  return true;
}

bool model::unwritten(const void* p, std::size_t bytes) {
  const std::size_t offset = memory.offset_of(p, bytes);
  if (offset == shadow::outside || history.forgives(offset)) return false;
  for (std::size_t at = offset; at < offset + bytes; ++at)
    if (memory.byte(at).state == cell_state::uninitialised) return true;
  return false;
}

void model::atomic(const void* p, std::size_t bytes, atomic_kind kind, order how, scope reach,
                   const void* code, bool reads, bool overwrites) {
  settle();
  constexpr std::uint64_t worth = 20;
  history.effort.aside += worth;
  if (current_ == nullptr) return;
  constants_written_ |= kind != atomic_kind::load && constants.holds(reinterpret_cast<std::uintptr_t>(p));
  thread_model& t = *current_;
  accessor w{.thread = t,
             .kind = access_kind::read,
             .place = places.number_of_code(code),
             .bytes = bytes,
             .reach = reach};
  const std::size_t offset = memory.offset_of(p, bytes);
  if (offset == shadow::outside) return history.visit(w, p, bytes);
  if (writes_down) write_down(event_kind::atomic, p, bytes, w.place);
  const cell& last = memory.byte(offset);
  const atomic_operation o{.location = memory.lowest() + offset,
                           .kind = kind,
                           .order = how,
                           .reach = reach,
                           .follows_atomic = last.strength != 0};
  if (kind != atomic_kind::load) old.write(t, o, p, bytes, last, w.place, atomics.at(o.location));
  atomics.begin(t, o);
  if (o.reads()) hints.reads(t, o, w.place);
  if (kind == atomic_kind::load) {
    history.visit(w, p, bytes);
    return old.read(t, o.location);
  }
  if (kind == atomic_kind::update) {
    w.updates = true;
    history.updates_at(w.place);
    if (reads) history.visit(w, p, bytes);
  }
  w.kind = access_kind::write;
  history.visit(w, p, bytes);
  hints.writes(t, o, overwrites);
  atomics.end(t, o);
}

bool model::brings_old(const void* p, std::size_t bytes, order how, scope reach, const void* code,
                       std::uint64_t& value, old_values::change_of change, const void* with, bool reads) {
  const std::size_t offset = memory.offset_of(p, bytes);
  if (!old.enabled || how == order::total || offset == shadow::outside) return false;
  thread_model& t = *current_;
  const atomic_operation o{.location = memory.lowest() + offset,
                           .kind = atomic_kind::load,
                           .order = how,
                           .reach = reach,
                           .follows_atomic = true};
  const cell& c = memory.byte(offset);
  const atomic_write* const unseen = old.unseen(t, o.location, bytes, c, o.reach, change, with);
  if (unseen == nullptr) return false;
  const accessor w{.thread = t,
                   .kind = access_kind::read,
                   .place = places.number_of_code(code),
                   .bytes = bytes,
                   .reach = o.reach};
  if (!unseen->was_written) {
    if (reads && !history.forgives(offset))
      report(w, {.kind = finding_kind::uninitialised,
                 .offset = offset,
                 .write = &c,
                 .missing = sentence::unseen_write});
    return false;
  }
  value = unseen->before;
  if (std::memcmp(&value, p, bytes) != 0) machine::polled();  // the next look brings another value
  const sentence missing =
      hints.missing_at(t, clocks.has_heard(t, unseen->block, unseen->writer, unseen->time));
  hints.misses(t, unseen->block, unseen->writer);
  hints.looks_at(t, o.location, w.place);
  atomics.take_in(t, o, unseen->released_before);
  if (!brought_old || (missing == sentence::read_fence && brought_old->missing != missing))
    brought_old = {.load = findings.side_of(w),
                   .write = findings.side_of_write(c),
                   .place = w.place,
                   .written_at = c.place,
                   .missing = missing};
  history.visit(w, p, bytes);
  return true;
}

void model::fence(order how, scope reach) {
  if (current_ == nullptr) return host_fence(how);
  if (how == order::total) old.fence(*current_, reach), hints.total_fence(*current_);
  atomics.fence(*current_, how, reach);
}

// by the host
// -----------------------------------------------------------------------------------------------------------

// A copy counts as a launch with one thread.
bool model::host_access(const void* p, std::size_t bytes, access_kind kind, stream on, const char* what) {
  if (bytes == 0) return true;
  stream_work work = begin_stream_work(what, on);
  clocks.block(work.thread.block).copies_staged = host_stages;
  const accessor w{.thread = work.thread,
                   .kind = kind,
                   .place = places.number_of(host_place.line() != 0 ? host_place : machine::place::current()),
                   .bytes = bytes,
                   .text = what};
  const std::size_t offset = memory.offset_of(p, bytes);
  if (offset == shadow::outside)
    report(w, {.kind = finding_kind::outside_memory, .missing = sentence::unallocated});
  else
    history.host_copy(w, offset, bytes);
  end_stream_work(work);
  return offset != shadow::outside;
}

void model::host_allocates(const void* p, std::size_t bytes, stream on) {
  stream_work work = begin_stream_work("cudaMallocAsync", on);
  history.allocated({.thread = work.thread,
                     .kind = access_kind::write,
                     .place = places.number_of(host_place),
                     .bytes = bytes},
                    p);
  end_stream_work(work);
}

model::stream_work model::begin_stream_work(const char* what, stream on) {
  std::string launched = findings.kernel;
  begin_launch(what, nullptr, 0, on);
  return {clocks.lone_thread(), std::move(launched)};
}
void model::end_stream_work(const stream_work& w) {
  clocks.block(w.thread.block).ended = true;
  launches.end_copy(clocks.next_block());
  clocks.end_launch();
  barriers.clear();
  findings.kernel = w.launched;
}
void model::host_function_touch(thread_model& t, const void* p, std::size_t bytes, access_kind kind,
                                const void* code) {
  const accessor w{
      .thread = t,
      .kind = kind,
      .place = places.number_of_code(code),
      .bytes = bytes,
      .text = kind == access_kind::read ? "read by a host function" : "write by a host function"};
  if (memory.offset_of(p, bytes) != shadow::outside) history.host_copy(w, memory.offset_of(p), bytes);
}

namespace {
thread_model& host_thread() {
  static stamp time = 1;
  static thread_model host;
  host.index = -1;
  host.time = &time;
  return host;
}
}  // namespace

void model::host_touch(const void* p, std::size_t bytes, access_kind kind, const void* code, scope reach) {
  const accessor w{.thread = host_thread(),
                   .kind = kind,
                   .place = places.number_of_code(code),
                   .bytes = bytes,
                   .reach = reach,
                   .text = kind == access_kind::read ? "read by the host" : "write by the host"};
  history.host_touch(w, p);
}

void model::write_pedantic(const void* p, std::size_t bytes, place_number at, const char* what,
                           sentence in_practice) {
  if (in_practice != sentence::none) pedantic_[at] = in_practice;
  settle();
  const accessor w{.thread = current_ != nullptr ? *current_ : host_thread(),
                   .kind = access_kind::write,
                   .place = at,
                   .bytes = bytes,
                   .text = what};
  if (current_ == nullptr)
    history.host_touch(w, p);
  else
    history.visit(w, p, bytes);
}

void model::host_atomic(const void* p, std::size_t bytes, atomic_kind kind, order how, const void* code) {
  if (host_touches == nullptr) return;
  if (kind != atomic_kind::store && host_reads_atomically != nullptr) host_reads_atomically(p);
  host_touches(p, bytes, kind == atomic_kind::load ? access_kind::read : access_kind::write, code,
               scope::system);
  const std::size_t offset = memory.offset_of(p, bytes);
  if (kind == atomic_kind::store || offset == shadow::outside) return;
  const auto [released, narrow] = atomics.released_to_host(memory.lowest() + offset);
  clocks.host_hears(narrow);
  if (how == order::relaxed || how == order::release)
    host_read_ = join(host_read_, released, 0);
  else
    host_acquires(released);
}

void model::host_fence(order how) {
  if (how != order::release) host_acquires(std::exchange(host_read_, nullptr));
}

void model::host_acquires(const knowledge_ptr& released) {
  if (released == nullptr) return;
  clocks.host_learns(released);
  launches.synchronize_before(released->block);
  for (const auto& [block, known] : released->others) launches.synchronize_before(block);
}

// findings
// -----------------------------------------------------------------------------------------------------------

void model::report(const accessor& w, const conflict& c) {
  if (findings.is_closed) return;
  if (w.thread.misled) return say_misled();
  const bool by_thread = &w.thread == current_;
  if (c.kind == finding_kind::uninitialised && by_thread && !w.asynchronous() && reads_unwritten != nullptr &&
      reads_unwritten(w, c.offset))
    return;
  if (c.in_practice.empty() && !pedantic_.empty())
    for (const place_number place : {w.place, c.write != nullptr ? c.write->place : w.place})
      if (const auto known = pedantic_.find(place); known != pedantic_.end()) {
        conflict pedantic = c;
        pedantic.in_practice = known->second;
        return report(w, pedantic);
      }
  const auto [number, fresh] = findings.report(w, by_thread ? custom.classified(w, c) : c);
  if (fresh && by_thread) findings.all()[number].callers = callers_of(places.code_of(w.place));
  if (fresh && findings.seen) findings.seen(findings.all()[number]);
  if (!by_thread) return;
  if (w.kind == access_kind::read && w.reach == scope{} && c.write != nullptr && c.write->by_thread() &&
      c.write->strength == 0)
    hints.reads_unordered(w.thread.block, w.as(), number);
  if (w.kind == access_kind::write && w.reach == scope{} && c.read != nullptr && c.read->kind == warp_reads &&
      c.read->strength == 0)
    hints.reads_unordered(c.read->block,
                          static_cast<actor>(c.read->unit * 32 + std::countr_zero(c.read->lanes)), number);
  custom.follow(number, w, c);
  unsettled_ |= custom.waits();
}

void model::finish_findings() {
  custom.finish();
  // A thread that checks one of several numbers that it has read has read the others for the same purpose.
  for (run_finding& f : findings.all())
    if (f.result.missing.row == sentence::device_release &&
        std::ranges::any_of(hints.seqlocks(), [&](std::size_t n) {
          return findings.all()[n].result.kernel == f.result.kernel;
        }))
      f.result.remarks.emplace_back(sentence::seqlock);
}

void model::settle_now() {
  unsettled_ = false;
  old.put_back();
  custom.settle();
}

void model::compares(const void* p, std::size_t bytes, std::uint64_t expected) {
  if (current_ != nullptr) custom.compares(*current_, p, bytes, expected);
}

finding_side model::side_here(place_number at, const char* action) const {
  return findings.side_of(
      {.thread = *current_, .kind = access_kind::read, .place = at, .bytes = 0, .text = action});
}

void model::note_here(finding f, place_number place) {
  if (current_ == nullptr) return;
  if (current_->misled) return say_misled();
  const std::string action = f.access.action;
  f.kernel = findings.kernel;
  f.access = side_here(place, action.c_str());
  findings.note(
      std::move(f), place,
      event_log::question{.now = {{current_->block, current_->index}, place, action}, .earlier = {}});
}
void model::note_here(finding_kind kind, place_number place, std::string action, std::string memory_text,
                      explanation missing, explanation in_practice) {
  finding f{.kind = kind,
            .kernel = {},
            .memory = std::move(memory_text),
            .access = {},
            .earlier = {},
            .missing = std::move(missing),
            .in_practice = std::move(in_practice),
            .first = {}};
  f.access.action = std::move(action);
  note_here(std::move(f), place);
}

void model::say_misled() {
  findings.say(
      "accesses to memory that skipped blocks would have written are not checked. --blocks all runs all "
      "blocks");
}

}  // namespace antiphase::checker_detail
