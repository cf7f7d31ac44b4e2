// SPDX-License-Identifier: Apache-2.0
#include "finding_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checker/order/missing.hpp"

namespace antiphase::checker_detail {

void finding_list::reset() {
  kernel.clear();
  launch = 0;
  unrecorded_wait.clear();
  replaced_records.clear();
  shared_place = nullptr;
  mbarrier_name = nullptr;
  variable_name = nullptr;
  is_closed = tried_change = false;
  notes_.clear();
  entries_.clear();
  all_.clear();
  seen = nullptr;
}

void finding_list::say(const std::string& what) {
  if (!is_closed && std::ranges::find(notes_, what) == notes_.end()) notes_.push_back(what);
}

std::pair<std::size_t, bool> finding_list::entry(finding_kind kind, place_number place,
                                                 std::optional<place_number> earlier) {
  const auto [i, fresh] = entries_.try_emplace({kind, place, earlier.value_or(~0u)}, all_.size());
  if (fresh) {
    run_finding& f = all_.emplace_back();
    f.result.kind = kind;
    f.result.kernel = kernel;
    f.launch = launch;
    f.place = place;
    f.earlier_place = earlier.value_or(0);
    f.has_earlier = earlier.has_value();
  }
  ++all_[i->second].result.times;
  return {i->second, fresh};
}

void finding_list::is_error(std::size_t entry) {
  run_finding& f = all_[entry];
  if (f.result.in_practice.empty()) return;
  f.result.in_practice = {};
  if (!f.missing_of_error.empty()) f.result.missing = f.missing_of_error;
  if (seen) seen(f);
}

std::pair<std::size_t, bool> finding_list::report(const accessor& w, const conflict& c) {
  std::optional<place_number> earlier;
  if (c.write != nullptr) earlier = c.write->place;
  if (c.read != nullptr) earlier = c.read->place;
  const auto number = entry(c.kind, w.place, earlier);
  run_finding& f = all_[number.first];
  finding& result = f.result;
  if (!number.second) {
    if (c.in_practice.empty()) is_error(number.first);
    if (f.apart != run_finding::distance::not_asked && c.missing.empty() && distance_of(w, c) > f.apart) {
      f.apart = distance_of(w, c);
      (result.in_practice.empty() ? result.missing : f.missing_of_error) = missing_edge(w, c);
    }
    return number;
  }
  result.access = side_of(w);
  if (c.write != nullptr) result.earlier = side_of_write(*c.write);
  if (c.read != nullptr) result.earlier = side_of_reader(*c.read);
  result.memory = describe(w, c.offset);
  if (c.offset != shadow::outside)
    result.space = c.offset < shadow::shared_bytes ? line_memory::shared : line_memory::global;
  const bool worked_out = c.missing.empty() && earlier;
  result.missing = worked_out ? missing_edge(w, c) : c.missing;
  if (worked_out) result.remarks = remarks_on(w, c);
  if (worked_out) f.apart = distance_of(w, c);
  result.in_practice = c.in_practice;
  if (!c.instead.empty()) f.missing_of_error = std::exchange(result.missing, c.instead);
  if (clocks_.log == nullptr) return number;
  event_log::question q{.now = {{w.thread.block, w.thread.index}, w.place, result.access.action},
                        .earlier = {},
                        .memory = c.offset == shadow::outside ? 0 : memory_.lowest() + c.offset};
  if (earlier)
    q.earlier = {{c.write != nullptr ? c.write->block : c.read->block, std::max(0, result.earlier->thread)},
                 *earlier,
                 result.earlier->action};
  f.drawn = clocks_.log->taken(q);
  return number;
}

void finding_list::note(finding f, place_number place, const question& shown,
                        std::optional<place_number> earlier) {
  if (is_closed) return;
  const auto [number, fresh] = entry(f.kind, place, earlier);
  if (f.in_practice.empty() && !fresh) is_error(number);
  if (!fresh) return;
  run_finding& known = all_[number];
  f.times = known.result.times;
  known.result = std::move(f);
  if (clocks_.log != nullptr && shown) known.drawn = clocks_.log->taken(*shown);
  if (seen) seen(known);
}
void finding_list::note(finding_kind kind, const std::string& of_kernel, place_number place,
                        std::string action, std::string memory, std::string expected) {
  finding f{.kind = kind,
            .kernel = of_kernel,
            .memory = std::move(memory),
            .access = {},
            .earlier = {},
            .missing = {},
            .first = {}};
  f.access.action = std::move(action);
  if (!expected.empty()) f.missing = {sentence::argument, {std::move(expected)}};
  note(std::move(f), place);
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
    case actor_kind::tensor_products: return "Tensor Core operation";
    case actor_kind::tensor_loads: return "tcgen05.ld";
    case actor_kind::tensor_stores: return "tcgen05.st";
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
    side.moment = "in the order of its stream";
    return side;
  }
  side.block = b.index;
  side.thread = thread;
  return side;
}

}  // namespace

