// SPDX-License-Identifier: Apache-2.0
// Clusters on the CPU executor: co-resident blocks, the cluster barrier, distributed shared memory.
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/launch.cuh>

#include "launcher.hpp"

namespace antiphase::test {
namespace {

// Every thread passes a number to the next block of its cluster until it has gone round and one block
// further, counting each step. The barrier's two halves are used separately.
template <int Threads> struct goes_round {
  using params = numbers;
  struct storage {
    std::uint32_t value[2][Threads];
  };
  static constexpr int threads = Threads, cluster = 2;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), n = cluster_extent(), next = (cluster_rank() + 1) % n;
    const extent3 b = block_index(), g = grid_extent();
    const unsigned block = (b.z * g.y + b.y) * g.x + b.x;
    std::uint32_t mine = block * 1000 + static_cast<unsigned>(t);
    for (int round = 0; round <= n; ++round) {
      std::uint32_t* theirs = map_shared(s.value[round % 2], next);
      if (round == 0) cluster_barrier();  // they have started
      theirs[Threads - 1 - t] = mine;
      cluster_arrive();
      point();
      cluster_wait();
      mine = s.value[round % 2][t] + 1'000'000;
    }
    cluster_barrier();
    p.out[block * Threads + static_cast<unsigned>(t)] = mine;
  }
};
template <int Threads> void goes_round_in_clusters_of(int cluster, extent3 grid, const cpu_options& options) {
  SCOPED_TRACE(std::to_string(Threads) + " threads, clusters of " + std::to_string(cluster) + ", " +
               std::to_string(options.workers) + " workers, " + std::to_string(options.resident_blocks) +
               " resident");
  std::vector<std::uint32_t> out(grid.count() * Threads);
  const numbers params{out.data()};
  kernel k = kernel_of<goes_round<Threads>>("round");
  EXPECT_EQ(k.cluster, 2);
  k.cluster = cluster;
  make_cpu_executor(options)->launch(k, grid, &params, nullptr);
  for (unsigned i = 0; i < out.size(); ++i) {
    const unsigned n = static_cast<unsigned>(cluster), block = i / Threads, rank = block % n, t = i % Threads;
    const unsigned from = block - rank + (rank + n - 1) % n;
    ASSERT_EQ(out[i], from * 1000 + (n % 2 == 1 ? t : Threads - 1 - t) + (n + 1) * 1'000'000) << i;
  }
}
TEST(clusters, hand_numbers_round) {
  for (const int workers : {1, 3})
    for (const int resident : {0, 1, 5})
      for (const auto order :
           {schedule::random, schedule::forward, schedule::reversed, schedule::starved, schedule::priority}) {
        const cpu_options options{.seed = 7, .order = order, .workers = workers, .resident_blocks = resident};
        goes_round_in_clusters_of<33>(1, {3, 2, 1}, options);
        goes_round_in_clusters_of<33>(2, {6, 1, 2}, options);
        goes_round_in_clusters_of<1>(3, {9, 2, 1}, options);
        goes_round_in_clusters_of<97>(4, {4, 3, 1}, options);
        goes_round_in_clusters_of<31>(16, {32, 1, 1}, options);
      }
}

// Threads that have ended count as arrived, whether they had arrived before or not.
struct some_leave {
  using params = numbers;
  struct storage {
    std::uint32_t value[70];
  };
  static constexpr int threads = 70, cluster = 2;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index(), rank = cluster_rank();
    cluster_barrier();
    if (rank == 0 && t % 3 == 1) return;
    *map_shared(&s.value[t], rank ^ 1) = static_cast<unsigned>(rank * 100 + t);
    cluster_arrive();
    if (rank == 1 && t % 3 == 2) return;
    cluster_wait();
    cluster_barrier();
    p.out[rank * threads + t] = s.value[t];
  }
};
TEST(clusters, do_not_wait_for_threads_that_have_ended) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::vector<std::uint32_t> out(140, 7777);
    launch<some_leave>(*make_cpu_executor({.seed = seed, .workers = 1}), {out.data()}, {2});
    for (unsigned i = 0; i < 140; ++i) {
      const unsigned rank = i / 70, t = i % 70;
      if (rank == 0 ? t % 3 == 1 : t % 3 == 2) {
        EXPECT_EQ(out[i], 7777u) << i;
      } else if (rank == 0 || t % 3 != 1) {
        EXPECT_EQ(out[i], (rank ^ 1) * 100 + t) << i;
      }
    }
  }
}

