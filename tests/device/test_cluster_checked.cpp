// SPDX-License-Identifier: Apache-2.0
// Findings of the checker on kernels with clusters, and on overlapping launches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <antiphase/checker.hpp>
#include <stdexcept>
#include <string>

#include "tests/device/probes.hpp"

namespace antiphase::probe {
namespace checked {
std::vector<kernel> cluster_kernels();
}

namespace {

using testing::HasSubstr;

kernel find(const std::string& name) {
  for (const kernel& k : checked::cluster_kernels())
    if (name == k.name) return k;
  throw std::logic_error("there is no kernel " + name);
}

check_report check_on(const std::string& name, extent3 grid, int cluster) {
  check_options options;
  options.schedules = 24;
  return check(
      [&](const context& where) {
        kernel k = find(name);
        k.cluster = cluster;
        std::vector<std::uint32_t> input(grid.count() * static_cast<unsigned>(k.threads));
        for (std::size_t i = 0; i < input.size(); ++i) input[i] = in_at(i);
        const device_array<std::uint32_t> in(where, std::span<const std::uint32_t>(input));
        device_array<std::uint32_t> out(where, std::span<const std::uint32_t>(input));
        const buffers params{out.data(), in.data(), static_cast<int>(input.size())};
        // the second one reuses the same shared memory
        for (int i = 0; i < 2; ++i) where.runs_on().launch(k, grid, &params, nullptr);
        out.to_host();
      },
      options);
}

TEST(cluster_checked, correct_kernels_are_clean) {
  for (const auto& r : {check_on("cluster-exchange", {6, 2}, 2), check_on("cluster-ring-97", {6}, 3),
                        check_on("cluster-ring-512", {4}, 4), check_on("cluster-ring-97", {3}, 1),
                        check_on("cluster-places", {4}, 2), check_on("cluster-leavers", {4}, 2),
                        check_on("cluster-leavers", {3}, 1)})
    EXPECT_TRUE(r.clean()) << to_text(r);
}

// Three launches, each of which reads the output of the one before.
check_report check_chain(const std::string& name, bool overlaps_previous, bool copies_between = false) {
  check_options options;
  options.schedules = 4;
  return check(
      [&](const context& where) {
        kernel k = find(name);
        k.overlaps_previous = overlaps_previous;
        const std::vector<std::uint32_t> input(3 * 64, 1);
        device_array<std::uint32_t> a(where, std::span<const std::uint32_t>(input)),
            b(where, std::span<const std::uint32_t>(input));
        for (int i = 0; i < 3; ++i) {
          const buffers params{i % 2 == 0 ? b.data() : a.data(), i % 2 == 0 ? a.data() : b.data(),
                               static_cast<int>(input.size())};
          where.runs_on().launch(k, {3}, &params, nullptr);
          if (copies_between) a.to_host();
        }
      },
      options);
}

// The missing synchronisation of the first finding of that kind.
std::string missing(const check_report& r, finding_kind kind) {
  const auto at =
      std::find_if(r.findings.begin(), r.findings.end(), [&](const finding& f) { return f.kind == kind; });
  return at == r.findings.end() ? "nothing of the kind in\n" + to_text(r) : missing_text(*at);
}
TEST(cluster_checked, a_barrier_that_is_missing_or_too_small_or_not_waited_for_is_found) {
  for (const char* broken : {"exchange-no-barrier-before-read", "exchange-block-barrier-only",
                             "exchange-write-after-arrival", "exchange-read-before-wait"}) {
    SCOPED_TRACE(broken);
    EXPECT_THAT(missing(check_on(broken, {4}, 2), finding_kind::race),
                HasSubstr("a cluster barrier, or a release and an acquire"));
  }
}
TEST(cluster_checked, a_block_that_ends_while_its_shared_memory_is_read_is_found) {
  const check_report r = check_on("exchange-no-barrier-at-end", {4}, 2);
  ASSERT_FALSE(r.clean());
  for (const finding& f : r.findings) EXPECT_EQ(f.kind, finding_kind::outside_memory) << to_text(r);
}
TEST(cluster_checked, chained_launches_that_wait_are_clean) {
  for (const auto& r : {check_chain("chain-link", true), check_chain("chain-link", false),
                        check_chain("chain-one-thread-waits", true), check_chain("chain-nobody-waits", false),
                        check_chain("chain-nobody-waits", true, true)})
    EXPECT_TRUE(r.clean()) << to_text(r);
}
TEST(cluster_checked, chained_launches_that_do_not_wait_are_found) {
  for (const char* broken : {"chain-nobody-waits", "chain-waits-late"})
    EXPECT_THAT(missing(check_chain(broken, true), finding_kind::race),
                HasSubstr("wait_for_previous_grid: the previous launch may not have ended"));
}
TEST(cluster_checked, blocks_of_no_cluster_do_not_reach_each_other) {
  EXPECT_THAT(to_text(check_on("cluster-exchange", {4}, 1)),
              HasSubstr("the shared memory of block 1 of a cluster of 1"));
}

}  // namespace
}  // namespace antiphase::probe
