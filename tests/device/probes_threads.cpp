// SPDX-License-Identifier: Apache-2.0
// Expected results of the probes of indices, barriers, warps and shared storage.
#include "tests/device/probes.hpp"

namespace antiphase::probe {
namespace {

std::uint32_t u32(std::size_t value) { return static_cast<std::uint32_t>(value); }

probe indices(unsigned threads, extent3 grid) {
  return {"indices-" + std::to_string(threads), grid, grid.count() * threads * 3, 0, [=](std::size_t i) {
            const std::size_t block = i / 3 / threads, t = i / 3 % threads;
            const std::size_t x = block % grid.x, y = block / grid.x % grid.y, z = block / grid.x / grid.y;
            if (i % 3 == 0) return u32(x | y << 8 | z << 16);
            if (i % 3 == 1) return u32(grid.x | grid.y << 8 | grid.z << 16);
            return u32(t | t % 32 << 12 | t / 32 << 20);
          }};
}

probe reverse(std::size_t threads, extent3 grid) {
  return {"reverse-" + std::to_string(threads), grid, grid.count() * threads, grid.count() * threads,
          [=](std::size_t i) {
            std::size_t t = i % threads;
            t = threads - 1 - t;  // three reversals equal one
            return ((in_at(i / threads * threads + t) * 3) + 1) * 9 + 2 * 3;
          }};
}

probe named_pairs() {
  return {"named-pairs", {}, 128, 128, [](std::size_t i) {
            const unsigned rounds = i < 64 ? 3 : 7;  // odd: the number ends in the other warp, mirrored
            const std::size_t from = (i / 32 ^ 1) * 32 + 31 - i % 32;
            return in_at(from) + rounds * (rounds - 1) / 2;
          }};
}

template <int Bytes> probe shuffles() {
  return {"shuffles-" + std::to_string(Bytes), {}, 256, 0, [](std::size_t i) {
            const std::size_t t = i / 4, lane = t % 32, warp = t / 32 * 32;
            std::size_t from = 0;
            if (i % 4 == 0) from = (lane * 5 + 3) % 32;
            if (i % 4 == 1) from = lane >= 3 ? lane - 3 : lane;
            if (i % 4 == 2) from = lane + 5 < 32 ? lane + 5 : lane;
            return digest(blob_of<Bytes>(static_cast<unsigned>(warp + from)));
          }};
}

std::uint32_t votes(std::size_t warp, std::uint32_t mask, std::uint32_t divisor) {
  std::uint32_t out = 0;
  for (std::size_t lane = 0; lane < 32; ++lane)
    if ((mask >> lane & 1u) != 0 && in_at(warp * 32 + lane) % divisor == 0) out |= 1u << lane;
  return out;
}

probe partial_masks() {
  return {"partial-masks", {}, 256, 64, [](std::size_t i) -> std::uint32_t {
            const std::size_t t = i / 4, lane = t % 32, warp = t / 32;
            const bool even = lane % 2 == 0;
            if (i % 4 == 0) return in_at(warp * 32 + (even ? lane ^ 2 : (lane + 4) % 32));
            if (i % 4 == 1) return even ? votes(warp, 0x55555555u, 3) : votes(warp, 0xAAAAAAAAu, 5);
            if (i % 4 == 2) return lane >= 8 && lane < 16 ? in_at(t ^ 7) : 0;
            return votes(warp, ~0u, 2);
          }};
}

probe partial_warp() {
  return {"partial-warp", {}, 80, 40, [](std::size_t i) {
            const std::size_t t = i / 2, lane = t % 32, warp = t / 32;
            if (i % 2 == 1) return votes(warp, warp == 0 ? ~0u : 0xFFu, 3);
            return in_at(warp * 32 + (lane + 3) % (warp == 0 ? 32 : 8));
          }};
}

probe threads_return() {
  return {"threads-return", {}, 288, 96, [](std::size_t i) -> std::uint32_t {
            const int t = static_cast<int>(i / 3), warp = t / 32;
            if (!stays(t)) return 0;
            if (i % 3 == 0) return stays(95 - t) ? in_at(static_cast<std::size_t>(95 - t)) : 0;
            if (i % 3 == 2) return in_at(static_cast<std::size_t>(warp * 32 + staying_lane(warp)));
            std::uint32_t left = 0;
            for (int lane = 0; lane < 32; ++lane)
              left |= static_cast<std::uint32_t>(stays(warp * 32 + lane)) << lane;
            return left & votes(static_cast<std::size_t>(warp), ~0u, 2);
          }};
}

}  // namespace

std::vector<probe> thread_probes() {
  return {indices(1, {5, 3, 2}),
          indices(31, {2, 7, 1}),
          indices(33, {1, 1, 9}),
          indices(1024, {3, 2, 2}),
          reverse(1, {4, 1, 1}),
          reverse(31, {3, 2, 1}),
          reverse(33, {5, 1, 2}),
          reverse(1024, {3, 1, 1}),
          {"reverse-60k", {}, 15 * 1024, 15 * 1024, [](std::size_t i) { return in_at(15 * 1024 - 1 - i); }},
          named_pairs(),
          {"named-hand-over", {}, 192, 192, [](std::size_t i) { return in_at(i / 32 * 32 + 31 - i % 32); }},
          shuffles<1>(),
          shuffles<2>(),
          shuffles<3>(),
          shuffles<4>(),
          shuffles<8>(),
          shuffles<15>(),
          shuffles<16>(),
          shuffles<17>(),
          shuffles<32>(),
          shuffles<40>(),
          partial_masks(),
          partial_warp(),
          threads_return()};
}

}  // namespace antiphase::probe
