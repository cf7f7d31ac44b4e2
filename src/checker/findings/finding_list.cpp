// SPDX-License-Identifier: Apache-2.0
#include "finding_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace antiphase::checker_detail {

void finding_list::reset() {
  kernel.clear();
  waited_in_vain.clear();
  shared_place = nullptr;
  mbarrier_name = nullptr;
  variable_name = nullptr;
  notes_.clear();
  entries_.clear();
  all_.clear();
  seen = nullptr;
}

void finding_list::say(const std::string& what) {
  if (std::ranges::find(notes_, what) == notes_.end()) notes_.push_back(what);
}

std::pair<std::size_t, bool> finding_list::entry(finding_kind kind, place_number at,
                                                 std::optional<place_number> earlier) {
  const auto [i, fresh] = entries_.try_emplace({kind, at, earlier.value_or(~0u)}, all_.size());
  if (fresh) {
    run_finding& f = all_.emplace_back();
    f.what.kind = kind;
    f.what.kernel = kernel;
    f.at = at;
    f.earlier = earlier.value_or(0);
    f.has_earlier = earlier.has_value();
  }
  ++all_[i->second].what.times;
  return {i->second, fresh};
}

void finding_list::is_error(std::size_t entry) {
  run_finding& f = all_[entry];
  if (f.what.in_practice.empty()) return;
  f.what.in_practice.clear();
  if (!f.missing_of_error.empty()) f.what.missing = f.missing_of_error;
  if (seen) seen(f);
}

std::pair<std::size_t, bool> finding_list::report(const accessor& w, const conflict& c) {
  std::optional<place_number> earlier;
  if (c.write != nullptr) earlier = c.write->place;
  if (c.read != nullptr) earlier = c.read->place;
  const auto number = entry(c.kind, w.place, earlier);
  if (c.in_practice.empty() && !number.second) is_error(number.first);
  if (!number.second) {
    run_finding& known = all_[number.first];
    if (known.within_warp && !within_warp(w, c)) {
      known.within_warp = false;
      (known.what.in_practice.empty() ? known.what.missing : known.missing_of_error) = missing_edge(w, c);
    }
    return number;
  }
  run_finding* const f = &all_[number.first];
  f->what.memory = describe(w, c.offset);
  f->what.access = side_of(w);
  if (c.write != nullptr) f->what.earlier = side_of_write(*c.write);
  if (c.read != nullptr) f->what.earlier = side_of_reader(*c.read);
  f->what.missing = c.missing.empty() && earlier ? missing_edge(w, c) : c.missing;
  if (c.missing.empty() && c.offset < shadow::shared_bytes)
    if (const std::string crowd = barriers_.crowded(clocks_.block(w.thread.block)); !crowd.empty())
      f->what.missing = crowd + "; else " + f->what.missing;
  f->within_warp = c.missing.empty() && earlier && within_warp(w, c);
  f->what.in_practice = c.in_practice;
  if (!c.instead.empty()) f->missing_of_error = std::exchange(f->what.missing, std::string(c.instead));
  if (clocks_.log == nullptr) return number;
  event_log::question q{.now = {{w.thread.block, w.thread.index}, w.place, f->what.access.action},
                        .earlier = {},
                        .memory = c.offset == shadow::outside ? 0 : memory_.lowest() + c.offset};
  if (earlier)
    q.earlier = {{c.write != nullptr ? c.write->block : c.read->block, std::max(0, f->what.earlier->thread)},
                 *earlier,
                 f->what.earlier->action};
  f->drawn = clocks_.log->taken(q);
  return number;
}

