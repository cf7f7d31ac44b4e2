// SPDX-License-Identifier: Apache-2.0
#include "atomic_order.hpp"

#include <algorithm>

namespace antiphase::checker_detail {
namespace {

void join_into(knowledge_ptr& into, const knowledge_ptr& more, block_number otherwise) {
  into = join(into, more, into != nullptr ? into->block : otherwise);
}

}  // namespace

constexpr atomic_order::circle of_device{2, 0}, of_all{3, 0};  // with the host

// Circles of threads around `t`, as many as the scope of an operation allows: its block, its cluster, all,
// all with the host.
std::array<atomic_order::circle, 4> atomic_order::circles_around(const thread_model& t) const {
  const std::uint32_t cluster = clocks_.block(t.block).cluster;
  return {{{0, t.block}, {1, cluster != 0 ? cluster : ~t.block}, of_device, of_all}};
}

// The host reads in order, as if a total fence followed each of its reads. So total fences of system scope
// before the write count too.
atomic_order::for_host atomic_order::to_host(const state& a) {
  const auto from = [&](const circle& of) {
    knowledge_ptr all;
    for (const circle& one : {of, before_fences(of)})
      if (const auto known = a.find(one); known != a.end()) all = join(all, known->second, 0);
    return all;
  };
  return {from(of_all), from(of_device)};
}

void atomic_order::begin_launch() {
  for (const auto& [location, a] : states_)
    if (const for_host known = to_host(a); known.released != nullptr || known.narrow != nullptr)
      before_[location] = known;
  states_.clear();
}
void atomic_order::reset() {
  states_.clear();
  before_.clear();
}

atomic_order::for_host atomic_order::released_to_host(std::uintptr_t location) const {
  if (const auto a = states_.find(location); a != states_.end()) return to_host(a->second);
  const auto before = before_.find(location);
  return before != before_.end() ? before->second : for_host{};
}

void atomic_order::take_in(thread_model& t, const atomic_operation& o, const state& a) {
  const auto circles = circles_around(t);
  const auto begun = t.begun.find(o.location);
  for (std::size_t i = 0; i < circles_of(o.reach); ++i) {
    const auto seen = a.find(circles[i]);
    if (o.acquires() && begun != t.begun.end())
      clocks_.acquire(t, std::exchange(begun->second.read[i], nullptr));
    if (seen == a.end()) continue;
    if (o.acquires()) {
      clocks_.acquire(t, seen->second);  // now: the access, checked later, comes after it
    } else if (begun_patterns& known = t.begun[o.location]; known.taken[i] != seen->second) {
      known.taken[i] = seen->second;
      t.acquirable[i] = join(t.acquirable[i], seen->second, t.block);
      known.read[i] = join(known.read[i], seen->second, t.block);
    }
  }
  for (std::size_t i = 0; i < circles_of(o.reach) && !a.empty(); ++i)
    if (const auto seen = a.find(before_fences(circles[i])); seen != a.end())
      if (knowledge_ptr& taken = t.begun[o.location].taken_seen[i]; taken != seen->second) {
        taken = seen->second;
        clocks_.learn_also(t, &knowledge::seen, i, seen->second);
      }
}

void atomic_order::begin(thread_model& t, const atomic_operation& o) {
  state& a = states_[o.location];
  if (!o.reads() || !o.follows_atomic) a.clear();  // a plain store ends the release sequence
  if (o.reads()) take_in(t, o, a);
}

void atomic_order::give(thread_model& t, const atomic_operation& o, state& a) {
  const auto circles = circles_around(t);
  knowledge_ptr now;
  if (o.releases()) {
    if (o.reach > scope::block) clocks_.block(t.block).published = true;
    now = clocks_.publish(t);
    std::fill_n(t.begun[o.location].released.begin(), circles_of(o.reach), now);
  }
  const auto begun = t.begun.find(o.location);
  for (std::size_t i = 0; i < circles_of(o.reach); ++i) {
    if (const knowledge_ptr& passed = t.known->passed[i]; passed != nullptr)
      join_into(a[before_fences(circles[i])], passed, t.block);
    const knowledge_ptr what = now != nullptr ? now
                               : begun != t.begun.end()
                                   ? join(t.released[i], begun->second.released[i], t.block)
                                   : t.released[i];
    if (what != nullptr) join_into(a[circles[i]], what, what->block);
  }
}

void atomic_order::fence(thread_model& t, order how, scope reach) {
  clocks_.write_down(t, "fence");
  if (how != order::release)
    for (std::size_t i = 0; i < circles_of(reach); ++i)
      clocks_.acquire(t, std::exchange(t.acquirable[i], nullptr));
  if (how == order::acquire) return;
  const bool total = how == order::total;
  if (total)
    for (std::size_t i = 0; i < circles_of(reach); ++i) clocks_.acquire(t, t.known->seen[i]);
  if (reach > scope::block) clocks_.block(t.block).published = true;
  const knowledge_ptr now = clocks_.publish(t);
  std::fill_n(t.released.begin(), circles_of(reach), now);
  if (!total) return;
  const auto alone = make<knowledge>(*now);
  alone->passed = alone->seen = {};
  for (std::size_t i = 0; i < circles_of(reach); ++i) clocks_.learn_also(t, &knowledge::passed, i, alone);
}

}  // namespace antiphase::checker_detail
