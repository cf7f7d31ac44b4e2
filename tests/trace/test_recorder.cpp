// SPDX-License-Identifier: Apache-2.0
// The recorder in a small kernel: its log, and its bounds.
#include <gtest/gtest.h>
#include <antiphase/channel/async_copies.cuh>
#include <antiphase/channel/recorder.cuh>
#include <antiphase/channel/staged_copies.cuh>
#include <antiphase/context.hpp>
#include <antiphase/device/kernel.cuh>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace antiphase {
namespace {

constexpr int warps = 2;

// Sums what it loads: unit i of thread t is 3i + t.
template <int N> struct summing {
  static constexpr int threads = warps * warp_size;
  struct params {
    const float* from;  // steps x threads
    float* sums;        // per block
    int steps;
    span_log log;
  };
  struct storage {
    float slots[N][threads];
  };
  void operator()(const params& p) const {
    auto& s = shared<storage, shared_kind::fixed>();
    recorder spans(p.log);
    const int t = thread_index();
    float sum = 0;
    auto ring = spans.ring(async_copies<N>{}, p.steps);
    pipeline line{ring};
    line.run(p.steps, spans.load([&](int step, int slot) {
      copy_async<4>(&s.slots[slot][t], p.from + step * threads + t, 4);
    }),
             spans.compute([&](int, int slot) { sum += s.slots[slot][t]; }));
    spans.finish(p.log);
    p.sums[static_cast<int>(block_index().x) * threads + t] = sum;
  }
};

constexpr span_record untouched{
    .begin = -7, .end = -8, .kind = span_kind::load, .step = -9, .slot = -10, .agent = -11};
bool is_untouched(const span_record& s) {
  return s.begin == untouched.begin && s.step == untouched.step && s.agent == untouched.agent;
}

struct logged {
  std::vector<span_record> spans;
  std::vector<std::int32_t> counts;
};

template <int N> logged run(int steps, int capacity, unsigned block, unsigned seed) {
  using kernel_type = summing<N>;
  const context where(make_cpu_executor({.seed = seed, .workers = 1}));
  std::vector<float> from(static_cast<std::size_t>(steps * kernel_type::threads));
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<float>(3 * (i / kernel_type::threads) + i % kernel_type::threads);
  const std::size_t guard = 16;
  logged log{std::vector<span_record>(static_cast<std::size_t>(warps * capacity) + guard, untouched),
             std::vector<std::int32_t>(warps + 1, -1)};
  const unsigned blocks = 3;
  std::vector<float> sums(blocks * kernel_type::threads, -1);
  const typename kernel_type::params params{
      from.data(), sums.data(), steps, {log.spans.data(), log.counts.data(), capacity, block}};
  where.runs_on().launch(kernel_of<kernel_type>("summing"), {blocks}, &params, nullptr);
  for (std::size_t i = 0; i < sums.size(); ++i)
    EXPECT_EQ(sums[i], static_cast<float>(3 * steps * (steps - 1) / 2 +
                                          steps * static_cast<int>(i % kernel_type::threads)));
  for (std::size_t i = log.spans.size() - guard; i < log.spans.size(); ++i)
    EXPECT_TRUE(is_untouched(log.spans[i])) << "written past the end";
  EXPECT_EQ(log.counts.back(), -1);
  return log;
}

TEST(Recorder, LogsEveryStepOfTheChosenBlock) {
  constexpr int steps = 6;
  for (const unsigned seed : {1u, 2u, 3u})
    for (const unsigned block : {0u, 2u}) {
      const int capacity = 4 * steps;
      const logged log = run<3>(steps, capacity, block, seed);
      for (int warp = 0; warp < warps; ++warp) {
        EXPECT_EQ(log.counts[static_cast<std::size_t>(warp)], 4 * steps);
        for (const span_kind kind :
             {span_kind::load, span_kind::commit, span_kind::wait, span_kind::compute}) {
          std::vector<int> order;
          for (int i = 0; i < capacity; ++i) {
            const span_record& s = log.spans[static_cast<std::size_t>(warp * capacity + i)];
            EXPECT_EQ(s.agent, warp);
            if (s.kind == kind) order.push_back(s.step);
          }
          EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
        }
      }
    }
}

// Logs its row of the grid as the step.
struct row_of_grid {
  static constexpr int threads = warp_size;
  struct params {
    span_log log;
  };
  struct storage {};
  void operator()(const params& p) const {
    recorder spans(p.log);
    spans.add(span_kind::compute, static_cast<int>(block_index().y), 0, clock_now());
    spans.finish(p.log);
  }
};

TEST(Recorder, LogsTheFirstRowOfAGrid) {
  const context where(make_cpu_executor({.workers = 1}));
  std::vector<span_record> spans(1, untouched);
  std::vector<std::int32_t> counts(1, -1);
  const row_of_grid::params params{{spans.data(), counts.data(), 1, 1}};
  where.runs_on().launch(kernel_of<row_of_grid>("row of a grid"), {2, 3, 2}, &params, nullptr);
  EXPECT_EQ(spans.front().step, 0);
  EXPECT_EQ(counts.front(), 1);
}

TEST(Recorder, LogsReleasesOfOneSlot) {
  const logged log = run<1>(4, 20, 1, 1);
  EXPECT_EQ(std::ranges::count(log.spans, span_kind::release, &span_record::kind), 4 * warps);
  EXPECT_EQ(log.counts[0], 5 * 4);
}

TEST(Recorder, CountsWhatFindsNoRoomAndWritesNothingPastTheEnd) {
  for (const int capacity : {0, 1, 7}) {
    const logged log = run<2>(9, capacity, 0, 5);
    for (int warp = 0; warp < warps; ++warp) EXPECT_EQ(log.counts[static_cast<std::size_t>(warp)], 4 * 9);
    EXPECT_EQ(std::ranges::count_if(log.spans, [](const span_record& s) { return !is_untouched(s); }),
              warps * capacity);
  }
}

TEST(Recorder, LeavesOtherBlocksAlone) {
  const logged log = run<2>(3, 12, 7, 1);  // there is no block 7
  EXPECT_TRUE(std::ranges::all_of(log.spans, is_untouched));
  EXPECT_EQ(log.counts[0], -1);
}

// A ring whose slots are full when load() returns, because it stores there itself.
template <int N> struct filled_by_load {
  static constexpr int stages = N;
  void acquire(cursor<N>) {}
  void commit(cursor<N>) {}
  void wait(cursor<N>) { block_barrier(); }
  void release(cursor<N>) { block_barrier(); }
};

enum class stores { before_computing, after_computing };

// Sums pairs across the block through shared memory; every unit takes `work` instructions.
template <int N, stores When> struct textbook {
  static constexpr int threads = 4 * warp_size, work = 850;
  struct params {
    const float* from;  // steps x threads
    float* sums;
    int steps;
    span_log log;
  };
  struct storage {
    float slots[N][threads];
  };
  void operator()(const params& p) const {
    auto& s = shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    float sum = 0, loaded = 0;
    const auto store = [&](int slot) { s.slots[slot][t] = loaded; };
    const auto compute = [&](int, int slot) { sum += s.slots[slot][threads - 1 - t]; };
    const auto run = [&](auto& spans, auto plain, auto load) {
      auto ring = spans.ring(plain, p.steps);
      pipeline line{ring};
      line.run(p.steps, spans.load(load), spans.compute(compute));
      spans.finish(p.log);
    };
    if constexpr (When == stores::before_computing) {
      recorder<step_work{.multiply_adds = work}> spans(p.log);
      run(spans, filled_by_load<N>{}, [&](int step, int slot) {
        loaded = p.from[step * threads + t];
        clock_register_loads(4);
        clock_registers_needed();
        store(slot);
      });
    } else {
      recorder<step_work{.multiply_adds = work, .register_bytes = 4}> spans(p.log);
      run(spans, staged_copies<N, decltype(store)>{store},
          [&](int step, int) { loaded = p.from[step * threads + t]; });
    }
    p.sums[t] = sum;
  }
};

template <int N, stores When> timeline timeline_of_textbook() {
  using kernel_type = textbook<N, When>;
  constexpr int steps = 12, capacity = 5 * steps, agents = kernel_type::threads / warp_size;
  const context where(make_cpu_executor({.workers = 1}));
  std::vector<float> from(steps * kernel_type::threads), sums(kernel_type::threads);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i % kernel_type::threads);
  timeline t{.stages = N, .steps = steps, .recorded = steps, .warps = agents};
  t.spans.resize(agents * capacity, untouched);
  std::vector<std::int32_t> counts(agents, 0);
  const typename kernel_type::params params{
      from.data(), sums.data(), steps, {t.spans.data(), counts.data(), capacity, 0}};
  where.runs_on().launch(kernel_of<kernel_type>("textbook"), {1}, &params, nullptr);
  for (std::size_t i = 0; i < sums.size(); ++i)
    EXPECT_EQ(sums[i], static_cast<float>(steps * (sums.size() - 1 - i)));
  std::erase_if(t.spans, is_untouched);
  return t;
}

