// SPDX-License-Identifier: Apache-2.0
#include "groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <tuple>

namespace antiphase::checker_detail {
namespace {

// Lines of a source that order threads. A source that cannot be read has none.
class barrier_lines {
 public:
  const std::vector<int>& of(const std::string& file) {
    const auto [at, fresh] = known_.try_emplace(file);
    if (!fresh) return at->second;
    static const std::regex orders(
        R"((\b__sync(threads|warp)\w*|\bsync|\bblock_barrier|\bcluster_barrier|\barrive_and_wait)\s*\(|\b(barrier|bar)\.(sync|cta))");
    std::ifstream in(file);
    std::string line;
    for (int number = 1; std::getline(in, line); ++number)
      if (std::regex_search(
              line.begin(),
              line.begin() + static_cast<std::ptrdiff_t>(std::min(line.find("//"), line.size())), orders))
        at->second.push_back(number);
    return at->second;
  }

 private:
  std::map<std::string, std::vector<int>> known_;
};

bool between_threads(finding_kind k) {
  return k == finding_kind::race || k == finding_kind::read_before_landing ||
         k == finding_kind::overwritten_in_use;
}
bool of_shared_memory(const finding& f) { return f.memory.starts_with("shared"); }
// True also for the named shared variables of plain programs.
bool anyhow_shared(const finding& f) { return f.memory.find("shared memory") != std::string::npos; }
// A barrier of the block may be what is missing; else the words say what.
std::string class_of(const finding& f) {
  const bool barrier =
      f.severity() == finding_severity::error &&
      (f.missing.find("barrier") != std::string::npos || f.missing.find("__sync") != std::string::npos ||
       f.missing.find("wait") != std::string::npos);
  const bool within_block = f.earlier && f.access.block == f.earlier->block && f.earlier->thread >= 0;
  return barrier && within_block ? (of_shared_memory(f) ? "shared" : "global") : f.missing;
}

// The stretch of code in which an order is missing.
struct gap {
  std::string file, of;        // `of`: class_of()
  int from = 0, to = 0;        // within one stretch between barriers, or
  int before = 0, behind = 0;  // from one such stretch around a loop to another: numbers of both
  bool around = false;
};

struct group {
  gap in;
  std::vector<std::size_t> members;
};

gap gap_of(const finding& f, barrier_lines& barriers) {
  const auto [from, to] = std::minmax(f.access.at.line, f.earlier->at.line);
  gap g{.file = f.access.at.file, .of = class_of(f), .from = from, .to = to};
  const std::vector<int>& lines = barriers.of(g.file);
  const auto stretch = [&](int line) {
    return static_cast<int>(std::ranges::lower_bound(lines, line) - lines.begin());
  };
  g.before = stretch(from);
  g.behind = stretch(to);
  g.around = g.before != g.behind;
  return g;
}

bool joins(gap& into, const gap& g) {
  if (std::tie(into.file, into.of, into.around) != std::tie(g.file, g.of, g.around)) return false;
  if (g.around) return std::tie(into.before, into.behind) == std::tie(g.before, g.behind);
  const int from = std::max(into.from, g.from), to = std::min(into.to, g.to);
  if (into.before != g.before || from > to) return false;
  into.from = from;
  into.to = to;
  return true;
}

bool touches(const finding& f, const code_place& at) {
  return f.access.at == at || (f.earlier && f.earlier->at == at);
}

// The same line, come to by the same calls as far as both sides know them.
bool same_place(const finding_side& a, const finding_side& b) {
  const std::size_t known = std::min(a.callers.size(), b.callers.size());
  return a.at == b.at && std::equal(a.callers.begin(), a.callers.begin() + static_cast<std::ptrdiff_t>(known),
                                    b.callers.begin());
}

// True for what follows from an access that leaves its array, where it meets another one.
bool follows_from(const finding& outside, const finding& f) {
  return outside.kind == finding_kind::outside_memory && outside.access.at.line > 0 &&
         (between_threads(f.kind) || f.kind == finding_kind::uninitialised) && f.kernel == outside.kernel &&
         (outside.memory.empty() || anyhow_shared(outside) == anyhow_shared(f)) &&
         (same_place(f.access, outside.access) || (f.earlier && same_place(*f.earlier, outside.access)));
}

}  // namespace

void group_findings(std::vector<finding>& all) {
  barrier_lines barriers;
  std::vector<group> groups;
  std::vector<std::size_t> later;  // consequences
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].kind == finding_kind::outside_memory) groups.push_back({.in = {}, .members = {i}});
  const std::size_t outside = groups.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const finding& f = all[i];
    if (f.kind == finding_kind::outside_memory) continue;
    const auto by = std::find_if(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(outside),
                                 [&](const group& g) { return follows_from(all[g.members.front()], f); });
    if (by != groups.begin() + static_cast<std::ptrdiff_t>(outside)) {
      by->members.push_back(i);
      continue;
    }
    if (f.kind == finding_kind::uninitialised || f.kind == finding_kind::wrong_result) {
      later.push_back(i);
      continue;
    }
    const bool pair = between_threads(f.kind) && f.earlier && f.earlier->at.line > 0 &&
                      f.access.at.line > 0 && f.earlier->at.file == f.access.at.file;
    if (!pair) {
      groups.push_back({.in = {}, .members = {i}});
      continue;
    }
    const gap in = gap_of(f, barriers);
    const auto with = std::ranges::find_if(groups, [&](group& g) { return joins(g.in, in); });
    if (with == groups.end())
      groups.push_back({in, {i}});
    else
      with->members.push_back(i);
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
      const auto with = std::ranges::find_if(groups, [&](const group& g) {
        if (wrong_results) return is_error(g);
        const bool follows = g.in.from > 0 || all[g.members.front()].kind == finding_kind::outside_memory;
        return follows && std::ranges::any_of(g.members, [&](std::size_t m) {
                 return touches(all[m], f.access.at) && of_shared_memory(all[m]) == of_shared_memory(f);
               });
      });
      // of several causes nobody knows which one a wrong result has
      const bool alone = !wrong_results || std::ranges::count_if(groups, is_error) == 1;
      if (with != groups.end() && alone)
        with->members.push_back(i);
      else
        groups.push_back({.in = {}, .members = {i}});
    }
  // A read before the copy has landed, and a copy over what is still read: either the wait for the copy is
  // missing, or the copy is the next one into the slot, and what is missing stands behind the reading.
  for (const group& g : groups) {
    const auto over = std::ranges::find_if(
        g.members, [&](std::size_t m) { return all[m].kind == finding_kind::overwritten_in_use; });
    if (over == g.members.end()) continue;
    const bool plain = all[*over].missing.find("__sync") != std::string::npos;
    if (!plain && !all[*over].missing.starts_with("a barrier")) continue;
    for (const std::size_t m : g.members)
      if (all[m].kind == finding_kind::read_before_landing)
        all[m].missing +=
            fmt::format("; if that is there, a {} between this reading and the next copy to its place",
                        plain ? "__syncthreads()" : "barrier");
  }
  std::ranges::stable_sort(groups, {}, [](const group& g) { return std::ranges::min(g.members); });
  // Memory that no thread had written was read too early, rather than overwritten too early.
  for (group& g : groups)
    if (std::ranges::any_of(g.members,
                            [&](std::size_t m) { return all[m].kind == finding_kind::uninitialised; }))
      std::stable_sort(g.members.begin(), g.members.end(), [&](std::size_t a, std::size_t b) {
        const auto rank = [&](std::size_t m) {
          return all[m].kind == finding_kind::wrong_result ? 2
                                                           : all[m].kind == finding_kind::overwritten_in_use;
        };
        return rank(a) < rank(b);
      });
  std::vector<finding> together;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const std::size_t m : groups[g].members) {
      all[m].group = static_cast<int>(g + 1);
      together.push_back(std::move(all[m]));
    }
  all = std::move(together);
}

}  // namespace antiphase::checker_detail
