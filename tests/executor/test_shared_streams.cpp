// SPDX-License-Identifier: Apache-2.0
// One context and its streams shared by host threads: each gets the same results as alone, bit for bit; and
// the exclusive use of a stream's memory.
#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <antiphase/executor/scratch.hpp>
#include <antiphase/scan.cuh>
#include <chrono>

#include "tests/executor/shared_calls.hpp"

namespace antiphase::test {
namespace {

stream stream_number(int i) {
  static int streams[4];
  return reinterpret_cast<stream>(&streams[i]);
}

// The scan of a user-defined type keeps its state in the same memory.
struct plus {
  AP_FN float operator()(float a, float b) const { return a + b; }
};
shared_call scanned_with_own_operator(std::int64_t length) {
  return {"inclusive_scan", [=](const context& where, stream on, int seed) {
            on_stream x(where, on, floats(length, seed));
            inclusive_scan(where, x.data(), x.data(), length, plus{}, {.stream = on});
            return x.to_host();
          }};
}
std::vector<shared_call> all_calls() {
  std::vector<shared_call> all = calls_of_every_policy();
  all.push_back(scanned_with_own_operator(7'001));
  return all;
}

context with_workers(int count) {
  return context(make_cpu_executor({.workers = count, .sums = tensor_sums::plain}));
}
const context alone = with_workers(1);
TEST(shared_streams, every_policy_on_the_default_stream) {
  expect_as_alone(all_calls(), with_workers(2), {nullptr}, alone);
}
TEST(shared_streams, every_policy_on_three_streams) {
  expect_as_alone(all_calls(), with_workers(1), {stream_number(0), nullptr, stream_number(1)}, alone);
}
// Calls that carry state from one to the next, repeatedly.
TEST(shared_streams, scans_in_one_pass_one_after_the_other) {
  const std::vector<shared_call> calls{scanned("one-wave", 1, 2'500), scanned("single-pass", 1, 7'000),
                                       scanned_by_key("single-pass", 8'000)};
  expect_as_alone(calls, with_workers(1), {nullptr}, alone, 4);
}

// The same on a GPU, on its default stream; more streams: test_shared_streams_cuda.cpp.
TEST(shared_streams_Cuda, every_policy_on_the_default_stream) {
  std::string why;
  if (cuda_devices(&why).empty()) GTEST_SKIP() << "no GPU to test on: " << why;
  const context where = context::on("cuda");
  std::vector<shared_call> calls = calls_of_every_policy();
  leave_out_what_is_missing(calls, where);
  expect_as_alone(calls, where, {nullptr}, where, 4);
}

// Between two pieces of work all words of the memory are equal.
TEST(shared_streams, scratch_memory_is_one_threads_at_a_time) {
  const auto runs = make_cpu_executor();
  std::atomic<int> torn{0}, found_spoilt{0}, counted{0};
  std::vector<std::thread> hosts;
  for (unsigned host = 0; host < 8; ++host)
    hosts.emplace_back([&, host] {
      for (unsigned turn = 0; turn < 200; ++turn) {
        const std::size_t bytes = std::size_t{1024} << (host + turn) % 9;  // grows over time
        try {
          const scratch_in_use mine(*runs, bytes, stream_number(static_cast<int>(turn % 2)));
          mine.work([&] {
            auto* const words = reinterpret_cast<unsigned*>(mine.memory().data());
            const unsigned before = words[0];
            found_spoilt += before == ~0u;
            for (std::size_t i = 0; i < 256; ++i) torn += std::exchange(words[i], ~0u) != before;
            if (turn % 10 == host) throw device_error("half done");
            std::this_thread::yield();
            for (std::size_t i = 0; i < 256; ++i) words[i] = before + 1;
          });
          ++counted;
        } catch (const device_error&) {
        }
      }
    });
  for (std::thread& host : hosts) host.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(found_spoilt, 0);
  EXPECT_EQ(counted, 8 * 180);
}

// Kernels
// -----------------------------------------------------------------------------------------------------------

// All words become `value`, slowly.
struct fills {
  struct params {
    std::uint32_t* words;
    std::uint32_t value;
  };
  struct storage {};
  static constexpr int threads = 64;
  void operator()(const params& p) const {
    for (unsigned i = static_cast<unsigned>(thread_index()); i < 512; i += threads) {
      p.words[i] = p.value;
      warp_sync();
    }
  }
};
TEST(shared_streams, launches_and_copies_on_one_stream_come_one_after_the_other) {
  const auto runs = make_cpu_executor({.workers = 1});
  for (const stream on : {stream{}, stream_number(0)}) {
    device_array<std::uint32_t> words(context(runs), std::vector<std::uint32_t>(512));
    std::atomic<int> torn{0};
    std::vector<std::thread> hosts;
    for (unsigned host = 1; host <= 8; ++host)
      hosts.emplace_back([&, host] {
        for (int turn = 0; turn < 30; ++turn) {
          const fills::params p{words.data(), host};
          std::vector<std::uint32_t> now(512);
          if (host % 2 == 0)
            runs->launch(kernel_of<fills>("fills"), {}, &p, on);
          else
            runs->copy_in(words.data(), std::vector<std::uint32_t>(512, host).data(), 2048, on);
          runs->copy_out(now.data(), words.data(), 2048, on);
          torn += std::adjacent_find(now.begin(), now.end(), std::not_equal_to<>()) != now.end();
        }
      });
    for (std::thread& host : hosts) host.join();
    EXPECT_EQ(torn, 0);
  }
}

// A kernel on one stream that waits for one on another: it ends only if both run concurrently.
struct waits_for {
  struct params {
    std::uint32_t *mine, *other;
  };
  struct storage {};
  static constexpr int threads = 1;
  void operator()(const params& p) const {
    store_release(p.mine, 1);
    poll([&] { return load_acquire(p.other) != 0; });
  }
};
TEST(shared_streams, different_streams_run_side_by_side) {
  const auto runs = make_cpu_executor({.workers = 2});
  std::uint32_t flags[2] = {};
  const auto launch = [&](int i) {
    const waits_for::params p{&flags[i], &flags[1 - i]};
    // Two blocks, one worker each: with a single one, idle waiting counts as a deadlock immediately.
    runs->launch(kernel_of<waits_for>("waits"), {2, 1, 1}, &p, i == 0 ? nullptr : stream_number(0));
  };
  std::thread other([&] { launch(1); });
  launch(0);
  other.join();
  EXPECT_EQ(flags[0] + flags[1], 2u);
}

// Timed work queues on the stream that times it, also while another thread does the same.
TEST(shared_streams, timed_work_may_use_the_stream) {
  const auto runs = make_cpu_executor({.workers = 1});
  std::vector<std::uint32_t> words(512);
  std::vector<std::thread> hosts;
  for (unsigned host = 0; host < 4; ++host)
    hosts.emplace_back([&, host] {
      const auto twice = [&](stream on) {
        const scratch_in_use held(*runs, 100, on);
        const fills::params p{words.data(), host};
        runs->launch(kernel_of<fills>("fills"), {}, &p, on);
        runs->synchronize(on);
      };
      EXPECT_GE(runs->milliseconds([&](stream on) { runs->milliseconds(twice, on); }, nullptr), 0);
    });
  for (std::thread& host : hosts) host.join();
  EXPECT_EQ(std::adjacent_find(words.begin(), words.end(), std::not_equal_to<>()), words.end());
}

}  // namespace
}  // namespace antiphase::test