// Two buffers hide nothing if a warp stores what it has loaded before it computes: it waits for every load.
TEST(Recorder, LoadsThatAreStoredBeforeTheComputationAreNotHidden) {
  const auto expect_nothing_hidden = [](const timeline& t) {
    const overlap o = measure(t);
    ASSERT_EQ(o.steps, t.steps);
    EXPECT_LT(o.hidden, 0.02) << t.stages;
    EXPECT_EQ(o.limited_by, t.stages == 1 ? "turns" : "loads");
    EXPECT_GT(o.waiting, 0.5) << t.stages;
    EXPECT_EQ(o.next_time, o.step_time) << t.stages;
    EXPECT_TRUE(o.loads_block);
    ASSERT_FALSE(o.causes.empty());
    EXPECT_EQ(o.causes[0].cause, "data");
  };
  expect_nothing_hidden(timeline_of_textbook<1, stores::before_computing>());
  expect_nothing_hidden(timeline_of_textbook<2, stores::before_computing>());
  expect_nothing_hidden(timeline_of_textbook<3, stores::before_computing>());

  const overlap staged = measure(timeline_of_textbook<2, stores::after_computing>());
  EXPECT_GT(staged.hidden, 0.5);
  EXPECT_FALSE(staged.loads_block);
  EXPECT_LT(staged.step_time, 0.7 * measure(timeline_of_textbook<2, stores::before_computing>()).step_time);
}

TEST(Recorder, ThatIsNotThereHandsBackWhatItWasGiven) {
  const no_recorder none;
  const auto load = [](int step, int slot) { return step + slot; };
  EXPECT_EQ(&none.load(load), &load);
  EXPECT_EQ(&none.compute(load), &load);
  static_assert(std::is_same_v<std::decay_t<decltype(none.ring(async_copies<2>{}, 5))>, async_copies<2>>);
}

}  // namespace
}  // namespace antiphase
