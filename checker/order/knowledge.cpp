// SPDX-License-Identifier: Apache-2.0
#include "knowledge.hpp"

namespace antiphase::checker_detail {
namespace {

bool covers(const std::vector<stamp>& a, const std::vector<stamp>& b, stamp floor) {
  for (std::size_t i = 0; i < b.size(); ++i)
    if (b[i] > floor && (i >= a.size() || a[i] < b[i])) return false;
  return true;
}
bool covers(const view& a, const view& b) {
  return a.floor >= b.floor && covers(a.threads, b.threads, a.floor) && covers(a.copies, b.copies, 0);
}
void raise(std::vector<stamp>& to, const std::vector<stamp>& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}
void insert(std::vector<std::pair<block_number, view_ptr>>& all, block_number block, const view_ptr& v) {
  const auto at = std::lower_bound(all.begin(), all.end(), block,
                                   [](const auto& o, block_number x) { return o.first < x; });
  if (at != all.end() && at->first == block)
    at->second = join(at->second, v);
  else
    all.insert(at, {block, v});
}

}  // namespace

view_ptr join(const view_ptr& a, const view_ptr& b) {
  if (a == b || b == nullptr) return a;
  if (a == nullptr) return b;
  if (covers(*a, *b)) return a;
  if (covers(*b, *a)) return b;
  auto both = make<view>();
  both->floor = std::max(a->floor, b->floor);
  both->threads = a->threads;
  both->copies = a->copies;
  raise(both->threads, b->threads);
  raise(both->copies, b->copies);
  return both;
}

static knowledge_ptr joined(const knowledge_ptr& a, const knowledge_ptr& b, block_number block) {
  auto both = a != nullptr ? make<knowledge>(*a) : make<knowledge>();
  both->block = block;
  if (b->block == block)
    both->own = join(both->own, b->own);
  else
    insert(both->others, b->block, b->own);
  for (const auto& [other, v] : b->others) {
    if (other == block)
      both->own = join(both->own, v);
    else
      insert(both->others, other, v);
  }
  for (const space s : all_spaces) both->fenced[s] = join(both->fenced[s], b->fenced[s], block);
  for (std::size_t i = 0; i < both->passed.size(); ++i) {
    both->passed[i] = join(both->passed[i], b->passed[i], block);
    both->seen[i] = join(both->seen[i], b->seen[i], block);
  }
  both->over = join(both->over, b->over, block);
  if (a != nullptr && both->own == a->own && both->others == a->others && both->fenced == a->fenced &&
      both->passed == a->passed && both->seen == a->seen && both->over == a->over)
    return a;
  return both;
}

// Keeps the latest result: an atomic operation joins the same two for each scope.
knowledge_ptr join(const knowledge_ptr& a, const knowledge_ptr& b, block_number block) {
  if (a == b || b == nullptr) return a;
  if (a == nullptr && b->block == block) return b;
  struct result {
    knowledge_ptr a, b, both;
    block_number block;
  };
  static thread_local result last{};
  if (last.a == a && last.b == b && last.block == block && last.both != nullptr) return last.both;
  return (last = {a, b, joined(a, b, block), block}).both;
}

}  // namespace antiphase::checker_detail
