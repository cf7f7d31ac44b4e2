// SPDX-License-Identifier: Apache-2.0
// Random programs, run by the model and by an oracle that stores for every step all steps before it: both
// find the same first conflict.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <optional>

#include "oracle.hpp"
#include "scene.hpp"

namespace antiphase::test {

// One step of a program; the meaning of its numbers depends on the actions possible at that time.
struct step {
  unsigned verb, who, what, where, size;
  bool careful;  // skipped if it conflicts with an earlier step

  friend std::ostream& operator<<(std::ostream& to, const step& s) {
    return to << "{" << s.verb % 32 << ", " << s.who % 12 << ", " << s.what << ", " << s.where << ", "
              << s.size << ", " << s.careful << "}";
  }
};

}  // namespace antiphase::test

template <> struct rc::Arbitrary<antiphase::test::step> {
  static Gen<antiphase::test::step> arbitrary() {
    const auto number = [] { return gen::inRange(0u, 4096u); };
    return gen::construct<antiphase::test::step>(number(), number(), number(), number(), number(),
                                                 gen::map(gen::inRange(0, 40), [](int n) { return n != 1; }));
  }
};

namespace antiphase::test {
namespace {

using fault = oracle::fault;
using touch = oracle::touch;

constexpr std::size_t blocks = 3, agents = 4;
constexpr std::array<std::size_t, agents> agent_index{0, 1, 32, 40};
constexpr int block_threads = 64;
constexpr int warp_of(std::size_t agent) { return static_cast<int>(agent_index[agent] / 32); }
// offsets in each memory, after the data; the mbarrier is in shared memory
constexpr std::size_t flag_place = 32, word_place = 48, shared_used = 56;
constexpr std::size_t far_away = 1 << 16;  // between memories in the oracle's address space

struct head {  // head of a release sequence
  int node;
  scope reach;
  int block;
};
struct flag_write {
  bool ordinary = false, update = false;
  std::vector<head> heads;
};
struct agent {
  int last = -1;
  std::vector<std::vector<int>> copies{1}, stores{1}, multiplications{1};  // groups; the last is open
  std::vector<std::pair<int, scope>> releasing;
  std::vector<std::pair<head, scope>> seen_relaxed;
  // per location: continued by a relaxed write there
  std::map<std::size_t, std::vector<head>> released;
  std::map<std::size_t, std::vector<std::pair<head, scope>>> read;  // continued by an acquire there
};
struct resident {
  block_model* b = nullptr;
  int number = 0;
  int cluster = 0;
  std::size_t base = 0;  // of its shared memory, for the oracle
  std::array<agent, agents> a;
  std::array<knowledge_ptr, 2> named;
  std::array<std::vector<int>, 2> named_arrived;
  std::vector<int> arrived, loads;  // nodes at the mbarrier: arrivals, and loads that complete there
  int arrivals = 0, ended = -1;
};
struct past_launch {
  stream on;
  int first, last;
  bool synchronised;
};

class program {
 public:
  program() {
    const int host = o_.add({});
    o_.remember({host, 0, 64, true, {}, 1});
    begin_launch(nullptr);
  }
  // True if the program continues: it ends with its first conflict.
  bool perform(const step& s);
  int conflicts_seen() const { return conflicts_; }

 private:
  struct memory {
    unsigned char* at;
    std::size_t oracle_at;
  };
  resident& block_of(const step& s) { return r_[s.who / agents % blocks]; }
  agent& agent_of(const step& s) { return block_of(s).a[s.who % agents]; }
  actor_thread thread_of(resident& r, std::size_t a) { return s_.thread(*r.b, agent_index[a]); }
  actor_thread thread_of(const step& s) { return thread_of(block_of(s), s.who % agents); }
  memory shared(resident& r, std::size_t offset) { return {physical(r) + offset, r.base + offset}; }
  unsigned char* physical(resident& r) { return s_.shared(static_cast<unsigned>(&r - r_.data())); }
  memory global(std::size_t offset) { return {s_.g + offset, offset}; }
  resident& reachable_block(const step& s) {  // its own, or the other one of its cluster
    resident& own = block_of(s);
    for (resident& r : r_)
      if (s.what % 4 == 0 && &r != &own && r.cluster != 0 && r.cluster == own.cluster) return r;
    return own;
  }

