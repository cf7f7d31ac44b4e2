// SPDX-License-Identifier: Apache-2.0
// A model of agents that meet at barriers: visits every interleaving of them.
//
// An agent is a list of steps: arrivals and waits. Between two steps it uses slots. The number of steps made
// by each agent determines the barriers' phases and the uses that have ended. These counts are therefore the
// whole state: eight bytes.
#pragma once
#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace antiphase::model {

// The scripts themselves are invalid: a unit in two slots, a barrier without init, a use without an end.
struct misplaced : std::logic_error {
  using std::logic_error::logic_error;
};

enum class verdict { fine, deadlock, misuse };

struct outcome {
  verdict found = verdict::fine;
  std::size_t states = 0;
  std::string steps{};  // how many steps each agent had made
};

// A set of states: open addressing, 0 marks an empty place.
class state_set {
 public:
  bool insert(std::uint64_t state) {
    if (2 * (count_ + 1) > places_.size()) grow();
    return place(state + 1);
  }
  std::size_t size() const { return count_; }

 private:
  bool place(std::uint64_t entry) {
    std::size_t i = (entry * 0x9E3779B97F4A7C15u) >> shift_;
    for (; places_[i] != 0; i = (i + 1) & (places_.size() - 1))
      if (places_[i] == entry) return false;
    places_[i] = entry;
    ++count_;
    return true;
  }
  void grow() {
    const std::vector<std::uint64_t> old = std::move(places_);
    places_.assign(old.size() * 2, 0);
    --shift_;
    count_ = 0;
    for (std::uint64_t entry : old)
      if (entry != 0) place(entry);
  }

  std::vector<std::uint64_t> places_ = std::vector<std::uint64_t>(1024);
  int shift_ = 64 - 10;
  std::size_t count_ = 0;
};

struct step {
  enum class kind {
    arrive,  // at barrier `on`
    // until the phase of parity `value` of barrier `on` has ended; like an mbarrier, cannot tell two phases
    // of one parity apart
    wait,
    meet,    // until `value` phases of barrier `on` have ended; a block barrier
    follow,  // until agent `on` has made `value` steps
  };
  model::step::kind kind;
  int slot;
  int value;
};

// A use of a slot lasts from after a step of `from` until before a step of `to` (a copy begins in a thread
// and ends elsewhere). Uses of one slot with different turns must not overlap, and must come in the order of
// their turns.
struct use {
  int slot;
  int turn;
  int first, begin;
  int last = -1, end = 0;
};
constexpr int after_everybody = INT_MAX;

class world;
// A handle for writing one agent's script.
struct agent {
  world* in;
  int index;

  void arrive(int barrier);
  void wait(int barrier, unsigned parity);
  void meet(int barrier, int phases);
  void follow(const agent& other, int steps);
  int steps() const;
  int begin(int slot, int turn);
  void end(int use);
};

class world {
 public:
  static constexpr int most_agents = 8, most_steps = 250;

  int add_barrier(int parties) {
    if (parties <= 0)
      throw misplaced("a barrier of " + std::to_string(parties) + " parties; expected at least one");
    parties_.push_back(parties);
    return static_cast<int>(parties_.size()) - 1;
  }
  agent add_agent() {
    if (scripts_.size() == most_agents)
      throw misplaced("more than " + std::to_string(most_agents) + " agents");
    scripts_.emplace_back();
    return {this, static_cast<int>(scripts_.size()) - 1};
  }
  // Visits every reachable state, up to the first fault.
  outcome explore() const;

 private:
  friend struct agent;
  using place = std::array<std::uint8_t, most_agents>;  // how many steps each agent has made
  struct need {                                         // that agent must have made this many steps
    int agent, steps;
  };
  struct tables;

  const step& at(int agent, int index) const {
    return scripts_[static_cast<std::size_t>(agent)][static_cast<std::size_t>(index)];
  }
  int length(int agent) const { return static_cast<int>(scripts_[static_cast<std::size_t>(agent)].size()); }

  std::vector<int> parties_;
  std::vector<std::vector<step>> scripts_;
  std::vector<use> uses_;
};

inline int agent::steps() const { return in->length(index); }
inline void agent::arrive(int barrier) {
  in->scripts_.at(static_cast<std::size_t>(index)).push_back({step::kind::arrive, barrier, 0});
}
inline void agent::wait(int barrier, unsigned parity) {
  in->scripts_.at(static_cast<std::size_t>(index))
      .push_back({step::kind::wait, barrier, static_cast<int>(parity)});
}
inline void agent::meet(int barrier, int phases) {
  in->scripts_.at(static_cast<std::size_t>(index)).push_back({step::kind::meet, barrier, phases});
}
inline void agent::follow(const agent& other, int steps) {
  in->scripts_.at(static_cast<std::size_t>(index)).push_back({step::kind::follow, other.index, steps});
}
inline int agent::begin(int slot, int turn) {
  in->uses_.push_back({.slot = slot, .turn = turn, .first = index, .begin = steps()});
  return static_cast<int>(in->uses_.size()) - 1;
}
inline void agent::end(int use) {
  auto& ended = in->uses_.at(static_cast<std::size_t>(use));
  ended.last = index;
  ended.end = steps();
}