void finding_list::note(finding_kind kind, const std::string& of_kernel, place_number at, finding_side by,
                        std::string memory, std::string missing, const question& shown,
                        const std::string& in_practice) {
  const auto [number, fresh] = entry(kind, at, {});
  if (in_practice.empty() && !fresh) is_error(number);
  if (!fresh) return;
  run_finding* const f = &all_[number];
  f->what.in_practice = in_practice;
  f->what.kernel = of_kernel;
  f->what.access = std::move(by);
  f->what.memory = std::move(memory);
  f->what.missing = std::move(missing);
  if (clocks_.log != nullptr && shown) f->drawn = clocks_.log->taken(*shown);
  if (seen) seen(*f);
}
void finding_list::note(finding_kind kind, const std::string& of_kernel, place_number at, std::string action,
                        std::string memory, std::string missing, const question& shown,
                        const std::string& in_practice) {
  finding_side by;
  by.action = std::move(action);
  note(kind, of_kernel, at, std::move(by), std::move(memory), std::move(missing), shown, in_practice);
}
void finding_list::note_pair(finding_kind kind, place_number at, finding_side by, place_number earlier,
                             finding_side before, std::string memory, std::string missing) {
  const auto [number, fresh] = entry(kind, at, earlier);
  if (!fresh) return;
  run_finding& f = all_[number];
  f.what.kernel.clear();
  f.what.access = std::move(by);
  f.what.earlier = std::move(before);
  f.what.memory = std::move(memory);
  f.what.missing = std::move(missing);
  if (seen) seen(f);
}

// who did what
// -----------------------------------------------------------------------------------------------------------

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

const char* atomically(scope reach) {
  return reach == scope{} ? "" : reach == volatile_reach ? "volatile " : "atomic ";
}

finding_side side_in(const block_record& b, int thread, std::string action) {
  finding_side side;
  side.action = std::move(action);
  if (b.is_stream_work) {
    side.when = "in the order of its stream";
    return side;
  }
  side.block = b.index;
  side.thread = thread;
  return side;
}

}  // namespace

finding_side finding_list::side_of(const accessor& w) const {
  const char* const verb = w.kind == access_kind::read ? "read" : "write";
  std::string action(w.what);
  if (action.empty() && w.asynchronous())
    action = fmt::format("{} of {} bytes {}", copy_name(w.by), w.bytes,
                         w.kind == access_kind::read ? "from it" : "into it");
  else if (action.empty())
    action = fmt::format("{}{} of {} bytes", atomically(w.reach), verb, w.bytes);
  finding_side side = side_in(clocks_.block(w.thread.block), w.thread.index, std::move(action));
  if (w.thread.barriers > 0)
    side.when = fmt::format("after {} block barrier{}", w.thread.barriers, w.thread.barriers == 1 ? "" : "s");
  if (w.by == actor_kind::copies)
    side.when += fmt::format("{}in copy group {}", side.when.empty() ? "" : ", ", w.group);
  if (w.by == actor_kind::loads)
    side.when += fmt::format("{}in phase {} of its mbarrier", side.when.empty() ? "" : ", ", w.group);
  return side;
}

finding_side finding_list::side_of_write(const cell& c) const {
  const block_record& b = clocks_.block(c.block);
  if (c.writer < b.threads)
    return side_in(b, c.writer, std::string(atomically(reach_of(c.strength))) + "write");
  const actor_record& a = b.actors[static_cast<std::size_t>(c.writer - b.threads)];
  finding_side side = side_in(b, a.thread, copy_name(a.kind));
  side.when = a.kind == actor_kind::loads ? fmt::format("in phase {} of its mbarrier", c.time)
                                          : fmt::format("in group {}", c.time);
  return side;
}

finding_side finding_list::side_of_reader(const reader& r) const {
  if (r.kind == made) {
    finding_side side;
    side.action = "allocation in the order of its stream";
    return side;
  }
  const block_record& b = clocks_.block(r.block);
  if (!r.by_copy())
    return side_in(b, r.unit * 32 + __builtin_ctz(r.lanes),
                   fmt::format("{}{}", atomically(reach_of(r.strength)),
                               r.kind == warp_wrote       ? "write"
                               : r.kind == constant_reads ? "read-only load"
                                                          : "read"));
  const actor_record& a = b.actors[static_cast<std::size_t>(r.unit - b.threads)];
  finding_side side =
      side_in(b, a.thread, fmt::format("{} {} it", copy_name(a.kind), r.wrote() ? "into" : "from"));
  side.when = fmt::format("in group {}", r.time);
  return side;
}

// what is missing
// -----------------------------------------------------------------------------------------------------------

