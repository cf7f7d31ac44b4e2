// SPDX-License-Identifier: Apache-2.0
// Expected results of the cluster probes.
#include <cstring>

#include "tests/device/probes.hpp"
#include "tests/device/reductions.hpp"

namespace antiphase::probe {
namespace {

// `expected` takes the first block of the cluster, the rank and the thread.
template <class Expected> probe on_clusters(std::string kernel, std::size_t threads, std::size_t cluster,
                                            extent3 grid, bool reads, Expected expected) {
  const std::size_t all = grid.count() * threads;
  return {.name = std::move(kernel),
          .grid = grid,
          .out_size = all,
          .in_size = reads ? all : 0,
          .expected =
              [=](std::size_t i) {
                const std::size_t block = i / threads, rank = block % cluster;
                return static_cast<std::uint32_t>(expected(block - rank, rank, i % threads));
              },
          .compute_capability = 90,
          .cluster = static_cast<int>(cluster)};
}

probe indices(std::size_t cluster, extent3 grid) {
  return on_clusters("cluster-indices", 33, cluster, grid, false,
                     [=](std::size_t, std::size_t rank, std::size_t) { return rank | cluster << 8; });
}
probe ring(std::size_t threads, std::size_t cluster, extent3 grid) {
  return on_clusters("cluster-ring-" + std::to_string(threads), threads, cluster, grid, true,
                     [=](std::size_t first, std::size_t rank, std::size_t t) {
                       const std::size_t next = (rank + 1) % cluster, after = (rank + 2) % cluster;
                       return in_at((first + next) * threads + threads - 1 - t) + after;
                     });
}
probe places(std::size_t cluster, extent3 grid) {
  return on_clusters("cluster-places", 96, cluster, grid, true,
                     [=](std::size_t first, std::size_t rank, std::size_t t) {
                       const std::uint32_t in = in_at((first + cluster - 1 - rank) * 96 + 95 - t);
                       return t < 32 ? in : t < 64 ? in + static_cast<std::uint32_t>(t) : in ^ 1u;
                     });
}
probe leavers(std::size_t cluster, extent3 grid) {
  return on_clusters("cluster-leavers", 128, cluster, grid, true,
                     [=](std::size_t first, std::size_t rank, std::size_t t) {
                       return t / 32 % 2 == 1 ? 0 : in_at((first + cluster - 1 - rank) * 128 + (t ^ 32));
                     });
}
probe exchange() {
  return on_clusters(
      "cluster-exchange", 64, 2, {6, 1, 1}, true, [](std::size_t first, std::size_t rank, std::size_t t) {
        return in_at((first + (rank ^ 1)) * 64 + (t ^ 63)) * 3 + in_at((first + rank) * 64 + (t ^ 1));
      });
}

probe arrivals(std::size_t cluster, extent3 grid) {
  return on_clusters("arrivals", 64, cluster, grid, true,
                     [=](std::size_t first, std::size_t rank, std::size_t t) {
                       std::uint32_t sum = in_at((first + rank) * 64 + 63 - t);
                       for (std::size_t other = 0; other < cluster; ++other)
                         sum = sum * 3 + in_at((first + other) * 64 + rank);
                       return sum;
                     });
}

probe row_for_all(std::size_t cluster, extent3 grid) {
  return on_clusters(
      "row-for-all", 64, cluster, grid, true,
      [](std::size_t first, std::size_t rank, std::size_t t) { return in_at(first * 64 + 63 - t) + rank; });
}

template <class T> T reduced(bulk_update what, T a, T b) {
  if constexpr (std::is_unsigned_v<T>) {
    if (what == bulk_update::bit_and) return a & b;
    if (what == bulk_update::bit_or) return a | b;
    if (what == bulk_update::bit_xor) return a ^ b;
  }
  if (what == bulk_update::min) return b < a ? b : a;
  if (what == bulk_update::max) return a < b ? b : a;
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  else
    return a + b;
}
std::uint32_t word_of_reduction(std::size_t word) {
  std::uint32_t result = 0;
  each_reduction([&](int kind, auto r) {
    using number = typename decltype(r)::type;
    if (static_cast<std::size_t>(kind) != word / reduction_words) return;
    const std::size_t byte = word % reduction_words * 4;
    const int i = static_cast<int>(byte / sizeof(number));
    const number n = reduced(decltype(r)::update, reduced_number<number>(0, i), reduced_number<number>(1, i));
    std::memcpy(&result, reinterpret_cast<const char*>(&n) + byte % sizeof(number), sizeof result);
  });
  return result;
}

}  // namespace

std::vector<probe> cluster_probes() {
  return {indices(1, {3, 2, 1}),
          indices(2, {4, 3, 2}),
          indices(3, {9, 1, 2}),
          indices(7, {7, 1, 1}),
          indices(8, {16, 2, 1}),
          indices(16, {32, 1, 1}),
          ring(97, 1, {3, 1, 1}),
          ring(97, 2, {6, 2, 1}),
          ring(97, 4, {8, 1, 3}),
          ring(97, 5, {10, 1, 1}),
          ring(512, 2, {2, 3, 1}),
          ring(512, 8, {8, 1, 1}),
          ring(97, 16, {16, 2, 1}),
          places(2, {6, 1, 1}),
          places(4, {4, 2, 1}),
          leavers(2, {4, 2, 1}),
          leavers(3, {3, 1, 1}),
          exchange(),
          arrivals(1, {2, 1, 1}),
          arrivals(3, {6, 2, 1}),
          arrivals(8, {8, 1, 1}),
          {"there-and-back", {}, 64, 64, [](std::size_t i) { return in_at(63 - i) * 5 + 1; }, 90},
          row_for_all(1, {2, 1, 1}),
          row_for_all(3, {6, 2, 1}),
          row_for_all(8, {16, 1, 1}),
          {"copies-arrive", {}, 128, 128, [](std::size_t i) { return in_at(i / 64 * 64 + 63 - i % 64); }, 90},
          {"reductions", {}, reduction_kinds * reduction_words, 0, word_of_reduction, 90}};
}

}  // namespace antiphase::probe