// Tables computed once and looked up in every state.
struct world::tables {
  int agents;
  std::vector<std::vector<int>> arrivers;                        // by barrier
  std::vector<std::vector<std::vector<std::uint8_t>>> arrivals;  // by agent, barrier, steps made
  // by agent, steps made: requirements of its uses that begin there
  std::vector<std::vector<std::vector<need>>> needs;

  explicit tables(const world& w) : agents(static_cast<int>(w.scripts_.size())), arrivers(w.parties_.size()) {
    for (int a = 0; a < agents; ++a) {
      if (w.length(a) > most_steps)
        throw misplaced("an agent of more than " + std::to_string(most_steps) + " steps");
      needs.emplace_back(static_cast<std::size_t>(w.length(a) + 1));
      arrivals.emplace_back();
      for (std::size_t b = 0; b < w.parties_.size(); ++b) {
        std::vector<std::uint8_t> so_far{0};
        for (const step& s : w.scripts_[static_cast<std::size_t>(a)])
          so_far.push_back(static_cast<std::uint8_t>(
              so_far.back() + (s.kind == step::kind::arrive && s.slot == static_cast<int>(b))));
        if (so_far.back() > 0) arrivers[b].push_back(a);
        arrivals.back().push_back(std::move(so_far));
      }
    }
    for (const use& later : w.uses_)
      for (const use& earlier : w.uses_)
        if (earlier.slot == later.slot && earlier.turn < later.turn) order(earlier, later);
  }
  // A use may last until its agent's next step, so the others must see that step (no one can see the end of a
  // use after the last step). A use is checked at the first moment at which it may begin. Both are the worst
  // case, so the moments between two steps need no states of their own.
  void order(const use& earlier, const use& later) {
    if (earlier.last < 0) throw misplaced("a use of slot " + std::to_string(earlier.slot) + " never ends");
    const int steps = earlier.end + (earlier.last == later.first ? 0 : 1);
    auto& here = needs[static_cast<std::size_t>(later.first)][static_cast<std::size_t>(later.begin)];
    for (need& n : here)
      if (n.agent == earlier.last) {
        n.steps = std::max(n.steps, steps);
        return;
      }
    here.push_back({earlier.last, steps});
  }
  int ended(const world& w, std::size_t barrier, const place& at) const {
    int arrived = 0;
    for (int a : arrivers[barrier])
      arrived += arrivals[static_cast<std::size_t>(a)][barrier][at[static_cast<std::size_t>(a)]];
    return arrived / w.parties_[barrier];
  }
  bool may_go(const world& w, const step& s, const place& at) const {
    const auto on = static_cast<std::size_t>(s.slot);
    switch (s.kind) {
      case step::kind::arrive: return true;
      case step::kind::wait: return (ended(w, on, at) & 1) != s.value;
      case step::kind::meet: return ended(w, on, at) >= s.value;
      case step::kind::follow: break;
    }
    return at[on] >= s.value;
  }
  bool in_order(int agent, const place& at) const {
    const auto a = static_cast<std::size_t>(agent);
    return std::all_of(needs[a][at[a]].begin(), needs[a][at[a]].end(),
                       [&](const need& n) { return at[static_cast<std::size_t>(n.agent)] >= n.steps; });
  }
};

inline outcome world::explore() const {
  const tables known(*this);
  const auto fault = [&](verdict found, const place& at, std::size_t states) {
    outcome result{.found = found, .states = states};
    for (int a = 0; a < known.agents; ++a)
      result.steps.append(" ").append(std::to_string(at[static_cast<std::size_t>(a)]));
    return result;
  };
  const auto pack = [](const place& at) {
    std::uint64_t state = 0;
    for (std::size_t a = most_agents; a-- > 0;) state = state << 8 | at[a];
    return state;
  };

  place now{};
  for (int a = 0; a < known.agents; ++a)
    if (!known.in_order(a, now)) return fault(verdict::misuse, now, 1);
  state_set seen;
  seen.insert(pack(now));
  std::vector<place> open{now};
  while (!open.empty()) {
    now = open.back();
    open.pop_back();
    bool stuck = true, all_done = true;
    for (int a = 0; a < known.agents; ++a) {
      const auto index = static_cast<std::size_t>(a);
      if (now[index] == length(a)) continue;
      all_done = false;
      if (!known.may_go(*this, at(a, now[index]), now)) continue;
      stuck = false;
      place next = now;
      ++next[index];
      if (!seen.insert(pack(next))) continue;
      if (!known.in_order(a, next)) return fault(verdict::misuse, next, seen.size());
      open.push_back(next);
    }
    if (stuck && !all_done) return fault(verdict::deadlock, now, seen.size());
  }
  return {.found = verdict::fine, .states = seen.size()};
}

}  // namespace antiphase::model
