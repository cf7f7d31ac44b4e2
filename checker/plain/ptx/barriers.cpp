// SPDX-License-Identifier: Apache-2.0
// Which block barriers of a PTX kernel a thread has gone past when it ends, by the graph of its blocks.
#include <algorithm>
#include <set>

#include "checker/plain/ptx/instructions/ptx_instruction.hpp"
#include "flow.hpp"

namespace antiphase::plain::ptx_module {
namespace {

constexpr std::size_t none = ~std::size_t{0};

class block_graph {
 public:
  explicit block_graph(const function& f) : f_(f), labels_(f) {
    divide();
    connect();
    find_joins();
    find_deciders();
  }
  bool is_complete() const { return complete_; }  // false: jumps that are not followed
  std::vector<std::size_t> barriers() const;      // statements; exchanges of warps, too
  bool is_always_reached(std::size_t barrier) const { return deciders_[block_of_[barrier]].empty(); }
  // True if each branch that leads around the barrier joins the barrier's path again before the end.
  bool is_gone_past(std::size_t barrier) const;

 private:
  void divide();
  void connect();
  void find_joins();
  void find_deciders();
  std::size_t common(std::size_t a, std::size_t b) const;
  std::size_t end() const { return next_.size() - 1; }  // the block after all
  bool only_ends(std::size_t block) const { return block == end() || ends_.contains(block); }

  const function& f_;
  label_targets labels_;
  bool complete_ = true;
  std::vector<std::size_t> block_of_, first_;    // of statements; of blocks
  std::vector<std::vector<std::size_t>> next_;   // blocks, and one for the end
  std::set<std::size_t> ends_;                   // blocks that do nothing but return
  std::vector<std::size_t> join_, order_;        // immediate post-dominators; numbers in their order
  std::vector<std::set<std::size_t>> deciders_;  // branches that decide whether a block is reached
};

void block_graph::divide() {
  bool fresh = true;
  for (std::size_t k = 0; k < f_.body.size(); ++k) {
    const statement& s = f_.body[k];
    if (fresh || s.kind == statement_kind::label) first_.push_back(k);
    fresh = false;
    block_of_.push_back(first_.size() - 1);
    if (s.kind != statement_kind::instruction) continue;
    const std::string_view base = operation_of(s).base();
    fresh = base == "bra" || base == "ret" || base == "exit" || base == "brx";
  }
}

void block_graph::connect() {
  next_.resize(first_.size() + 1);
  for (std::size_t b = 0; b < first_.size(); ++b) {
    const std::size_t stop = b + 1 < first_.size() ? first_[b + 1] : f_.body.size();
    bool falls = true, acts = false;
    for (std::size_t k = first_[b]; k < stop; ++k) {
      if (f_.body[k].kind != statement_kind::instruction) continue;
      const operation o = operation_of(f_.body[k]);
      const bool leaves = o.base() == "ret" || o.base() == "exit" || o.base() == "trap";
      if (o.base() == "brx") complete_ = false;
      if (o.base() == "bra") {
        if (const auto to = labels_.find(o.rest, k)) next_[b].push_back(block_of_[*to]);
      } else if (leaves) {
        next_[b].push_back(end());
      } else {
        acts = true;
      }
      falls = !(o.guard.empty() && (leaves || o.base() == "bra"));
    }
    if (falls) next_[b].push_back(b + 1 < first_.size() ? b + 1 : end());
    if (!acts && next_[b] == std::vector{end()}) ends_.insert(b);
  }
}

std::size_t block_graph::common(std::size_t a, std::size_t b) const {
  while (a != b) {
    while (order_[a] > order_[b]) a = join_[a];
    while (order_[b] > order_[a]) b = join_[b];
  }
  return a;
}

// Post-dominators, by Cooper, Harvey and Kennedy's iteration over the graph from its end.
void block_graph::find_joins() {
  const std::size_t n = next_.size();
  std::vector<std::vector<std::size_t>> before(n);
  for (std::size_t b = 0; b < n; ++b)
    for (const std::size_t to : next_[b]) before[to].push_back(b);
  std::vector<std::size_t> finished, stack{end()};
  std::vector<std::size_t> at(n, 0);
  std::vector<bool> seen(n, false);
  seen[end()] = true;
  while (!stack.empty()) {
    const std::size_t b = stack.back();
    if (at[b] == before[b].size()) {
      finished.push_back(b);
      stack.pop_back();
    } else if (const std::size_t to = before[b][at[b]++]; !seen[to]) {
      seen[to] = true;
      stack.push_back(to);
    }
  }
  order_.assign(n, none);
  join_.assign(n, none);
  for (std::size_t k = 0; k < finished.size(); ++k) order_[finished[finished.size() - 1 - k]] = k;
  join_[end()] = end();
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = finished.size() - 1; k-- > 0;) {
      const std::size_t b = finished[k];
      std::size_t join = none;
      for (const std::size_t to : next_[b])
        if (order_[to] != none && join_[to] != none) join = join == none ? to : common(to, join);
      if (join != none && join != join_[b]) join_[b] = join, changed = true;
    }
  }
}

