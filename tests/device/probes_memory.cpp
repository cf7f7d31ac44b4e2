// SPDX-License-Identifier: Apache-2.0
// Expected results of the probes of atomics, polling, time and asynchronous copies.
#include "tests/device/probes.hpp"

#include <bit>
#include <cstring>

namespace antiphase::probe {
namespace {

probe atomics(unsigned blocks) {
  const unsigned threads = 96 * blocks;
  return {"atomics", {blocks, 1, 1}, 8 + threads, threads, [=](std::size_t i) -> std::uint32_t {
            std::uint32_t sum = 0;
            std::uint64_t wide = 0;
            float real = 0;
            for (unsigned t = 0; t < threads; ++t) {
              sum += in_at(t);
              wide += std::uint64_t{in_at(t)} << 20;
              real += static_cast<float>(t);  // exact: an integer below 2^24
            }
            switch (i) {
              case 0: return threads;
              case 1: return sum;
              case 2:
                return static_cast<std::uint32_t>(-static_cast<std::int32_t>(threads * (threads - 1) / 2));
              case 3:
              case 7: return 0;
              case 4: return static_cast<std::uint32_t>(wide);
              case 5: return static_cast<std::uint32_t>(wide >> 32);
              case 6: return std::bit_cast<std::uint32_t>(real);
              default: return static_cast<std::uint32_t>(i - 8 + 1);
            }
          }};
}

probe chain_up(unsigned blocks) {
  return {"chain-up", {blocks, 1, 1}, blocks * 65, blocks * 64, [=](std::size_t i) {
            if (i >= blocks * 64) return 1u;
            std::uint32_t sum = 0;
            for (std::size_t from = i % 64; from <= i; from += 64) sum += in_at(from);
            return sum;
          }};
}

probe pairs_down(unsigned blocks) {
  return {"pairs-down", {blocks, 1, 1}, blocks * 2, blocks, [](std::size_t i) {
            const std::size_t block = i / 2;
            if (i % 2 == 0) return 1u;
            return block % 2 == 0 ? in_at(block) + in_at(block + 1) : in_at(block);
          }};
}

template <int Bytes> probe copies_or_zeros() {
  constexpr std::size_t words = Bytes / 4;
  return {"copies-or-zeros-" + std::to_string(Bytes), {}, 64 * words, 64 * words + 1, [](std::size_t i) {
            return i / words % 3 == 0 ? 0u : in_at(i);
          }};
}
template <int Bytes> probe partial_copies() {
  return {"copies-" + std::to_string(Bytes),
          {},
          64 * Bytes / 4,
          64 * Bytes / 4,
          [](std::size_t i) {
            const std::size_t thread = i * 4 / Bytes, taken = thread % (Bytes + 1), offset = i * 4 % Bytes;
            const std::uint32_t word = in_at(i);
            unsigned char bytes[4];
            std::memcpy(bytes, &word, 4);
            for (std::size_t b = 0; b < 4; ++b)
              if (offset + b >= taken) bytes[b] = 0;
            std::uint32_t out;
            std::memcpy(&out, bytes, 4);
            return out;
          },
          80};
}

probe hand_over() {
  return {"hand-over",
          {},
          7 * 64,
          7 * 32,
          [](std::size_t i) {
            const std::size_t round = i / 64, warp = i / 32 % 2 + 1, lane = i % 32;
            return in_at(round * 32 + (lane + warp) % 32);
          },
          90};
}

}  // namespace

std::vector<probe> memory_probes() {
  return {atomics(1),
          atomics(7),
          chain_up(1),
          chain_up(40),
          pairs_down(2),
          pairs_down(64),
          {"times", {}, 33, 32, [](std::size_t i) { return i < 32 ? 1u : 0u; }},
          partial_copies<4>(),
          partial_copies<8>(),
          partial_copies<16>(),
          copies_or_zeros<4>(),
          copies_or_zeros<16>(),
          {"copy-groups", {}, 128, 128, [](std::size_t i) { return in_at(i); }, 80},
          hand_over(),
          {"bulk-row",
           {5, 1, 1},
           5 * 1024,
           5 * 1024,
           [](std::size_t i) { return in_at(i) * 2 + static_cast<std::uint32_t>(i % 1024); },
           90}};
}

}  // namespace antiphase::probe