// Advice: the wait that is missing for an asynchronous operation.
std::string finding_list::missing_wait(const thread_model& t, block_number other,
                                       const actor_record& of) const {
  const bool mine = of.thread == t.index && other == t.block;
  switch (of.kind) {
    case actor_kind::copies:
      if (memory_.shared_by_variables)
        return mine ? "__pipeline_wait_prior or cp.async.wait_group that leaves fewer groups in flight"
                    : "__pipeline_wait_prior or cp.async.wait_group by the thread that copies, and a "
                      "__syncthreads() after it";
      return mine ? "copy_async_wait that leaves fewer groups in flight (in CUDA: __pipeline_wait_prior, "
                    "cp.async.wait_group)"
                  : "copy_async_wait by the thread that copies, and a barrier after it (in CUDA: "
                    "__pipeline_wait_prior, "
                    "cp.async.wait_group)";
    case actor_kind::loads: return "a wait for the end of the mbarrier's phase that counts the copy";
    case actor_kind::stores_reading:
      return mine ? "bulk_wait_read (in CUDA: cp.async.bulk.wait_group.read)"
                  : "bulk_wait_read by the thread that stores, and a barrier after it (in CUDA: "
                    "cp.async.bulk.wait_group.read)";
    case actor_kind::stores_writing:
      return mine ? "bulk_wait (in CUDA: cp.async.bulk.wait_group)"
                  : "bulk_wait by the thread that stores, and an order after it (in CUDA: "
                    "cp.async.bulk.wait_group)";
    case actor_kind::matrix:
      return of.thread / 32 == t.index / 32 && other == t.block
                 ? "a wait for the group of the Tensor Core operation"
                 : "a wait for the group of the Tensor Core operation by the warp that issued it, and a "
                   "barrier after it";
    case actor_kind::thread: break;
  }
  return {};
}

bool finding_list::within_warp(const accessor& w, const conflict& c) const {
  const block_number other = c.write != nullptr ? c.write->block : c.read->block;
  if (other != w.thread.block || (c.write == nullptr && c.read->by_copy())) return false;
  const int warp = c.write != nullptr ? c.write->writer / 32 : c.read->unit;
  return warp == w.thread.warp;
}

std::string finding_list::missing_edge(const accessor& w, const conflict& c) const {
  const thread_model& t = w.thread;
  const block_number other = c.write != nullptr ? c.write->block : c.read->block;
  const block_record& theirs = clocks_.block(other);
  if (other < launches_.first() && launches_.ordered(other))
    return "wait_for_previous_grid: the launch before may not have ended (in CUDA: "
           "cudaGridDependencySynchronize, griddepcontrol.wait)";
  if (other < launches_.first() && launches_.on_same_stream(other))
    return "wait_for_previous_grid in each kernel between the two as well: the end of one that has not "
           "waited "
           "says nothing of those before it (in CUDA: cudaGridDependencySynchronize, griddepcontrol.wait)";
  if (other < launches_.first())
    return std::string(
               "the launches are on different streams, and nobody synchronised them (in a graph: no "
               "edges lead from one to the other)") +
           (theirs.copies_staged
                ? ". cudaMemcpy from pageable host memory may return before the copy has landed"
                : "") +
           (waited_in_vain.empty()
                ? ""
                : fmt::format(". The event that is waited for at {} had not been recorded: "
                              "such a wait ends at once",
                              waited_in_vain));
  const strength_bits strength = c.write != nullptr ? c.write->strength : c.read->strength;
  if (strength != 0 && w.reach != scope{} && !of_one_size(strength, w.strength()))
    return "operations of one size: atomic or volatile accesses that overlap in part race (PTX ISA, morally "
           "strong operations)";
  const actor a = c.write != nullptr  ? c.write->writer
                  : c.read->by_copy() ? c.read->unit
                                      : static_cast<actor>(c.read->unit * 32);
  if (a >= theirs.threads)
    return missing_wait(t, other, theirs.actors[static_cast<std::size_t>(a - theirs.threads)]);
  const bool one_cluster = clocks_.one_cluster(other, t.block);
  const scope reach = reach_of(strength);
  if (reach != scope{} && w.reach != scope{} && other != t.block) {
    const char* const narrow = std::min(reach, w.reach) == scope::block ? "block" : "cluster";
    return fmt::format("{} scope does not reach another {}: {} scope", narrow, narrow,
                       one_cluster ? "cluster" : "device");
  }
  if (other != t.block && one_cluster)
    return "a cluster barrier, or a release and an acquire at cluster scope, between the two";
  if (other != t.block)
    return "blocks of a launch are ordered by a release and an acquire at device scope only: these, or two "
           "launches";
  const bool in_plain = memory_.shared_by_variables && !barriers_.any_in(clocks_.block(t.block));
  const bool one_warp = within_warp(w, c);
  if (in_plain && (c.read == nullptr || c.read->wrote()))
    return one_warp ? "a __syncwarp() or __syncthreads() between the two"
                    : "a __syncthreads() between the two";
  if (c.read == nullptr || c.read->wrote())
    return "a block barrier, or another barrier that both take part in, between the two";
  if (!in_plain) return "a barrier between their reading and this: the slot has not been released";
  return fmt::format("{} between the two: this is written before all threads have read what was there",
                     one_warp ? "a __syncwarp() or __syncthreads()" : "a __syncthreads()");
}