void block_graph::find_deciders() {
  deciders_.resize(next_.size());
  for (std::size_t b = 0; b + 1 < next_.size(); ++b) {
    if (next_[b].size() < 2 || join_[b] == none) continue;
    for (std::size_t to : next_[b])
      for (; to != none && to != join_[b] && to != end(); to = join_[to]) deciders_[to].insert(b);
  }
}

std::vector<std::size_t> block_graph::barriers() const {
  static constexpr std::string_view of_warp[] = {"bar.warp.sync", "shfl.sync", "vote.sync", "match.",
                                                 "redux.sync"};
  std::vector<std::size_t> all;
  for (std::size_t k = 0; k < f_.body.size(); ++k) {
    if (f_.body[k].kind != statement_kind::instruction) continue;
    const operation o = operation_of(f_.body[k]);
    if (is_block_barrier(o) ||
        std::ranges::any_of(of_warp, [&](auto one) { return o.name.starts_with(one); }))
      all.push_back(k);
  }
  return all;
}

bool block_graph::is_gone_past(std::size_t barrier) const {
  std::vector<std::size_t> open{block_of_[barrier]};
  std::set<std::size_t> seen;
  while (!open.empty()) {
    const std::size_t b = open.back();
    open.pop_back();
    for (const std::size_t d : deciders_[b]) {
      if (only_ends(join_[d])) return false;
      if (seen.insert(d).second) open.push_back(d);
    }
  }
  return true;
}

}  // namespace

bool is_block_barrier(const operation& o) {
  static constexpr std::string_view all[] = {"bar.sync", "barrier.sync", "bar.cta.sync", "barrier.cta.sync",
                                             "bar.red",  "barrier.red",  "bar.cta.red",  "barrier.cta.red"};
  return std::ranges::any_of(all, [&](std::string_view one) { return o.name.starts_with(one); });
}

std::map<std::size_t, barrier_loop> loops_around_barriers(const function& f) {
  const label_targets labels(f);
  std::map<std::size_t, barrier_loop> all;
  std::set<std::size_t> barriers, continued;
  std::vector<std::pair<std::size_t, std::size_t>> jumps;  // from, to
  for (std::size_t k = 0; k < f.body.size(); ++k) {
    if (f.body[k].kind != statement_kind::instruction) continue;
    const operation o = operation_of(f.body[k]);
    if (is_block_barrier(o)) barriers.insert(k);
    if (o.base() == "brx") return {};
    const auto to = o.base() == "bra" ? labels.find(o.rest, k) : std::nullopt;
    if (to) jumps.emplace_back(k, *to);
    if (!to || *to > k) continue;
    if (!all.emplace(*to, barrier_loop{k}).second) continued.insert(*to);
  }
  // A loop that is entered in its middle is a way back to there, which the code falls through: no loop of its
  // own.
  for (const auto& [from, to] : jumps)
    for (const auto& [first, loop] : all)
      if ((from < first || from > loop.last) && first < to && to <= loop.last) continued.insert({first, to});
  // Lanes of a loop with several jumps back may poll on their own before they meet.
  std::erase_if(all, [&](const auto& loop) {
    const auto first = barriers.lower_bound(loop.first);
    return continued.contains(loop.first) || first == barriers.end() || *first > loop.second.last;
  });
  return all;
}

namespace {
std::optional<line_range> gone_past(const block_graph& graph, const function& f, bool with_always) {
  std::optional<line_range> all;
  const auto barriers = graph.barriers();
  for (const std::size_t k : barriers) {
    const source_line& at = f.body[k].place;
    if ((graph.is_always_reached(k) && !with_always) || !graph.is_gone_past(k)) continue;
    if (!all) all = {at, at.line + 1};
    if (all->first.file != at.file) return {};
    all->first.line = std::min(all->first.line, at.line);
    all->end = std::max(all->end, at.line + 1);
  }
  if (!all) return {};
  for (const std::size_t k : barriers) {
    const source_line& at = f.body[k].place;
    if (!graph.is_gone_past(k) && at.file == all->first.file && at.line >= all->first.line &&
        at.line < all->end)
      return {};
  }
  return all;
}
}  // namespace

std::optional<line_range> barriers_gone_past(const function& f) {
  const block_graph graph(f);
  if (!graph.is_complete()) return {};
  const auto some = gone_past(graph, f, false);
  if (!some) return {};
  const auto all = gone_past(graph, f, true);  // those that who goes past some comes to
  return all ? all : some;
}

}  // namespace antiphase::plain::ptx_module
