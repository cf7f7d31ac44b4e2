// SPDX-License-Identifier: Apache-2.0
// Scripts of scheduling decisions: recorded under every schedule, followed, explored, shortened, spelled.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/copy_async.cuh>

#include <algorithm>
#include <map>
#include <set>

#include "core/executor/cpu/order/script.hpp"
#include "launcher.hpp"

namespace antiphase::test {
namespace {

using cpu_detail::explore;
using cpu_detail::from_text;
using cpu_detail::script_choices;
using cpu_detail::shorten;
using cpu_detail::taken;
using cpu_detail::to_text;

// Every kind of scheduling decision, and a record of who ran when and saw what.
struct everything {
  struct params {
    std::uint32_t* out;
    const std::uint32_t* in;
  };
  struct storage {
    alignas(16) std::uint32_t bulk[4][32];
    alignas(16) std::uint32_t mine[48];
    mbarrier landed[4];
  };
  static constexpr int threads = 48;
  static constexpr residency blocks = residency::in_order;
  static constexpr unsigned grid = 7, counters = 2, entries = 4,
                            size = counters + 2 * grid * threads * entries;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const auto me = block_index().x * threads + static_cast<unsigned>(thread_index());
    const auto note = [&](std::uint32_t seen) {
      const std::uint32_t at = counters + 2 * atomic_add(p.out, 1u);
      p.out[at] = me;
      p.out[at + 1] = seen;
    };
    if (thread_index() == 0)
      for (auto& m : s.landed) m.init(1);
    block_barrier();
    if (thread_index() == 17)
      for (int i = 0; i < 4; ++i) {
        bulk_load(s.bulk[i], p.in + 32 * i, 128, s.landed[i]);
        s.landed[i].arrive(bytes{128});
      }
    copy_async<4>(s.mine + thread_index(), p.in + me % 100, 4);
    copy_async_commit();
    note(s.mine[thread_index()]);
    point();
    copy_async_wait<0>();
    note(s.bulk[thread_index() % 4][me % 32]);
    s.landed[thread_index() % 4].wait(0);
    warp_sync();
    // Blocks pass a turn around, so later blocks poll.
    if (thread_index() == 5) {
      poll([&] { return load_acquire(p.out + 1) >= block_index().x; });
      point();
      store_release(p.out + 1, block_index().x + 1);
    }
    note(s.bulk[thread_index() % 4][me % 32] + s.mine[thread_index()]);
    block_barrier();
    note(0);
  }
};
std::vector<std::uint32_t> run_everything(const cpu_options& options) {
  alignas(16) std::uint32_t in[128];
  for (unsigned i = 0; i < 128; ++i) in[i] = 1000 + 3 * i;
  std::vector<std::uint32_t> out(everything::size);
  launch<everything>(*make_cpu_executor(options), {out.data(), in}, {everything::grid, 1, 1});
  EXPECT_EQ(out[0], everything::grid * everything::threads * everything::entries);
  return out;
}

TEST(scripts, repeat_any_schedule) {
  for (const schedule order :
       {schedule::random, schedule::forward, schedule::reversed, schedule::starved, schedule::priority})
    for (const landing copies : {landing::early, landing::late, landing::mixed})
      for (unsigned seed = 0; seed < 12; ++seed) {
        cpu_options options{.seed = seed, .order = order, .copies = copies, .workers = 1};
        const auto plain = run_everything(options);
        options.script = std::make_shared<schedule_script>();
        ASSERT_EQ(run_everything(options), plain) << "a script that is only written changes nothing";
        const auto written = options.script->taken;
        ASSERT_GT(written.size(), 100u);

        const auto text = to_text(taken(*options.script));
        const cpu_options again{.seed = seed + 1,
                                .order = schedule::script,
                                .copies = copies,
                                .workers = 1,
                                .script = std::make_shared<schedule_script>(
                                    schedule_script{.choices = from_text(text), .taken = {}})};
        ASSERT_EQ(run_everything(again), plain) << "order " << static_cast<int>(order) << ", seed " << seed;
        ASSERT_EQ(again.script->taken, written);
      }
}

// Threads that stop twice each, and record who continues.
template <int Threads, int Stops> struct stops {
  using params = numbers;
  struct storage {};
  static constexpr int threads = Threads;
  void operator()(const params& p) const {
    for (int i = 0; i <= Stops; ++i) {
      if (i > 0) point();
      p.out[1 + atomic_add(p.out, 1u)] = static_cast<std::uint32_t>(thread_index());
    }
  }
};

// One executor and one script for all runs of a case.
struct scripted {
  std::shared_ptr<schedule_script> script = std::make_shared<schedule_script>();
  shared_executor on;
  explicit scripted(landing copies = landing::late)
      : on(make_cpu_executor({.order = schedule::script, .copies = copies, .workers = 1, .script = script})) {
  }
};

TEST(scripts, are_followed) {
  const auto order_by = [](script_choices choices) {
    scripted s;
    s.script->choices = std::move(choices);
    std::vector<std::uint32_t> out(1 + 3 * 2);
    launch<stops<3, 1>>(*s.on, {out.data()});
    return std::vector<std::uint32_t>(out.begin() + 1, out.end());
  };
  using order = std::vector<std::uint32_t>;
  EXPECT_EQ(order_by({}), (order{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(order_by({1}), (order{1, 1, 2, 2, 0, 0})) << "who is passed over comes last";
  EXPECT_EQ(order_by({2}), (order{2, 2, 0, 0, 1, 1}));
  EXPECT_EQ(order_by({0, 1, 1}), (order{0, 1, 2, 2, 0, 1}));
  EXPECT_EQ(order_by({0, 4, 301}), (order{0, 1, 2, 2, 0, 1})) << "modulo three";
}

TEST(scripts, leave_out_what_is_no_choice) {
  scripted s(landing::mixed);
  std::vector<std::uint32_t> out(16);
  launch<stops<1, 5>>(*s.on, {out.data()});
  EXPECT_TRUE(s.script->taken.empty());
  launch<stops<2, 0>>(*s.on, {out.data()});
  using decision = schedule_script::decision;
  EXPECT_EQ(s.script->taken, (std::vector<decision>{{2, 0}}));
  launch<stops<3, 0>>(*s.on, {out.data()});  // of the same run
  EXPECT_EQ(s.script->taken, (std::vector<decision>{{2, 0}, {3, 0}, {2, 0}}));
}

TEST(scripts, are_for_one_worker) {
  const auto refusal_of = [](const cpu_options& options) -> std::string {
    try {
      make_cpu_executor(options);
    } catch (const bad_request& e) {
      return e.what();
    }
    return "none";
  };
  const auto script = std::make_shared<schedule_script>();
  EXPECT_EQ(refusal_of({.order = schedule::script, .workers = 1}),
            "schedule::script: there is no script to follow");
  EXPECT_THAT(refusal_of({.script = script}), HasSubstr("workers = 0"));
  EXPECT_THAT(refusal_of({.order = schedule::script, .workers = 2, .script = script}),
              HasSubstr("expected 1"));
  EXPECT_EQ(refusal_of({.order = schedule::forward, .workers = 1, .script = script}), "none");
}

// text
// -----------------------------------------------------------------------------------------------------------

TEST(script_text, names_deviations_only) {
  EXPECT_EQ(to_text({}), "");
  EXPECT_EQ(to_text({0, 0, 0}), "");
  EXPECT_EQ(to_text({0, 0, 3, 0, 1}), "2:3,4:1");
  EXPECT_EQ(to_text({4294967295u}), "0:4294967295");
  EXPECT_EQ(from_text(""), script_choices{});
  EXPECT_EQ(from_text("2:3,4:1"), (script_choices{0, 0, 3, 0, 1}));
}
RC_GTEST_PROP(script_text, is_read_back, (const script_choices& choices)) {
  script_choices read = from_text(to_text(choices));
  RC_ASSERT(read.size() <= choices.size());
  read.resize(choices.size());
  RC_ASSERT(read == choices);
}
TEST(script_text, is_read_strictly) {
  const std::map<std::string, std::string> wrong = {
      {"x", "character 1: expected a number from 0 to 16777215"},
      {" 1:2", "character 1: expected a number"},
      {"1", "character 2: expected a colon"},
      {"1:", "character 3: expected a number from 1 to 4294967295"},
      {"1:0", "character 3: expected a number from 1"},
      {"1:-1", "character 3: expected a number from 1"},
      {"1:+1", "character 3: expected a number from 1"},
      {"1:4294967296", "character 3: expected a number from 1"},
      {"01:2", "character 1: expected a number"},
      {"1:02", "character 3: expected a number"},
      {"1:2,", "character 5: expected a number from 2 to"},
      {"1:2,,3:1", "character 5: expected a number"},
      {"1:2 3:1", "character 4: expected a comma"},
      {"5:2,5:1", "character 5: expected a number from 6 to"},
      {"5:2,4:1", "character 5: expected a number from 6 to"},
      {"16777216:1", "character 1: expected a number from 0 to 16777215"},
  };
  for (const auto& [text, why] : wrong) try {
      from_text(text);
      ADD_FAILURE() << text << " was read";
    } catch (const bad_request& e) {
      EXPECT_THAT(e.what(), HasSubstr(why)) << text;
    }
}

// exploring
// -----------------------------------------------------------------------------------------------------------

// A decision as the executor makes it.
std::uint32_t decide(schedule_script& script, std::uint32_t candidates) {
  if (candidates < 2) return 0;
  const std::size_t now = script.taken.size();
  const std::uint32_t chosen = now < script.choices.size() ? script.choices[now] % candidates : 0;
  script.taken.push_back({candidates, chosen});
  return chosen;
}

TEST(exploring, visits_every_leaf_once) {
  schedule_script script;
  std::set<std::vector<std::uint32_t>> leaves;
  const auto run = [&] {  // the first choice decides how many follow, and of how many candidates
    std::vector<std::uint32_t> leaf{decide(script, 3)};
    for (std::uint32_t i = 0; i < leaf[0]; ++i) leaf.push_back(decide(script, leaf[0] + 2));
    EXPECT_TRUE(leaves.insert(leaf).second) << "twice";
    return true;
  };
  const auto all = explore(script, run, 1000);
  EXPECT_EQ(all.schedules, 1u + 3u + 4u * 4u);
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(leaves.size(), all.schedules);
  leaves.clear();
  EXPECT_TRUE(explore(script, run, 20).complete);
  leaves.clear();
  const auto some = explore(script, run, 19);
  EXPECT_EQ(some.schedules, 19u);
  EXPECT_FALSE(some.complete);
}
TEST(exploring, ends_at_the_first_failure) {
  schedule_script script;
  const auto found = explore(
      script,
      [&] {
        const std::uint32_t a = decide(script, 4), b = decide(script, 5);
        return !(a == 2 && b == 3);
      },
      1000);
  EXPECT_EQ(found.schedules, 2u * 5 + 3 + 1);
  EXPECT_FALSE(found.complete);
  EXPECT_EQ(taken(script), (script_choices{2, 3}));
}
TEST(exploring, does_not_try_what_leads_nowhere) {
  schedule_script script;
  unsigned runs = 0;
  const auto run = [&] {
    ++runs;
    decide(script, 3);
    script.taken.back().candidates = 1;
    return true;
  };
  EXPECT_TRUE(explore(script, run, 10).complete);
  EXPECT_EQ(runs, 1u);
}
TEST(exploring, refuses_a_run_that_does_not_follow) {
  schedule_script script;
  unsigned runs = 0;
  const auto run = [&] {
    script.taken = {{2, 0}, {2, ++runs % 2}};
    return true;
  };
  EXPECT_THROW(explore(script, run, 10), bad_request);
}

template <class K> std::set<std::vector<std::uint32_t>> orders_of(std::size_t size, std::uint64_t expected) {
  scripted s;
  std::set<std::vector<std::uint32_t>> orders;
  const auto all = explore(
      *s.script,
      [&] {
        std::vector<std::uint32_t> out(1 + size);
        launch<K>(*s.on, {out.data()});
        orders.insert(out);
        return true;
      },
      100'000);
  EXPECT_EQ(all.schedules, expected);
  EXPECT_TRUE(all.complete);
  return orders;
}
TEST(exploring, finds_all_interleavings) {
  EXPECT_EQ((orders_of<stops<2, 2>>(6, 20).size()), 20u);      // 6! / (3! 3!)
  EXPECT_EQ((orders_of<stops<3, 1>>(6, 90).size()), 90u);      // 6! / (2! 2! 2!)
  EXPECT_EQ((orders_of<stops<3, 2>>(9, 1680).size()), 1680u);  // 9! / (3! 3! 3!)
}

struct counts_up {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 2;
  void operator()(const params& p) const {
    const std::uint32_t seen = load_acquire(p.out);
    point();
    store_release(p.out, seen + 1);
  }
};
TEST(exploring, finds_every_lost_update) {
  scripted s;
  unsigned lost = 0;
  const auto all = explore(
      *s.script,
      [&] {
        std::uint32_t out = 0;
        launch<counts_up>(*s.on, {&out});
        lost += out == 1;
        return true;
      },
      100);
  EXPECT_EQ(all.schedules, 6u);  // 4! / (2! 2!), of which two run one thread after the other
  EXPECT_EQ(lost, 4u);
}

// Waits by polls: an unsuccessful poll is no branch of its own, so the search ends.
struct polls_for_two {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 3;
  void operator()(const params& p) const {
    if (thread_index() == 0) {
      poll([&] { return load_acquire(p.out) == 2; });
      p.out[1] = p.out[2] * 10 + p.out[3];
    } else {
      p.out[1 + thread_index()] = 1 + atomic_add(p.out, 1u);
    }
  }
};
TEST(exploring, ends_where_threads_poll) {
  scripted s;
  std::set<std::uint32_t> results;
  const auto all = explore(
      *s.script,
      [&] {
        std::uint32_t out[4] = {};
        launch<polls_for_two>(*s.on, {out});
        results.insert(out[1]);
        return true;
      },
      1000);
  EXPECT_TRUE(all.complete);
  EXPECT_LT(all.schedules, 30u);
  EXPECT_EQ(results, (std::set<std::uint32_t>{12, 21}));
}

// Two loads in flight: which lands first, and whether before or after the read.
struct two_loads {
  using params = everything::params;
  using storage = everything::storage;
  static constexpr int threads = 1;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    s.landed[0].init(1);
    for (int i = 0; i < 2; ++i) bulk_load(s.bulk[i], p.in + 32 * i, 128, s.landed[0]);
    s.landed[0].arrive(bytes{256});
    const auto look = [&](std::uint32_t weight) {
      for (int i = 0; i < 2; ++i) p.out[i] += s.bulk[i][3] == p.in[32 * i + 3] ? weight : 0;
    };
    look(100);
    point();
    look(10);
    s.landed[0].wait(0);
    look(1);
  }
};
TEST(exploring, decides_when_loads_land) {
  alignas(16) std::uint32_t in[128];
  for (unsigned i = 0; i < 128; ++i) in[i] = 1000 + 3 * i;
  const auto seen_with = [&](landing copies) {
    scripted s(copies);
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    const auto all = explore(
        *s.script,
        [&] {
          std::uint32_t out[2] = {};
          launch<two_loads>(*s.on, {out, in});
          seen.insert({out[0], out[1]});
          return true;
        },
        1000);
    EXPECT_TRUE(all.complete);
    return seen;
  };
  using pairs = std::set<std::pair<std::uint32_t, std::uint32_t>>;
  EXPECT_EQ(seen_with(landing::early), (pairs{{111, 111}}));
  EXPECT_EQ(seen_with(landing::late), (pairs{{1, 1}}));
  EXPECT_EQ(
      seen_with(landing::mixed),
      (pairs{{1, 1}, {1, 11}, {1, 111}, {11, 1}, {11, 11}, {11, 111}, {111, 1}, {111, 11}, {111, 111}}));
}

TEST(scripts, land_loads_between_steps_whatever_the_order) {
  alignas(16) std::uint32_t in[128];
  for (unsigned i = 0; i < 128; ++i) in[i] = 1000 + 3 * i;
  for (const schedule order :
       {schedule::random, schedule::forward, schedule::reversed, schedule::starved, schedule::priority}) {
    std::set<std::uint32_t> seen;
    for (unsigned seed = 0; seed < 60; ++seed) {
      std::uint32_t out[2] = {};
      launch<two_loads>(
          *make_cpu_executor({.seed = seed, .order = order, .copies = landing::mixed, .workers = 1}),
          {out, in});
      seen.insert({out[0], out[1]});
    }
    // This case is too short for the random schedule, which lands one load at every fourth step.
    EXPECT_EQ(seen, order == schedule::random ? (std::set<std::uint32_t>{1, 111})
                                              : (std::set<std::uint32_t>{1, 11, 111}));
  }
}

// Polls for the first of two loads, and reads the second.
struct polls_for_a_load {
  using params = everything::params;
  using storage = everything::storage;
  static constexpr int threads = 1;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    for (int i = 0; i < 2; ++i) {
      s.landed[i].init(1);
      bulk_load(s.bulk[i], p.in + 32 * i, 128, s.landed[i]);
      s.landed[i].arrive(bytes{128});
    }
    poll([&] { return s.landed[0].ended(0); });
    p.out[0] = s.bulk[1][3] == p.in[32 + 3];
    s.landed[1].wait(0);
  }
};
TEST(exploring, lets_pollers_look_between_two_loads) {
  alignas(16) std::uint32_t in[64];
  for (unsigned i = 0; i < 64; ++i) in[i] = 1000 + 3 * i;
  scripted s;
  std::multiset<std::uint32_t> landed;
  const auto all = explore(
      *s.script,
      [&] {
        std::uint32_t out = 7;
        launch<polls_for_a_load>(*s.on, {&out, in});
        landed.insert(out);
        return true;
      },
      100);
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(landed, (std::multiset<std::uint32_t>{0, 1}));
}

// shortening
// -----------------------------------------------------------------------------------------------------------

TEST(shortening, leaves_only_what_matters) {
  schedule_script script;
  for (unsigned i = 0; i < 500; ++i) script.choices.push_back(i % 5);
  script.choices[77] = 2;
  script.choices[300] = 1;
  const auto run = [&] {
    bool first = false, second = false;
    for (unsigned i = 0; i < 500; ++i) {
      const std::uint32_t chosen = decide(script, 5);
      first |= i == 77 && chosen == 2;
      second |= i == 300 && chosen == 1;
    }
    return !(first && second);
  };
  const unsigned runs = shorten(script, run, 1000);
  EXPECT_EQ(to_text(script.choices), "77:2,300:1");
  EXPECT_EQ(to_text(taken(script)), "77:2,300:1");
  EXPECT_LE(runs, 100u);
}
TEST(shortening, begins_with_the_tail) {
  schedule_script script{.choices = script_choices(10'000, 1), .taken = {}};
  const auto run = [&] {
    bool found = false;
    for (unsigned i = 0; i < 10'000; ++i) found |= decide(script, 2) == 1 && i == 3;
    return !found;
  };
  EXPECT_LE(shorten(script, run, 1000), 21u);  // 1, 14 to find the end, and 3 deviations before it
  EXPECT_EQ(to_text(script.choices), "3:1");
}
TEST(shortening, keeps_to_its_limit) {
  schedule_script script;
  for (unsigned i = 0; i < 500; ++i) script.choices.push_back(1 + i % 4);
  unsigned runs = 0;
  const auto run = [&] {
    ++runs;
    unsigned odd = 0;
    for (unsigned i = 0; i < 500; ++i) odd += decide(script, 5) % 2;
    return odd < 100;
  };
  EXPECT_EQ(shorten(script, run, 30), 30u);
  EXPECT_EQ(runs, 30u);
  script.taken.clear();
  EXPECT_FALSE(run()) << "what is left still fails";
  EXPECT_LT(script.choices.size(), 500u);
}
TEST(shortening, of_what_needs_no_deviation_leaves_nothing) {
  schedule_script script{.choices = {3, 1, 4, 1, 5}, .taken = {}};
  shorten(
      script,
      [&] {
        for (unsigned i = 0; i < 9; ++i) decide(script, 6);
        return false;
      },
      100);
  EXPECT_TRUE(script.choices.empty());
}
TEST(shortening, refuses_a_script_that_does_not_fail) {
  schedule_script script{.choices = {1}, .taken = {}};
  EXPECT_THROW(shorten(
                   script, [] { return true; }, 10),
               bad_request);
}

// Sums of a block with a missing barrier: thread 40 takes the sum of its warp without waiting for the other
// warp.
struct no_barrier {
  using params = numbers;
  struct storage {
    std::uint32_t part[64];
  };
  static constexpr int threads = 64;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    for (int i = 0; i < 6; ++i) warp_sync();
    s.part[thread_index()] = static_cast<std::uint32_t>(thread_index());
    warp_sync();  // block_barrier();
    if (thread_index() == 40) {
      std::uint32_t sum = 0;
      for (const std::uint32_t part : s.part) sum += part;
      p.out[0] = sum;
    }
  }
};
TEST(shortening, of_a_kernel_run_keeps_three_deviations_at_most) {
  unsigned failing = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto written = std::make_shared<schedule_script>();
    std::uint32_t sum = 0;
    launch<no_barrier>(*make_cpu_executor({.seed = seed, .workers = 1, .script = written}), {&sum});
    if (sum == 63 * 64 / 2) continue;
    ++failing;
    scripted s;
    s.script->choices = taken(*written);
    const auto run = [&] {
      launch<no_barrier>(*s.on, {&sum});
      return sum == 63 * 64 / 2;
    };
    shorten(*s.script, run, 2000);
    EXPECT_FALSE(s.script->choices.empty());
    const auto text = to_text(s.script->choices);
    EXPECT_LE(std::count(text.begin(), text.end(), ':'), 3) << text;
    s.script->taken.clear();
    s.script->choices = from_text(text);
    EXPECT_FALSE(run()) << text;
  }
  EXPECT_GT(failing, 0u);
}

}  // namespace
}  // namespace antiphase::test
