// SPDX-License-Identifier: Apache-2.0
// Expected results of the probes of atomic updates, votes, matches, three-dimensional blocks and storage.
#include <algorithm>
#include <bit>
#include <cstring>

#include "tests/device/probes.hpp"

namespace antiphase::probe {
namespace {

// Words of `out` by the definition of each operation.
template <class T> std::vector<std::uint32_t> alone() {
  std::vector<T> out;
  const T value = static_cast<T>(in_at(1) | std::uint64_t{in_at(2)} << 32);
  T word = static_cast<T>(in_at(0) | std::uint64_t{in_at(3)} << 32);
  const auto becomes = [&](T next) {
    out.push_back(word);
    out.push_back(word = next);
  };
  becomes(word & value);
  becomes(word | static_cast<T>(5));
  becomes(word ^ value);
  becomes(std::min(word, static_cast<T>(-7)));
  becomes(std::max(word, static_cast<T>(-3)));
  becomes(std::min(word, static_cast<T>(11)));
  becomes(std::max(word, static_cast<T>(9)));
  becomes(value);
  becomes(value == T{1} ? T{2} : word);
  becomes(2);
  out.push_back(word);
  std::vector<std::uint32_t> words(out.size() * sizeof(T) / 4);
  std::memcpy(words.data(), out.data(), out.size() * sizeof(T));
  return words;
}
template <class T> probe updates_alone(const char* name) {
  static const std::vector<std::uint32_t> words = alone<T>();
  return {name, {}, words.size(), 4, [](std::size_t i) { return words[i]; }};
}

probe updates_of_all(unsigned blocks) {
  const unsigned threads = 64 * blocks;
  return {"updates-of-all", {blocks, 1, 1}, 12, threads, [=](std::size_t i) -> std::uint32_t {
            std::uint32_t largest = 0, not_all = 0, any = 0, odd = 0, locked = 0;
            std::int32_t least = 0;
            std::uint64_t sum = 0;
            for (unsigned t = 0; t < threads; ++t) {
              const std::uint32_t x = in_at(t);
              largest = std::max(largest, ~x);
              least = std::min(least, static_cast<std::int32_t>(x));
              not_all |= ~x;
              any |= x & 0xFFu;
              odd ^= x;
              sum += x;
              if (t % 32 == 0) locked += x;
            }
            const std::uint32_t all[12] = {largest,
                                           static_cast<std::uint32_t>(least),
                                           not_all,
                                           any,
                                           odd,
                                           threads % 7,
                                           (7 - threads % 7) % 7,
                                           0,
                                           static_cast<std::uint32_t>(sum),
                                           static_cast<std::uint32_t>(sum >> 32),
                                           locked,
                                           0};
            return all[i];
          }};
}

template <int Bytes> probe shuffles_xor() {
  return {"shuffles-xor-" + std::to_string(Bytes), {}, 128, 0, [](std::size_t i) {
            return digest(blob_of<Bytes>(static_cast<unsigned>(i / 2 ^ (i % 2 == 0 ? 11 : 1))));
          }};
}

// One bit for each remaining lane of the thread's warp that votes yes.
template <class Says> std::uint32_t lanes(int t, int threads, Says says) {
  std::uint32_t out = 0;
  for (int lane = 0; lane < 32; ++lane)
    if (const int other = t / 32 * 32 + lane;
        other < threads && votes_stay(other) && says(in_at(static_cast<std::size_t>(other))))
      out |= 1u << lane;
  return out;
}
probe votes() {
  return {"votes", {}, 40 * vote_results, 40, [](std::size_t i) -> std::uint32_t {
            const int t = static_cast<int>(i / vote_results);
            if (!votes_stay(t)) return 0;
            const std::uint32_t mine = in_at(static_cast<std::size_t>(t));
            const auto of = [&](auto says) { return lanes(t, 40, says); };
            const auto threes = [](std::uint32_t x) { return x % 3 == 0; };
            const std::uint32_t all = of([](std::uint32_t) { return true; });
            const auto only = [&](std::uint32_t votes) { return votes == all ? all : 0; };
            const auto bits = static_cast<std::uint32_t>(std::popcount(mine));
            const std::uint32_t results[vote_results] = {
                of(threes),
                of(threes) != 0,
                0,
                of(threes) == all,
                1,
                of([&](std::uint32_t x) { return x % 4 == mine % 4; }),
                of([&](std::uint32_t x) { return x % 3 == mine % 3; }),
                all,
                only(of([&](std::uint32_t x) { return x == mine; })),
                bits + 100 * (bits + 2)};
            return results[i % vote_results];
          }};
}
probe block_votes() {
  return {"block-votes", {}, 70 * 6, 70, [](std::size_t i) -> std::uint32_t {
            if (!votes_stay(static_cast<int>(i / 6))) return 0;
            std::uint32_t threes = 0;
            for (int t = 0; t < 70; ++t)
              threes += votes_stay(t) && in_at(static_cast<std::size_t>(t)) % 3 == 0;
            const std::uint32_t all[6] = {threes, in_at(0), 1, 0, 1, 0};
            return all[i % 6];
          }};
}

probe tail(const char* name, std::size_t count, std::size_t bytes) {
  return {name, {}, count, count, [=](std::size_t i) {
            constexpr std::uint32_t weights[5] = {3, 1, 4, 1, 5};
            return in_at(count - 1 - i) * weights[i % 5] + in_at(0) + static_cast<std::uint32_t>(bytes);
          }};
}

}  // namespace

std::vector<probe> update_probes() {
  return {updates_alone<std::uint32_t>("updates-u32"),
          updates_alone<std::int32_t>("updates-s32"),
          updates_alone<std::uint64_t>("updates-u64"),
          updates_alone<std::int64_t>("updates-s64"),
          updates_of_all(1),
          updates_of_all(5),
          shuffles_xor<3>(),
          shuffles_xor<4>(),
          shuffles_xor<20>(),
          votes(),
          block_votes(),
          tail("tail", 130, 8 + 130 * 8),
          tail("large-tail", 7000, 8 + 7000 * 8 + 7),
          {"indices-3", {}, 60, 0, [](std::size_t i) {
             return static_cast<std::uint32_t>(i % 5 | i / 5 % 3 << 8 | i / 15 << 16);
           }}};
}

}  // namespace antiphase::probe