finding_side finding_list::side_of(const accessor& w) const {
  const char* const verb = w.kind == access_kind::read ? "read" : "write";
  std::string action(w.text);
  if (action.empty() && w.asynchronous())
    action = fmt::format("{} of {} bytes {}", copy_name(w.role), w.bytes,
                         w.kind == access_kind::read ? "from it" : "into it");
  else if (action.empty())
    action = fmt::format("{}{} of {} bytes", atomically(w.reach), verb, w.bytes);
  finding_side side = side_in(clocks_.block(w.thread.block), w.thread.index, std::move(action));
  if (w.thread.barriers > 0)
    side.moment =
        fmt::format("after {} block barrier{}", w.thread.barriers, w.thread.barriers == 1 ? "" : "s");
  if (w.role == actor_kind::copies)
    side.moment += fmt::format("{}in copy group {}", side.moment.empty() ? "" : ", ", w.group);
  if (w.role == actor_kind::loads)
    side.moment += fmt::format("{}in phase {} of its mbarrier", side.moment.empty() ? "" : ", ", w.group);
  side.writes = w.kind == access_kind::write && w.text.empty() && w.reach == scope{} && !w.asynchronous();
  return side;
}

finding_side finding_list::side_of_write(const cell& c) const {
  const block_record& b = clocks_.block(c.block);
  if (c.writer < b.threads) {
    finding_side side = side_in(b, c.writer, std::string(atomically(reach_of(c.strength))) + "write");
    side.writes = c.strength == 0;
    return side;
  }
  const actor_record& a = b.actors[static_cast<std::size_t>(c.writer - b.threads)];
  finding_side side = side_in(b, a.thread, copy_name(a.kind));
  side.moment = a.kind == actor_kind::loads ? fmt::format("in phase {} of its mbarrier", c.time)
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
  if (!r.by_copy()) {
    const char* const verb = r.kind == warp_wrote       ? "write"
                             : r.kind == constant_reads ? "read-only load"
                                                        : "read";
    finding_side side = side_in(b, r.unit * 32 + __builtin_ctz(r.lanes),
                                fmt::format("{}{}", atomically(reach_of(r.strength)), verb));
    side.writes = r.kind == warp_wrote && r.strength == 0;
    return side;
  }
  const actor_record& a = b.actors[static_cast<std::size_t>(r.unit - b.threads)];
  finding_side side =
      side_in(b, a.thread, fmt::format("{} {} it", copy_name(a.kind), r.wrote() ? "into" : "from"));
  side.moment = fmt::format("in group {}", r.time);
  return side;
}

// what is missing
// -----------------------------------------------------------------------------------------------------------

// The wait that is missing for an asynchronous operation.
explanation finding_list::missing_wait(const accessor& w, block_number other, const actor_record& copier,
                                       stamp time) const {
  const thread_model& t = w.thread;
  const bool mine = copier.thread == t.index && other == t.block;
  switch (copier.kind) {
    case actor_kind::copies:
      if (time <= copier.counted)
        return w.kind == access_kind::write ? sentence::slot_arrival : sentence::phase;
      for (const actor_record::plain_arrival& a : copier.arrivals)
        if (!mine && time <= a.group && clocks_.knows(t, other, static_cast<actor>(copier.thread), a.time))
          return sentence::plain_arrival;
      if (memory_.shared_by_variables) return mine ? sentence::own_copy_plain : sentence::other_copy_plain;
      return mine ? sentence::own_copy : sentence::other_copy;
    case actor_kind::loads: return sentence::phase;
    case actor_kind::stores_reading: return mine ? sentence::own_store_read : sentence::other_store_read;
    case actor_kind::stores_writing:
      if (time <= copier.read) return mine ? sentence::own_store_landed : sentence::other_store_landed;
      return mine ? sentence::own_store : sentence::other_store;
    case actor_kind::matrix:
      return copier.thread / 32 == t.index / 32 && other == t.block ? sentence::own_tensor_group
                                                                    : sentence::other_tensor_group;
    case actor_kind::tensor_products: return sentence::tensor_commit;
    case actor_kind::tensor_loads:
      return copier.thread / 32 == t.index / 32 && other == t.block ? sentence::own_tensor_load
                                                                    : sentence::other_tensor_load;
    case actor_kind::tensor_stores:
      return copier.thread / 32 == t.index / 32 && other == t.block ? sentence::own_tensor_store
                                                                    : sentence::other_tensor_store;
    case actor_kind::thread: break;
  }
  return {};
}