// which memory
// -----------------------------------------------------------------------------------------------------------

std::string finding_list::describe(const accessor& w, std::size_t offset) const {
  if (offset == shadow::outside) return {};
  return offset < shadow::shared_bytes ? describe_shared(w.thread.block, offset) : describe_global(offset);
}

std::string finding_list::name_of_mbarrier(block_number block, const std::uint64_t* word) const {
  const std::size_t offset = memory_.offset_of(word);
  if (mbarrier_name == nullptr || offset >= shadow::shared_bytes) return {};
  const block_record& own = clocks_.block(block);
  return offset >= own.lowest && offset < own.highest ? mbarrier_name(offset - own.lowest, word)
                                                      : describe_shared(block, offset);
}

std::string finding_list::describe_shared(block_number block, std::size_t offset) const {
  const block_record& own = clocks_.block(block);
  if (offset >= own.lowest && offset < own.highest)
    return shared_place != nullptr ? shared_place(offset - own.lowest)
                                   : fmt::format("shared memory, byte {}", offset - own.lowest);
  if (offset >= own.highest && offset - own.highest < 1024)
    return fmt::format("shared memory, {} bytes behind its end", offset - own.highest);
  block_number other = clocks_.owner_of(block, offset, 1);
  if (other == 0) other = clocks_.past_owner_of(block, offset);
  if (other == 0) return "shared memory of another block, or of none";
  const block_record& b = clocks_.block(other);
  return fmt::format("shared memory of block ({}, {}, {}), byte {}", b.index.x, b.index.y, b.index.z,
                     offset - b.lowest);
}

std::string finding_list::describe_global(std::size_t offset) const {
  const std::uintptr_t address = memory_.lowest() + offset;
  const auto* const p = reinterpret_cast<const void*>(address);  // NOLINT: an address of the shadow
  if (const shadow::host_range* const r = memory_.host_range_of(offset); r != nullptr)
    return fmt::format("registered memory of the host, byte {} of {}", offset - r->offset, r->bytes);
  const auto [start, next] = memory_.allocations_beside(p);
  if (start == nullptr && next == nullptr) return "global memory that nobody allocated";
  const std::size_t from = start != nullptr ? address - reinterpret_cast<std::uintptr_t>(start) : 0,
                    bytes = start != nullptr ? memory_.allocated(start) : 0;
  if (start != nullptr && from < bytes) {
    const void* const variable = memory_.variable_at(p);
    if (variable != nullptr && variable_name != nullptr)
      return "the device's variable " + variable_name(variable);
    return fmt::format("global memory, byte {} of {} allocated", from, bytes);
  }
  // An address outside all allocations is named by the nearer one.
  const auto named = [&](const void* a) {
    return memory_.variable_at(a) != nullptr ? std::string("the device's variables")
                                             : fmt::format("{} allocated", memory_.allocated(a));
  };
  const std::size_t before = next != nullptr ? reinterpret_cast<std::uintptr_t>(next) - address : 0;
  if (next != nullptr && (start == nullptr || before < from - bytes))
    return fmt::format("global memory, {} bytes before the {}", before, named(next));
  return fmt::format("global memory, {} bytes behind the end of {}", from - bytes, named(start));
}

}  // namespace antiphase::checker_detail
