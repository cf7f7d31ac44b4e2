// SPDX-License-Identifier: Apache-2.0
#include "groups.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <tuple>

#include "checker/order/missing.hpp"

namespace antiphase::checker_detail {
namespace {

// Lines of a source that order threads. A source that cannot be read has none.
class barrier_lines {
 public:
  const std::vector<int>& in(const std::string& file) {
    const auto [lines, fresh] = known_.try_emplace(file);
    if (!fresh) return lines->second;
    static const std::regex orders(
        R"((\b__sync(threads|warp)\w*|\bsync|\bblock_barrier|\bcluster_barrier|\barrive_and_wait)\s*\(|\b(barrier|bar)\.(sync|cta))");
    std::ifstream source(file);
    std::string line;
    for (int number = 1; std::getline(source, line); ++number)
      if (std::regex_search(
              line.begin(),
              line.begin() + static_cast<std::ptrdiff_t>(std::min(line.find("//"), line.size())), orders))
        lines->second.push_back(number);
    return lines->second;
  }

 private:
  std::map<std::string, std::vector<int>> known_;
};

bool between_threads(finding_kind k) {
  return k == finding_kind::race || k == finding_kind::read_before_landing ||
         k == finding_kind::overwritten_in_use;
}
bool in_shared(const finding& f) { return f.space == line_memory::shared; }

// Findings of one class may lack the same statement: one barrier, or one wait for copies of the block's
// threads, separates all accesses before it from all after it. So does one arrival and wait at an mbarrier.
// Of other orders each stands for itself.
struct missing_class {
  enum { barrier, mbarrier, other } kind = other;
  bool shared = false;
  explanation missing = {};
  bool operator==(const missing_class&) const = default;
};
missing_class class_of(const finding& f) {
  const bool within_block = f.earlier && f.access.block == f.earlier->block && f.earlier->thread >= 0;
  if (f.severity() == finding_severity::error && within_block) switch (f.missing.order()) {
      case missing_order::warp_sync:
      case missing_order::block_barrier:
      case missing_order::copy_wait:
      case missing_order::bulk_wait:
      case missing_order::tensor_wait: return {.kind = missing_class::barrier, .shared = in_shared(f)};
      case missing_order::mbarrier_phase:
      case missing_order::mbarrier_arrival: return {.kind = missing_class::mbarrier, .shared = in_shared(f)};
      default: break;
    }
  return {.missing = f.missing};
}

// The stretch of code in which an order is missing.
struct gap {
  std::string file;
  missing_class lacks;
  int first = 0, last = 0;    // lines within one stretch between barriers, or
  int before = 0, after = 0;  // from one such stretch around a loop to another: numbers of both
  bool around = false;
};

struct group {
  gap place;
  std::vector<std::size_t> members;
};

gap gap_of(const finding& f, barrier_lines& barriers) {
  const auto [first, last] = std::minmax(f.access.place.line, f.earlier->place.line);
  gap g{.file = f.access.place.file, .lacks = class_of(f), .first = first, .last = last};
  const std::vector<int>& lines = barriers.in(g.file);
  const auto stretch = [&](int line) {
    return static_cast<int>(std::ranges::lower_bound(lines, line) - lines.begin());
  };
  g.before = stretch(first);
  g.after = stretch(last);
  g.around = g.before != g.after;
  return g;
}

bool joins(gap& known, const gap& g) {
  if (known.file != g.file || known.lacks != g.lacks || known.around != g.around) return false;
  if (g.around) return std::tie(known.before, known.after) == std::tie(g.before, g.after);
  const int first = std::max(known.first, g.first), last = std::min(known.last, g.last);
  if (known.before != g.before || first > last) return false;
  known.first = first;
  known.last = last;
  return true;
}

bool touches(const finding& f, const code_place& place) {
  return f.access.place == place || (f.earlier && f.earlier->place == place);
}

// The same line, reached by the same calls as far as both sides know them.
bool same_place(const finding_side& a, const finding_side& b) {
  const std::size_t known = std::min(a.callers.size(), b.callers.size());
  return a.place == b.place &&
         std::equal(a.callers.begin(), a.callers.begin() + static_cast<std::ptrdiff_t>(known),
                    b.callers.begin());
}

// True for what follows from an access that leaves its array, where it meets another one.
bool follows_from(const finding& outside, const finding& f) {
  return outside.kind == finding_kind::outside_memory && outside.access.place.line > 0 &&
         (between_threads(f.kind) || f.kind == finding_kind::uninitialised) && f.kernel == outside.kernel &&
         (!outside.space || in_shared(outside) == in_shared(f)) &&
         (same_place(f.access, outside.access) || (f.earlier && same_place(*f.earlier, outside.access)));
}

}  // namespace

void group_findings(std::vector<finding>& all) {
  barrier_lines barriers;
  std::vector<group> groups;
  std::vector<std::size_t> later;  // consequences
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].kind == finding_kind::outside_memory) groups.push_back({.place = {}, .members = {i}});
  const std::size_t outside = groups.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const finding& f = all[i];
    if (f.kind == finding_kind::outside_memory) continue;
    const auto cause = std::find_if(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(outside),
                                    [&](const group& g) { return follows_from(all[g.members.front()], f); });
    if (cause != groups.begin() + static_cast<std::ptrdiff_t>(outside)) {
      cause->members.push_back(i);
      continue;
    }
    if (f.kind == finding_kind::uninitialised || f.kind == finding_kind::wrong_result) {
      later.push_back(i);
      continue;
    }
    const bool pair = between_threads(f.kind) && f.earlier && f.earlier->place.line > 0 &&
                      f.access.place.line > 0 && f.earlier->place.file == f.access.place.file;
    if (!pair) {
      groups.push_back({.place = {}, .members = {i}});
      continue;
    }
    const gap place = gap_of(f, barriers);
    const auto known = std::ranges::find_if(groups, [&](group& g) { return joins(g.place, place); });
    if (known == groups.end())
      groups.push_back({place, {i}});
    else
      known->members.push_back(i);
  }
  const auto is_error = [&](const group& g) {
    return std::ranges::any_of(g.members, [&](std::size_t m) {
      return all[m].severity() == finding_severity::error && all[m].kind != finding_kind::leak;
    });
  };
  for (const bool wrong_results : {false, true})
    for (const std::size_t i : later) {
      const finding& f = all[i];
      if ((f.kind == finding_kind::wrong_result) != wrong_results) continue;
      const auto cause = std::ranges::find_if(groups, [&](const group& g) {
        if (wrong_results) return is_error(g);
        const bool follows = g.place.first > 0 || all[g.members.front()].kind == finding_kind::outside_memory;
        return follows && std::ranges::any_of(g.members, [&](std::size_t m) {
                 return touches(all[m], f.access.place) && in_shared(all[m]) == in_shared(f);
               });
      });
      // with several causes it is unknown which one a wrong result has
      const bool alone = !wrong_results || std::ranges::count_if(groups, is_error) == 1;
      if (cause != groups.end() && alone)
        cause->members.push_back(i);
      else
        groups.push_back({.place = {}, .members = {i}});
    }
  // A read before the copy has landed, and a copy over what is still read: either the wait for the copy is
  // missing, or the copy is the next one into the slot, and what is missing comes after the read. That is so
  // unless memory was read that no thread had written: it was read too early, rather than overwritten.
  for (group& g : groups) {
    const auto has = [&](finding_kind kind) {
      return std::ranges::any_of(g.members, [&](std::size_t m) { return all[m].kind == kind; });
    };
    const auto over = std::ranges::find_if(
        g.members, [&](std::size_t m) { return all[m].kind == finding_kind::overwritten_in_use; });
    const sentence missing = over == g.members.end() ? sentence::none : all[*over].missing.row;
    const missing_order order = over == g.members.end() ? missing_order::none : all[*over].missing.order();
    const bool slot = missing == sentence::slot_barrier || missing == sentence::slot_arrival;
    const bool refilled = slot || order == missing_order::block_barrier || order == missing_order::warp_sync;
    for (const std::size_t m : g.members)
      if (refilled && all[m].kind == finding_kind::read_before_landing)
        all[m].remarks.emplace_back(slot ? sentence::barrier_before_next_copy
                                         : sentence::sync_before_next_copy);
    // A barrier of a warp is not enough where one of the block is missing.
    const bool unwritten = has(finding_kind::uninitialised);
    const bool early = refilled && has(finding_kind::read_before_landing);
    const auto rank = [&](std::size_t m) {
      const int by_kind = all[m].kind == finding_kind::wrong_result         ? 3
                          : all[m].kind != finding_kind::overwritten_in_use ? 1
                          : unwritten                                       ? 2
                          : early                                           ? 0
                                                                            : 1;
      return std::pair(by_kind, all[m].missing.order() == missing_order::warp_sync);
    };
    std::ranges::stable_sort(g.members, {}, rank);
  }
  std::ranges::stable_sort(groups, {}, [](const group& g) { return std::ranges::min(g.members); });
  std::vector<finding> together;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const std::size_t m : groups[g].members) {
      all[m].group = static_cast<int>(g + 1);
      together.push_back(std::move(all[m]));
    }
  all = std::move(together);
}

}  // namespace antiphase::checker_detail
