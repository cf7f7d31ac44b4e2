// Scans that are wrong in one place give wrong numbers under some schedule; the one that is right under none.
#include <antiphase/scan/detail/single_pass.hpp>

#include "tests/scan/kernels.hpp"
#include "tests/scan/support.hpp"
#include "tests/scan/types.hpp"

namespace antiphase::scan_test {

namespace cpu {
std::vector<mutant> mutants();
std::vector<wave_mutant> wave_mutants();
}  // namespace cpu

namespace {

// Whether the output is wrong, or something outside it was written. The length is not a multiple of a tile.
bool wrong(const scans::kernel_pair& kernels, unsigned seed) {
  const context where(make_cpu_executor({.seed = seed, .workers = 1}));
  const scans::lines over{1, 5 * kernels.tile + 17, 1};
  std::vector<brackets> host;
  for (std::int64_t i = 0; i < over.length; ++i) host.push_back(element_at<brackets>(i));
  guarded<brackets> in(where, host), out(where, std::vector<brackets>(host.size(), brackets{~0u, ~0u}));
  const scans::arguments<brackets> all{
      .in = in.data(), .out = out.data(), .totals = nullptr, .over = over, .kind = scan_kind::inclusive, .initial = {0, 0}};
  run(where, kernels, all);
  return !out.guards_intact() || out.to_host() != expected_scan(host, over, scan_kind::inclusive, {0, 0}, concatenated{});
}

// Launches on one workspace, of other numbers each. Their sums have to be right from the first to the last.
bool wrong(const wave_mutant& m, unsigned seed) {
  const context where(make_cpu_executor({.seed = seed, .order = schedule::starved, .workers = 1}));
  const std::int64_t tiles = 6, length = (tiles - 1) * m.tile + 17;
  device_array<std::uint64_t> workspace(where, std::vector<std::uint64_t>(scans::control_words + 64));
  bool any = false;
  for (std::uint32_t launch = 1; launch <= 3; ++launch) {
    std::vector<std::uint32_t> host;
    for (std::int64_t i = 0; i < length; ++i) host.push_back(static_cast<std::uint32_t>(hash(static_cast<std::uint64_t>(i)) * launch));
    guarded<std::uint32_t> in(where, host), out(where, std::vector<std::uint32_t>(host.size(), 85));
    const scans::one_wave_arguments all{.in = in.data(),
                                         .out = out.data(),
                                         .length = length,
                                         .tiles = tiles,
                                         .kind = scan_kind::inclusive,
                                         .direction = scan_direction::forward,
                                         .initial = 0,
                                         .control = workspace.data(),
                                         .states = workspace.data() + scans::control_words,
                                         .state_words = 64};
    where.runs_on().launch(m.code, {static_cast<unsigned>(tiles), 1, 1}, &all, nullptr);
    any |= out.to_host() != expected_scan(host, {1, length, 1}, scan_kind::inclusive, 0u, [](auto x, auto y) { return x + y; });
  }
  return any;
}

template <class Kernels> int seeds_that_show(const Kernels& kernels) {
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

TEST(scan_mutants, of_one_wave_are_found) {
  const std::vector<wave_mutant> all = cpu::wave_mutants();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(seeds_that_show(all[0]), 0) << "the scan without a fault";
  EXPECT_GT(seeds_that_show(all[1]), 0) << all[1].fault;
}

}  // namespace
}  // namespace antiphase::scan_test