struct one_never_comes {
  using params = numbers;
  struct storage {};
  static constexpr int threads = 40, cluster = 2;
  void operator()(const params&) const {
    if (cluster_rank() == 1 && thread_index() == 17) {
      named_barrier_sync(3, 64);
      return;
    }
    cluster_barrier();
  }
};
TEST(clusters, say_who_waits_for_whom) {
  EXPECT_THAT(failure_of<one_never_comes>(*make_cpu_executor({.workers = 1}), {}, {4}),
              AllOf(HasSubstr("block (0, 0, 0): threads 0-39 at the cluster barrier in "),
                    HasSubstr("block (1, 0, 0): threads 0-16, 18-39 at the cluster barrier in"),
                    HasSubstr("thread 17 at a named barrier")));
}

template <int What> struct misuses {
  using params = numbers;
  struct storage {
    std::uint32_t value[4];
  };
  static constexpr int threads = 32, cluster = 2;
  void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    if constexpr (What == 0) {
      cluster_arrive();
      cluster_arrive();
    } else if constexpr (What == 1) {
      cluster_barrier();
      cluster_wait();
    } else if constexpr (What == 2) {
      map_shared(s.value, 2);
    } else if constexpr (What == 3) {
      map_shared(s.value, -1);
    } else {
      map_shared(p.out, 1);
    }
  }
};
TEST(clusters, say_what_is_wrong) {
  const auto on = make_cpu_executor({.workers = 1});
  std::uint32_t global = 0;
  EXPECT_THAT(failure_of<misuses<0>>(*on, {}, {2}),
              HasSubstr("a second arrival at the cluster barrier without a wait for the first"));
  EXPECT_THAT(failure_of<misuses<1>>(*on, {}, {2}),
              HasSubstr("a wait at the cluster barrier without an arrival"));
  EXPECT_THAT(failure_of<misuses<2>>(*on, {}, {2}),
              HasSubstr("the shared memory of block 2 of a cluster of 2"));
  EXPECT_THAT(failure_of<misuses<3>>(*on, {}, {2}),
              HasSubstr("the shared memory of block -1 of a cluster of 2"));
  EXPECT_THAT(failure_of<misuses<4>>(*on, {&global}, {2}),
              HasSubstr("does not lie in the block's 16 bytes of shared memory"));
}

std::string refused(const device_limits& limits, int cluster, extent3 grid) {
  kernel k = kernel_of<goes_round<1>>("round");
  k.cluster = cluster;
  const numbers params{};
  const auto on = make_cpu_executor({.limits = limits});
  try {
    on->launch(k, grid, &params, nullptr);
  } catch (const not_supported& e) {
    EXPECT_EQ(on->usage(k).blocks_on_device, 0);
    return std::string("not supported: ") + e.what();
  } catch (const bad_request& e) {
    return std::string("bad request: ") + e.what();
  }
  return {};
}
TEST(clusters, that_do_not_fit_are_refused) {
  device_limits older = simulated_device();
  older.major = 8;
  older.minor = 6;
  EXPECT_EQ(refused(older, 2, {2}),
            "not supported: round needs clusters of 2 blocks, CPU executor has compute capability 8.6 and "
            "they begin with 9.0");
  for (const int cluster : {0, -2, 17})
    EXPECT_EQ(
        refused(simulated_device(), cluster, {34}),
        "not supported: round needs clusters of " + std::to_string(cluster) + " blocks: expected 1 to 16");
  EXPECT_EQ(refused(simulated_device(), 3, {8, 3}),
            "bad request: kernel round: a grid of 8 blocks along x is not a multiple of its clusters of 3");
  EXPECT_EQ(refused(simulated_device(), 3, {0, 3}), "");
}

struct takes_100_kib {
  using params = numbers;
  struct storage {
    std::uint32_t value[25 * 1024];
  };
  static constexpr int threads = 32;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = true;
  void operator()(const params&) const {}
};
TEST(clusters, fit_on_the_device_in_whole_numbers) {
  kernel k = kernel_of<takes_100_kib>("big");
  EXPECT_TRUE(k.overlaps_previous);
  device_limits five = simulated_device();
  five.multiprocessors = 5;
  const auto on = make_cpu_executor({.limits = five});
  EXPECT_EQ(on->usage(k).blocks_on_device, 10);
  k.cluster = 4;
  EXPECT_EQ(on->usage(k).blocks_per_multiprocessor, 2);
  EXPECT_EQ(on->usage(k).blocks_on_device, 8);
}

}  // namespace
}  // namespace antiphase::test
