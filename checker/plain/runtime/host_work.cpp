// SPDX-License-Identifier: Apache-2.0
#include "host_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include "checker/order/missing.hpp"

namespace antiphase::plain {

using checker_detail::access_kind;

namespace {
constexpr std::uintptr_t stack_below = 1 << 20;  // of main's frame: how much of it a host function may use
std::uintptr_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }
}  // namespace

template <class Visit> void host_work::each_granule(const void* p, std::size_t bytes, Visit visit) {
  const std::uintptr_t first = address_of(p), end = first + bytes;
  for (std::uintptr_t g = first / granule; g * granule < end; ++g) {
    const std::uintptr_t from = std::max(first, g * granule) - g * granule,
                         to = std::min(end, (g + 1) * granule) - g * granule;
    if (!visit(g, static_cast<unsigned char>((1u << to) - (1u << from)))) return;
  }
}

void host_work::begin(checker_detail::block_number block, const void* frame) {
  work_.push_back({.block = block, .with_it = {}});
  frame_ = address_of(frame);
  runs_ = true;
  set_watch();
}
void host_work::set_watch() {
  m_.host.checks_all_host_memory = runs_ || !touched_.empty() || !words_.empty();
  m_.host.resume_host(m_.memory);
}
void host_work::forget_waited() {
  if (!std::ranges::all_of(work_, [&](const piece& w) { return is_waited_for(w); })) return;
  touched_.clear(), words_.clear(), work_.clear();
  set_watch();
}
void host_work::end(const checker_detail::past& with_it) {
  work_.back().with_it = with_it;
  runs_ = false;
  set_watch();
}
void host_work::copied(const void* p, std::size_t bytes, access_kind kind, machine::place at, stream on) {
  work_.push_back(
      {.block = m_.clocks.next_block() - 1, .with_it = m_.launches.recorded(on), .is_copy = true});
  record(p, bytes, {work_.size() - 1, kind, 0, false, m_.places.number_of(at)});
  set_watch();
}

void host_work::record(const void* p, std::size_t bytes, const touch& t) {
  each_granule(p, bytes, [&](std::uintptr_t g, unsigned char mask) {
    if (touched_.size() >= most_granules && !touched_.contains(g)) return false;
    std::vector<touch>& all = touched_[g];
    const auto same = std::ranges::find_if(all, [&](const touch& o) {
      return o.work == t.work && o.kind == t.kind && o.atomic == t.atomic && o.place == t.place;
    });
    if (same != all.end())
      same->bytes |= mask;
    else
      all.push_back(t), all.back().bytes = mask;
    return true;
  });
}

void host_work::check_access(const void* p, std::size_t bytes, access_kind kind, const void* code,
                             bool atomic, const char* action) {
  each_granule(p, bytes, [&](std::uintptr_t g, unsigned char mask) {
    const auto at = touched_.find(g);
    if (at == touched_.end()) return true;
    std::erase_if(at->second, [&](const touch& t) {
      if (is_waited_for(work_[t.work])) return true;
      if ((t.bytes & mask) == 0 || (t.kind == access_kind::read && kind == access_kind::read) ||
          (t.atomic && atomic))
        return false;
      const char* const by = work_[t.work].is_copy ? "a copy of a graph" : "a host function";
      finding_side now, earlier;
      now.action = fmt::format("{} by the host", action);
      earlier.action = fmt::format("{} by {}", t.kind == access_kind::read ? "read" : "write", by);
      earlier.moment = "in the order of its stream";
      finding f{.kind = t.kind == access_kind::read ? finding_kind::overwritten_in_use : finding_kind::race,
                .kernel = {},
                .memory = "memory of the host",
                .access = std::move(now),
                .earlier = std::move(earlier),
                .missing = checker_detail::explain(sentence::host_waits_for_host, by),
                .first = {}};
      m_.findings.note(std::move(f), m_.places.number_of_code(code), {}, t.place);
      return true;
    });
    if (at->second.empty()) touched_.erase(at);
    return true;
  });
}

void host_work::touched(const void* p, std::size_t bytes, access_kind kind, const void* code, bool atomic) {
  if (runs_) {
    if (frame_ - address_of(p) < stack_below) return;  // its own
    if (atomic && kind == access_kind::write) {
      word w{work_.size() - 1, 0, false};
      std::memcpy(&w.before, p, std::min<std::size_t>(bytes, sizeof w.before));
      if (const auto known = words_.find(address_of(p));
          known != words_.end() && !is_waited_for(work_[known->second.work]))
        w.before = known->second.before;
      words_.insert_or_assign(address_of(p), w);
    }
    return record(p, bytes, {work_.size() - 1, kind, 0, atomic, m_.places.number_of_code(code)});
  }
  constexpr int now_and_then = 256;
  if (++looked_ % now_and_then == 0) forget_waited();
  if (kind == access_kind::write) words_.erase(address_of(p));
  if (!touched_.empty())
    check_access(p, bytes, kind, code, atomic,
                 kind == access_kind::read ? atomic ? "atomic read" : "read"
                 : atomic                  ? "atomic write"
                                           : "write");
}

// Any order will do: hosts of GPUs reorder few loads, and programs rely on that.
void host_work::read_atomically(const void* p) {
  const auto known = words_.find(address_of(p));
  if (runs_ || known == words_.end()) return;
  wait_for(work_[known->second.work]);
  words_.erase(known);
}

void host_work::comes_to_lock() {
  if (runs_)
    work_.back().locks = true;
  else
    for (const piece& w : work_)
      if (w.locks && !is_waited_for(w)) wait_for(w);
}

void host_work::freed(const void* p, std::size_t bytes, const void* code) {
  if (touched_.empty()) return;
  if (!runs_) check_access(p, bytes, access_kind::write, code, false, "memory is freed");
  each_granule(p, bytes, [&](std::uintptr_t g, unsigned char) { return touched_.erase(g), true; });
}

std::optional<std::uint64_t> host_work::old_value(const void* p, std::size_t bytes, bool shows_old) {
  if (runs_ || bytes > sizeof(std::uint64_t)) return {};
  const auto known = words_.find(address_of(p));
  if (known == words_.end() || known->second.shown || is_waited_for(work_[known->second.work])) return {};
  known->second.shown = true;
  return shows_old ? std::optional(known->second.before) : std::nullopt;
}

}  // namespace antiphase::plain
