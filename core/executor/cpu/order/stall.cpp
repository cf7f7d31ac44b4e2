// SPDX-License-Identifier: Apache-2.0
// Deadlock reports: which threads wait where.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/executor/cpu/worker.hpp"

namespace antiphase::cpu_detail {
namespace {

// "0-15, 17" from sorted numbers.
std::string ranges(const std::vector<int>& sorted) {
  std::string out;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    if (!out.empty()) out += ", ";
    out += end - i == 1 ? fmt::format("{}", sorted[i]) : fmt::format("{}-{}", sorted[i], sorted[end - 1]);
    i = end;
  }
  return out;
}

// Loads that only the checker sees have a code address, but no source location.
bool is_placed(const thread_state& t) { return t.place.line() != 0; }

std::string waits_for(const thread_state& t, const observer* watch) {
  switch (t.now) {
    case condition::at_block_barrier: return fmt::format("at the block barrier in {}", text(t.place));
    case condition::at_named_barrier: return fmt::format("at a named barrier in {}", text(t.place));
    case condition::at_cluster: return fmt::format("at the cluster barrier in {}", text(t.place));
    case condition::at_warp: return fmt::format("waiting for other lanes of the warp in {}", text(t.place));
    case condition::at_whole_warp: {
      const whole_warp_meeting& m = t.home->whole[static_cast<std::size_t>(t.index / 32)];
      return fmt::format("waiting for all lanes of the warp, which {} takes, in {}", m.name, text(t.place));
    }
    case condition::at_warpgroup:
      return fmt::format("waiting for other warps of the warpgroup in {}", text(t.place));
    case condition::at_mbarrier: {
      const auto* const word = static_cast<const std::uint64_t*>(t.key);
      std::string meant = describe_ring_event(t.home->clock_of(word).event, word);
      if (meant.empty() && watch != nullptr) meant = watch->name_of(t, word);
      if (!meant.empty() && t.home->clock_of(word).event.events == 0)
        meant = fmt::format("the phase of {} ends", meant);
      const std::string exact =
          fmt::format("waiting for parity {} of {} in {}", t.parity, describe_mbarrier(word), text(t.place));
      return meant.empty() ? exact : fmt::format("waiting until {}, {}", meant, exact);
    }
    case condition::polling:
      if (t.tested != nullptr && same(t.tested_in, t.place)) {
        std::string name = watch != nullptr ? watch->name_of(t, t.tested) : "";
        if (name.empty()) {
          const auto offset =
              reinterpret_cast<std::uintptr_t>(t.tested) - reinterpret_cast<std::uintptr_t>(t.home->shared);
          name = fmt::format("the mbarrier at byte {} of shared memory", offset);
        }
        return fmt::format("polling {} in {}",
                           describe_test(name, t.tested, t.parity, t.home->clock_of(t.tested).phases),
                           text(t.place));
      }
      return is_placed(t) ? fmt::format("polling in {}", text(t.place)) : "polling in a loop of its own";
    case condition::finished: return "finished";
    default: return t.loads.is_waiting() ? "in a loop around what does not change" : "ready to run";
  }
}

}  // namespace

std::string text(place where) {
  const char* file = where.file_name();
  if (const char* in_tree = std::strstr(file, "/include/antiphase/"))
    file = in_tree + std::string_view("/include/").size();
  return fmt::format("{}:{}", file, where.line());
}

bool same(place a, place b) {
  if (a.line() != b.line() || a.column() != b.column()) return false;
  // usually the same pointer within a translation unit
  return a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0;
}

std::exception_ptr worker::stall() const {
  // the first unfinished thread; preferably one that polls without a source location in the text
  const thread_state* first = nullptr;
  std::string out = fmt::format("kernel {} cannot go on", launch_->kernel.name);
  std::vector<const void*> polled;  // null after those of a thread, of which the latest is the last
  for (const auto& block : blocks_) {
    if (block->running == 0) continue;
    std::vector<std::pair<std::string, std::vector<int>>> groups;
    for (const auto& t : block->thread) {
      const std::string what = waits_for(*t, launch_->watch);
      if (t->now == condition::polling || (t->now == condition::ready && t->loads.is_waiting()))
        t->loads.each_place([&](const void* p) { polled.push_back(p); });
      polled.push_back(nullptr);
      auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == what; });
      if (at == groups.end()) at = groups.insert(groups.end(), {what, {}});
      at->second.push_back(t->index);
      const bool is_better =
          first == nullptr || (t->now == condition::polling && !is_placed(*t) && is_placed(*first));
      if (t->now != condition::finished && is_better) first = t.get();
    }
    out += fmt::format("; block ({}, {}, {}):", block->index.x, block->index.y, block->index.z);
    const char* separator = "";
    for (const auto& [what, threads] : groups) {
      out += fmt::format("{} {} {} {}", separator, threads.size() == 1 ? "thread" : "threads",
                         ranges(threads), what);
      separator = ",";
    }
  }
  if (const std::uint64_t begun = std::min(launch_->next_block.load(), launch_->blocks());
      begun < launch_->blocks())
    out += fmt::format(
        "; {} of {} blocks have not begun, as this schedule has {} resident at a time (--resident), like a "
        "GPU "
        "without room for all: no block may wait for a later one, unless the launch is cooperative",
        launch_->blocks() - begun, launch_->blocks(), blocks_.size());
  const bool by_bound = !all_repeat_ && idle_turns_ > idle_turns_of_long_run;
  std::string told = "no thread can go on:" + out.substr(out.find(';') + 1);
  if (by_bound)
    told = fmt::format(
        "no thread has written anything in the latest {} turns of threads:{}; a bound, no "
        "proof: they count rounds or the like, so that a loop which ends later looks the same",
        idle_turns_, out.substr(out.find(';') + 1));
  if (observer* const watch = launch_->watch; watch != nullptr) told += watch->polled_words(polled);
  kernel_fault deadlock(out, fault::deadlock, launch_->kernel.name, told,
                        first ? first->home->index : extent3{0, 0, 0}, first ? first->index : -1,
                        first ? first->place : place{}, first ? first->code : nullptr);
  std::erase(polled, nullptr);
  deadlock.polled = std::move(polled);
  deadlock.by_bound = by_bound;
  return std::make_exception_ptr(std::move(deadlock));
}

}  // namespace antiphase::cpu_detail