run_finding::distance finding_list::distance_of(const accessor& w, const conflict& c) const {
  const block_number other = c.write != nullptr ? c.write->block : c.read->block;
  if (other != w.thread.block) return run_finding::distance::beyond;
  if (c.write == nullptr && c.read->by_copy()) return run_finding::distance::block;
  const int warp = c.write != nullptr ? c.write->writer / 32 : c.read->unit;
  return warp == w.thread.warp ? run_finding::distance::warp : run_finding::distance::block;
}

explanation finding_list::missing_edge(const accessor& w, const conflict& c) const {
  const thread_model& t = w.thread;
  const block_number other = c.write != nullptr ? c.write->block : c.read->block;
  const block_record& theirs = clocks_.block(other);
  if (other < launches_.first())
    return launches_.ordered(other)          ? sentence::grid_wait
           : launches_.on_same_stream(other) ? sentence::grid_waits_between
                                             : sentence::streams;
  const strength_bits strength = c.write != nullptr ? c.write->strength : c.read->strength;
  if (strength != 0 && w.reach != scope{} && !of_one_size(strength, w.strength())) return sentence::one_size;
  const actor a = c.write != nullptr  ? c.write->writer
                  : c.read->by_copy() ? c.read->unit
                                      : static_cast<actor>(c.read->unit * 32);
  if (a >= theirs.threads)
    return missing_wait(w, other, theirs.actors[static_cast<std::size_t>(a - theirs.threads)],
                        c.write != nullptr ? c.write->time : c.read->time);
  const bool plain = w.reach == scope{} && !w.asynchronous(), theirs_plain = strength == 0;
  if (plain && theirs_plain) {
    const actor lane = c.write != nullptr ? a : static_cast<actor>(a + __builtin_ctz(c.read->lanes));
    const stamp time = c.write != nullptr ? c.write->time : c.read->time;
    if (const sentence s = hints_.missing_between(t, other, lane, time); s != sentence::none) return s;
  }
  // The plain read is at fault if another block writes the same global memory atomically.
  const bool reads = w.kind == access_kind::read;
  if (other != t.block && c.offset >= shadow::shared_bytes && plain == reads && plain != theirs_plain &&
      (c.write != nullptr ? reads : !reads && !c.read->wrote()))
    return sentence::load_beside_updates;
  const bool one_cluster = clocks_.one_cluster(other, t.block);
  const scope reach = reach_of(strength);
  if (reach != scope{} && w.reach != scope{} && other != t.block) {
    const char* const narrow = std::min(reach, w.reach) == scope::block ? "block" : "cluster";
    return explain(one_cluster ? sentence::cluster_scope : sentence::device_scope, narrow, narrow);
  }
  if (other != t.block) return one_cluster ? sentence::cluster_barrier : sentence::device_release;
  const bool in_plain = memory_.shared_by_variables && !barriers_.any_in(clocks_.block(t.block));
  const bool after_reads = c.read != nullptr && !c.read->wrote();
  if (in_plain && distance_of(w, c) == run_finding::distance::warp)
    return after_reads ? sentence::sync_warp_after_reads : sentence::sync_warp;
  if (in_plain) return after_reads ? sentence::sync_block_after_reads : sentence::sync_block;
  if (!after_reads) return sentence::barrier;
  const bool bulk =
      w.asynchronous() &&
      clocks_.block(t.block).actors[static_cast<std::size_t>(w.number - t.block_threads)].kind ==
          actor_kind::loads;
  return bulk ? sentence::slot_arrival : sentence::slot_barrier;
}

std::vector<explanation> finding_list::remarks_on(const accessor& w, const conflict& c) {
  std::vector<explanation> remarks;
  const block_number other = c.write != nullptr ? c.write->block : c.read->block;
  if (other < launches_.first() && !launches_.ordered(other) && !launches_.on_same_stream(other)) {
    if (clocks_.block(other).copies_staged) remarks.emplace_back(sentence::staged_copy);
    if (!unrecorded_wait.empty()) remarks.push_back(explain(sentence::unrecorded_event, unrecorded_wait));
    for (const replaced_record& r : replaced_records)
      if (launches_.covers(r.covers, other)) {
        remarks.push_back(explain(sentence::replaced_event, r.wait, r.again));
        break;
      }
  }
  if (c.offset < shadow::shared_bytes)
    if (const auto crowd = barriers_.crowded(clocks_.block(w.thread.block)))
      remarks.push_back(explain(sentence::crowded, crowd->first, crowd->second));
  return remarks;
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
    return fmt::format("shared memory, {} bytes past its end", offset - own.highest);
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
  if (start == nullptr && next == nullptr) return "unallocated global memory";
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
  return fmt::format("global memory, {} bytes past the end of {}", from - bytes, named(start));
}

}  // namespace antiphase::checker_detail
