// SPDX-License-Identifier: Apache-2.0
// Library calls by every policy, with data that depend on the caller's number, and their results when host
// threads make them concurrently.
#pragma once
#include <gtest/gtest.h>

#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/scan.hpp>
#include <cstdint>
#include <cstring>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace antiphase::test {

inline std::vector<float> floats(std::int64_t count, int seed) {
  std::vector<float> made(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < made.size(); ++i)
    made[i] = static_cast<float>((i * 37 + static_cast<std::size_t>(seed) * 101) % 1009) / 512 - 1;
  return made;
}

// One call: its results for data that depend on `seed`, by work on a stream.
struct shared_call {
  std::string name;
  std::function<std::vector<float>(const context& where, stream on, int seed)> results;
};

// Memory bound to a stream: copies wait for that stream's work only, so calls on other streams go on
// meanwhile.
class on_stream {
 public:
  on_stream(const context& where, stream on, const std::vector<float>& host)
      : memory_(where, host.size()), where_(where), on_(on) {
    where.runs_on().copy_in(memory_.data(), host.data(), host.size() * sizeof(float), on);
  }
  float* data() { return memory_.data(); }
  std::vector<float> to_host() const {
    std::vector<float> host(memory_.size());
    where_.runs_on().copy_out(host.data(), memory_.data(), host.size() * sizeof(float), on_);
    return host;
  }

 private:
  device_array<float> memory_;
  context where_;
  stream on_;
};

inline shared_call product(std::string policy, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {"gemm " + policy, [=](const context& where, stream on, int seed) {
            on_stream a(where, on, floats(m * k, seed)), b(where, on, floats(k * n, seed + 1)),
                c(where, on, floats(m * n, seed + 2));
            gemm(where,
                 {.a = {a.data(), m, k, k, 1},
                  .b = {b.data(), k, n, n, 1},
                  .c = {c.data(), m, n, n, 1},
                  .alpha = 1.5f,
                  .beta = -0.5f},
                 {.policy = policy, .stream = on});
            return c.to_host();
          }};
}
inline shared_call scanned(std::string policy, std::int64_t outer, std::int64_t length) {
  return {"scan " + policy + (outer > 1 ? " of rows" : ""), [=](const context& where, stream on, int seed) {
            on_stream x(where, on, floats(outer * length, seed));
            scan(where,
                 {.type = element::f32, .in = x.data(), .out = x.data(), .outer = outer, .length = length},
                 {.policy = policy, .stream = on});
            return x.to_host();
          }};
}
inline shared_call scanned_by_key(std::string policy, std::int64_t length) {
  return {"scan_by_key " + policy, [=](const context& where, stream on, int seed) {
            std::vector<float> keys(static_cast<std::size_t>(length));
            for (std::size_t i = 0; i < keys.size(); ++i)
              keys[i] = static_cast<float>(i / static_cast<std::size_t>(113 + seed));
            on_stream x(where, on, floats(length, seed)), by(where, on, keys);
            scan_by_key(where, {.type = element::f32, .in = x.data(), .out = x.data(), .length = length},
                        {.data = by.data(), .type = element::f32}, {.policy = policy, .stream = on});
            return x.to_host();
          }};
}

// Sizes of several tiles where that is cheap. Scans differ in length, hence in working memory.
inline std::vector<shared_call> calls_of_every_policy() {
  std::vector<shared_call> all;
  for (const gemms::step& s : gemms::steps) all.push_back(product(s.name, 37, 41, 35));
  for (const char* policy : {"fp16", "fp16-mma"}) all.push_back(product(policy, 5, 6, 68));
  for (const char* policy : {"fp64", "tf32"}) all.push_back(product(policy, 37, 41, 70));
  all.push_back(product("fp64-dots", 37, 5, 70));
  all.push_back(product("fp64-short", 37, 41, 4));
  std::int64_t more = 0;
  for (const scans::step& s : scans::steps)
    all.push_back(scanned(s.name, 1, (scans::is_single_pass(s) ? 6'205 : 1'205) + (more += 200)));
  for (const char* policy : {"single-pass", "single-pass-async"}) {
    all.push_back(scanned(policy, 7, 999));
    all.push_back(scanned_by_key(policy, 7'003));
  }
  return all;
}

// Removes calls that the device does not support, such as bulk copies on a GPU before Hopper.
inline void leave_out_what_is_missing(std::vector<shared_call>& calls, const context& where) {
  std::erase_if(calls, [&](const shared_call& call) {
    try {
      call.results(where, nullptr, 0);
      return false;
    } catch (const not_supported&) {
      return true;
    }
  });
}

// Host threads make all calls concurrently on `where`, each with its own data, thread i on streams[i modulo
// their number]. Results must be bitwise those of `alone`, where one thread makes them in turn.
inline void expect_as_alone(const std::vector<shared_call>& calls, const context& where,
                            const std::vector<stream>& streams, const context& alone, int repeats = 1) {
  constexpr std::size_t host_threads = 8, seeds = 2;
  std::vector<std::vector<float>> right[seeds];
  for (std::size_t seed = 0; seed < seeds; ++seed)
    for (const shared_call& call : calls)
      right[seed].push_back(call.results(alone, nullptr, static_cast<int>(seed)));
  std::vector<std::string> wrong(host_threads);
  std::latch start(host_threads);
  std::vector<std::thread> hosts;
  for (std::size_t host = 0; host < host_threads; ++host)
    hosts.emplace_back([&, host] {
      start.arrive_and_wait();
      const std::size_t seed = host / streams.size() % seeds;  // neighbours on one stream have different data
      for (std::size_t i = 0; i < calls.size() * static_cast<std::size_t>(repeats); ++i) {
        // each thread starts at another call
        const std::size_t which = (i + host * calls.size() / host_threads) % calls.size();
        try {
          const std::vector<float> now =
              calls[which].results(where, streams[host % streams.size()], static_cast<int>(seed));
          const std::vector<float>& then = right[seed][which];
          if (now.size() != then.size() ||
              std::memcmp(now.data(), then.data(), then.size() * sizeof(float)) != 0)
            wrong[host] += calls[which].name + " gave other bits; ";
        } catch (const std::exception& e) {
          wrong[host] += calls[which].name + ": " + e.what() + "; ";
        }
      }
    });
  for (std::thread& host : hosts) host.join();
  for (std::size_t host = 0; host < host_threads; ++host)
    EXPECT_EQ(wrong[host], "") << "host thread " << host;
}

}  // namespace antiphase::test