  void begin_launch(stream on);
  void begin_block(resident& r, int cluster, int after);
  void read_or_write(const step& s);
  void atomic(const step& s);
  void fence(const step& s);
  void meet(const step& s);
  void copy(const step& s);
  void wait(const step& s, std::vector<std::vector<int>>& groups, void (actor_thread::*how)(int));
  void bulk(const step& s);
  void next_launch(const step& s);

  // Performs the step, unless it is careful and conflicts.
  template <class Do> bool act(const step& s, int node, const std::vector<touch>& touches, Do perform_it);
  bool by_thread(const step& s, int node, const std::vector<touch>& touches, auto perform_it) {
    if (!act(s, node, touches, perform_it)) return false;
    agent_of(s).last = node;
    return true;
  }

  scene s_{64};
  oracle o_;
  std::array<resident, blocks> r_;
  std::map<std::size_t, std::vector<flag_write>> flags_;
  std::vector<past_launch> launches_;
  std::size_t bases_ = 1;
  bool goes_on_ = true;
  int conflicts_ = 0;
};

template <class Do>
bool program::act(const step& s, int node, const std::vector<touch>& touches, Do perform_it) {
  std::vector<std::pair<int, fault>> conflicts;
  for (const touch& t : touches)
    for (const auto& c : o_.conflicts(t)) conflicts.push_back(c);
  if (!conflicts.empty() && s.careful) {
    o_.drop();
    return false;
  }
  for (const touch& t : touches) o_.remember(t);
  perform_it();
  seen_list found = s_.found();
  // reported for ended blocks
  std::erase_if(found, [](const seen& f) { return f.kind == finding_kind::never_waited_for; });
  if (conflicts.empty()) {
    RC_ASSERT(found == seen_list{});
    return true;
  }
  ++conflicts_;
  goes_on_ = false;
  RC_ASSERT(!found.empty());
  const bool unordered =
      std::any_of(conflicts.begin(), conflicts.end(), [](auto& c) { return c.second == fault::unordered; });
  bool found_unordered = false;
  for (const seen& f : found) {
    RC_ASSERT(f.step == node);
    found_unordered |= f.kind != finding_kind::missing_proxy_fence;
    // For lanes of a warp that read at one time only the last one's place is stored; every write has its own.
    if (f.kind == finding_kind::race || f.kind == finding_kind::read_before_landing)
      RC_ASSERT(
          std::any_of(conflicts.begin(), conflicts.end(), [&](auto& c) { return c.first == f.earlier; }));
  }
  RC_ASSERT(found_unordered == unordered);
  return true;
}

bool program::perform(const step& s) {
  if (o_.newest() + 20 > static_cast<int>(oracle::most)) return false;
  resident& r = block_of(s);
  switch (s.verb % 32) {
    default: read_or_write(s); break;
    case 0:
    case 1:
    case 2:
    case 3:
    case 4: atomic(s); break;
    case 5:
    case 6: fence(s); break;
    case 7:
    case 8:
    case 9:
    case 10: meet(s); break;
    case 11:
    case 12: copy(s); break;
    case 13: {
      auto& groups = agent_of(s).copies;
      groups.emplace_back();
      thread_of(s).commit();
      wait(s, groups, &actor_thread::wait);
      break;
    }
    case 14:
    case 15:
    case 16:
    case 17:
    case 18: bulk(s); break;
    case 19: {
      const int node = o_.add({agent_of(s).last});
      o_.proxy_fence(node);
      thread_of(s).proxy_fence();
      agent_of(s).last = node;
      break;
    }
    case 20:
      if (s.what % 4 == 0) next_launch(s);
      break;
    case 21:
      if (s.what % 4 != 0) break;
      s_.m.end_block(*r.b);
      begin_block(r, 0, launches_.back().first);
      break;
  }
  return goes_on_;
}

// launches and blocks
// -----------------------------------------------------------------------------------------------------------

void program::begin_launch(stream on) {
  const int start = o_.add({0});
  for (const past_launch& l : launches_)
    if (l.on == nullptr || on == nullptr || l.on == on || l.synchronised)
      for (int n = l.first; n < l.last; ++n) o_.follow(n);
  launches_.push_back({on, start, 0, false});
  for (resident& r : r_) begin_block(r, &r == &r_[2] ? 0 : static_cast<int>(launches_.size()), start);
  o_.launch_first_block = r_[0].number;
}

void program::next_launch(const step& s) {
  s_.m.end_launch();
  launches_.back().last = o_.newest() + 1;
  const auto stream_of = [](std::size_t n) { return stream_number(n % 3 * 8); };
  if (s.size % 2 == 0) {
    const stream on = stream_of(s.size / 2);
    s_.m.launches.synchronize(on);
    for (past_launch& l : launches_) l.synchronised |= on == nullptr || l.on == on;
  }
  const stream on = stream_of(s.where);
  s_.m.begin_launch("synthetic", nullptr, 0, on);
  flags_.clear();
  begin_launch(on);
}

// The block's first thread writes its shared memory, then all meet.
void program::begin_block(resident& r, int cluster, int after) {
  r = {};
  r.base = far_away * bases_++;
  r.cluster = cluster;
  r.b = s_.m.begin_block({}, block_threads, physical(r), scene::shared_each,
                         static_cast<std::uint32_t>(cluster));
  r.number = static_cast<int>(r.b->number);
  o_.cluster_of(r.number, cluster);
  const int node = o_.add({after});
  actor_thread first = thread_of(r, 0);
  first.write(node, physical(r), word_place);
  first.init(node, physical(r) + word_place);
  first.proxy_fence();
  o_.remember({node, r.base, r.base + shared_used, true, {}, r.number});
  const int fenced = o_.add({node});
  o_.proxy_fence(fenced);
  s_.block_barrier(*r.b);
  for (agent& a : r.a) a.last = fenced;
}

// accesses of threads
// -----------------------------------------------------------------------------------------------------------

void program::read_or_write(const step& s) {
  const bool writes = s.what / 4 % 2 == 0;
  const bool on_flag = s.where % 8 == 0;
  const std::size_t bytes = on_flag && writes ? 4 : std::size_t{1} << s.size % 4;
  const std::size_t offset = on_flag ? flag_place + s.where / 16 % 2 * 4 : s.where / 16 % (flag_place - 8);
  const memory m = s.where / 8 % 2 == 0 ? global(offset) : shared(reachable_block(s), offset);
  const int node = o_.add({agent_of(s).last});
  actor_thread t = thread_of(s);
  touch here{node, m.oracle_at, m.oracle_at + bytes, writes, {}, block_of(s).number};
  if (!writes) here.warp = warp_of(s.who % agents);
  by_thread(s, node, {here}, [&] {
    if (writes)
      t.write(node, m.at, bytes);
    else
      t.read(node, m.at, bytes);
    if (writes && on_flag) flags_[m.oracle_at].push_back({true, false, {}});
  });
}

void program::atomic(const step& s) {
  resident& r = block_of(s);
  agent& a = agent_of(s);
  const std::size_t offset = flag_place + s.where / 2 % 2 * 4;
  const memory m = s.where % 4 != 0 ? global(offset) : shared(reachable_block(s), offset);
  const auto how = static_cast<order>(s.size % 4);
  const auto reach = static_cast<scope>(1 + s.size / 4 % 4);
  const bool reads = s.where / 4 % 3 != 0, writes = s.where / 4 % 3 != 1;
  const int node = o_.add({a.last});
  std::vector<head> seen_heads;
  if (reads) {
    const auto& history = flags_[m.oracle_at];
    for (auto w = history.rbegin(); w != history.rend() && !w->ordinary; ++w) {
      seen_heads.insert(seen_heads.end(), w->heads.begin(), w->heads.end());
      if (!w->update) break;
    }
  }
  const bool acquires = how == order::acquire || how == order::both;
  for (const head& h : seen_heads)
    if (acquires && o_.reach_each_other(h.reach, h.block, reach, r.number)) o_.follow(h.node);
  if (reads && acquires)
    for (const auto& [h, read_reach] : a.read[m.oracle_at])
      if (o_.reach_each_other(h.reach, h.block, std::min(read_reach, reach), r.number)) o_.follow(h.node);
  std::vector<touch> touches;
  touches.push_back(
      {node, m.oracle_at, m.oracle_at + 4, writes, reach, r.number, oracle::by::thread, reads && writes});
  actor_thread t = thread_of(s);
  by_thread(s, node, touches, [&] {
    if (reads && writes)
      t.update(node, m.at, how, reach);
    else if (reads)
      t.load(node, m.at, how, reach);
    else
      t.store(node, m.at, how, reach);
    if (!acquires)
      for (const head& h : seen_heads) {
        a.seen_relaxed.emplace_back(h, reach);
        a.read[m.oracle_at].emplace_back(h, reach);
      }
    if (!writes) return;
    flag_write w{false, reads, {}};
    for (const head& h : a.released[m.oracle_at])
      w.heads.push_back({h.node, std::min(h.reach, reach), r.number});
    if (how == order::release || how == order::both) {
      o_.reads_are_over(r.number, warp_of(s.who % agents));
      w.heads.push_back({node, reach, r.number});
      a.released[m.oracle_at].push_back(w.heads.back());
    }
    for (const auto& [fence_node, fence_reach] : a.releasing)
      w.heads.push_back({fence_node, std::min(fence_reach, reach), r.number});
    flags_[m.oracle_at].push_back(w);
  });
}

void program::fence(const step& s) {
  agent& a = agent_of(s);
  const auto how = static_cast<order>(1 + s.what % 3);
  const auto reach = static_cast<scope>(1 + s.size % 4);
  const int node = o_.add({a.last});
  if (how != order::release)
    for (const auto& [h, read_reach] : a.seen_relaxed)
      if (o_.reach_each_other(h.reach, h.block, std::min(read_reach, reach), block_of(s).number))
        o_.follow(h.node);
  if (how != order::acquire) {
    a.releasing.emplace_back(node, reach);
    o_.reads_are_over(block_of(s).number, warp_of(s.who % agents));
  }
  thread_of(s).fence(how, reach);
  a.last = node;
}

// barriers
// -----------------------------------------------------------------------------------------------------------

void program::meet(const step& s) {
  resident& r = block_of(s);
  const std::size_t slot = s.where % 2;
  const auto all_meet = [&](std::initializer_list<resident*> who) {
    const int node = o_.add({});
    for (resident* b : who) {
      for (agent& a : b->a) {
        o_.follow(a.last);
        a.last = node;
      }
      for (const int warp : {0, 1}) o_.reads_are_over(b->number, warp);
    }
  };
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < agents; ++i)
    if (s.size >> i & 1) some.push_back(i);
  switch (s.what % 8) {
    case 0:
      all_meet({&r});
      s_.block_barrier(*r.b);
      break;
    case 1:
      if (r_[0].cluster == 0 || r_[1].cluster == 0) break;
      all_meet({&r_[0], &r_[1]});
      s_.cluster_barrier({r_[0].b, r_[1].b});
      break;
    case 2:
    case 3:
    case 4: {  // a warp sync, or a named barrier where all wait
      if (some.empty()) break;
      const int node = o_.add({});
      std::vector<thread_model*> threads;
      for (const std::size_t i : some) {
        o_.follow(r.a[i].last);
        r.a[i].last = node;
        threads.push_back(&*thread_of(r, i));
      }
      if (warp_of(some.front()) != warp_of(some.back()))
        for (const int warp : {0, 1}) o_.reads_are_over(r.number, warp);
      s_.m.meet(threads, checker_detail::meeting::of_some, nullptr);
      break;
    }
    case 5:
    case 6: {  // arrives at a named barrier
      agent_of(s).last = o_.add({agent_of(s).last});
      r.named_arrived[slot].push_back(agent_of(s).last);
      s_.m.clocks.release(*thread_of(s), r.named[slot]);
      o_.reads_are_over(r.number, warp_of(s.who % agents));
      break;
    }
    case 7:  // some wait, and the barrier completes
      for (const std::size_t i : some) {
        const int node = o_.add({r.a[i].last});
        for (const int n : r.named_arrived[slot]) o_.follow(n);
        r.a[i].last = node;
        s_.m.clocks.acquire(*thread_of(r, i), r.named[slot]);
      }
      r.named[slot] = nullptr;
      r.named_arrived[slot].clear();
      break;
  }
}

// asynchronous actors
// -----------------------------------------------------------------------------------------------------------

void program::copy(const step& s) {
  resident& r = block_of(s);
  const std::size_t bytes = 4 * (1 + s.size % 2);
  const memory from = global(s.what % 24), to = shared(r, s.where % 24);
  const int node = o_.add({agent_of(s).last});
  const std::vector<touch> touches{
      {node, from.oracle_at, from.oracle_at + bytes, false, {}, r.number, oracle::by::copy},
      {node, to.oracle_at, to.oracle_at + bytes, true, {}, r.number, oracle::by::copy}};
  if (act(s, node, touches, [&] { thread_of(s).copy(node, to.at, from.at, bytes); }))
    agent_of(s).copies.back().push_back(node);
}

void program::wait(const step& s, std::vector<std::vector<int>>& groups, void (actor_thread::*how)(int)) {
  const std::size_t left = s.size % 3;
  const int node = o_.add({agent_of(s).last});
  for (std::size_t i = 0; i + 1 + left < groups.size(); ++i)
    for (const int n : groups[i]) o_.landed(n);
  agent_of(s).last = node;
  (thread_of(s).*how)(static_cast<int>(left));
}

void program::bulk(const step& s) {
  resident& r = block_of(s);
  agent& a = agent_of(s);
  actor_thread t = thread_of(s);
  const std::size_t bytes = 8;
  const memory in_global = global(s.where % 24), in_shared = shared(r, s.size % 24);
  const auto engine = [&](int node, memory m, std::size_t count, bool writes) {
    return touch{node, m.oracle_at, m.oracle_at + count, writes, {}, r.number, oracle::by::engine};
  };
  resident& target = reachable_block(s);
  unsigned char* word = physical(r) + word_place;
  switch (s.what / 4 % 9) {
    case 0:
    case 1: {
      const int node = o_.add({a.last});
      touch into_shared = engine(node, in_shared, bytes, true);
      into_shared.warp = warp_of(s.who % agents);
      const std::vector<touch> touches{engine(node, shared(r, word_place), 8, false),
                                       engine(node, in_global, bytes, false), into_shared};
      if (act(s, node, touches, [&] { t.load_bulk(node, in_shared.at, in_global.at, word, bytes); }))
        r.loads.push_back(node);
      break;
    }
    case 2:
    case 3: {
      a.last = o_.add({a.last});
      target.arrived.push_back(a.last);
      ++target.arrivals;
      t.arrive(physical(target) + word_place, {.reach = scope::cluster});
      o_.reads_are_over(r.number, warp_of(s.who % agents));
      break;
    }
    case 4: {
      if (r.arrivals == 0) break;
      r.ended = o_.add({});
      for (const int n : r.arrived) o_.follow(n);
      for (const int n : r.loads) o_.landed(n);
      r.arrivals = 0;
      s_.m.barriers.end_phase(word);
      break;
    }
    case 5: {
      a.last = o_.add({a.last, r.ended});
      t.await(word, {.reach = scope::cluster});
      break;
    }
    case 6: {
      const int node = o_.add({a.last});
      const auto store = [&] { t.store_bulk(node, in_global.at, in_shared.at, bytes); };
      if (!act(s, node, {engine(node, in_shared, bytes, false), engine(node, in_global, bytes, true)}, store))
        break;
      a.stores.back().push_back(node);
      a.stores.emplace_back();
      break;
    }
    case 7: wait(s, a.stores, &actor_thread::wait_written); break;
    case 8: {
      if (s.size % 2 == 0) {
        wait(s, a.multiplications, &actor_thread::wait_multiply);
        break;
      }
      const int node = o_.add({a.last});
      if (!act(s, node, {engine(node, in_shared, bytes, false)},
               [&] { t.multiply(node, in_shared.at, bytes); }))
        break;
      for (std::size_t i = 0; i < agents; ++i) {
        r.a[i].multiplications.back().push_back(node);
        r.a[i].multiplications.emplace_back();
        thread_of(r, i).commit_multiply();
      }
      break;
    }
  }
}

RC_GTEST_PROP(Programs, TheModelAndTheOracleFindTheSameFirstConflict, ()) {
  const auto all = *rc::gen::container<std::vector<std::vector<step>>>(
      20, rc::gen::resize(400, rc::gen::arbitrary<std::vector<step>>()));
  for (const auto& steps : all) {
    program p;
    std::size_t done = 0;
    while (done < steps.size() && p.perform(steps[done])) ++done;
  }
}

}  // namespace

}  // namespace antiphase::test
