// Scans that are wrong in one place give wrong numbers under some schedule; the one that is right under none.
#include "tests/scan/kernels.hpp"
#include "tests/scan/support.hpp"
#include "tests/scan/types.hpp"

namespace antiphase::scan_test {

namespace cpu {
std::vector<mutant> mutants();
}

namespace {

// Whether the output is wrong, or something outside it was written. The length is not a multiple of a tile.
bool wrong(const prefix::kernel_pair& kernels, unsigned seed) {
  const context where(make_cpu_executor({.seed = seed, .workers = 1}));
  const prefix::lines over{1, 5 * kernels.tile + 17, 1};
  std::vector<brackets> host;
  for (std::int64_t i = 0; i < over.length; ++i) host.push_back(element_at<brackets>(i));
  guarded<brackets> in(where, host), out(where, std::vector<brackets>(host.size(), brackets{~0u, ~0u}));
  const prefix::arguments<brackets> all{
      .in = in.data(), .out = out.data(), .totals = nullptr, .over = over, .kind = scan_kind::inclusive, .initial = {0, 0}};
  run(where, kernels, all);
  return !out.guards_intact() || out.to_host() != expected_scan(host, over, scan_kind::inclusive, {0, 0}, concatenated{});
}

int seeds_that_show(const prefix::kernel_pair& kernels) {
  int count = 0;
  for (unsigned seed = 1; seed <= 8; ++seed) count += wrong(kernels, seed);
  return count;
}

TEST(scan_mutants, are_found) {
  const std::vector<mutant> all = cpu::mutants();
  ASSERT_EQ(all.size(), 11u);
  EXPECT_EQ(seeds_that_show(all[0].kernels), 0) << "the scan without a fault";
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GT(seeds_that_show(all[i].kernels), 0) << all[i].fault;
}

}  // namespace
}  // namespace antiphase::scan_test
