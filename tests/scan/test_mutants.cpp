// SPDX-License-Identifier: Apache-2.0
// Scans with one fault give wrong numbers under some schedule; the faultless one under none.
#include <antiphase/scan/detail/single_pass.hpp>

#include "tests/scan/kernels.hpp"
#include "tests/scan/support.hpp"
#include "tests/scan/types.hpp"
#include "tests/support/mutant_runners.hpp"

namespace antiphase::scan_test {

namespace cpu {
std::vector<pass_mutant> mutants();
std::vector<wave_mutant> wave_mutants();
}  // namespace cpu

namespace {

// True if the output is right and nothing outside it was written. The length is not a multiple of a tile.
bool is_right(const pass_mutant& m, unsigned seed) {
  const scans::kernel_pair kernels{m.policy.totals, m.code, m.policy.tile};
  const context where(make_cpu_executor({.seed = seed, .workers = 1}));
  const scans::lines over{1, 5 * kernels.tile + 17, 1};
  std::vector<brackets> host;
  for (std::int64_t i = 0; i < over.length; ++i) host.push_back(element_at<brackets>(i));
  // A mutant goes past the end: that must not end the program.
  guarded<brackets> in(where, host, 0, true),
      out(where, std::vector<brackets>(host.size(), brackets{~0u, ~0u}), 0, true);
  const scans::arguments<brackets> all{.in = in.data(),
                                       .out = out.data(),
                                       .totals = nullptr,
                                       .over = over,
                                       .kind = scan_kind::inclusive,
                                       .initial = {0, 0}};
  run(where, kernels, all);
  return out.guards_intact() &&
         out.to_host() == expected_scan(host, over, scan_kind::inclusive, {0, 0}, concatenated{});
}

// Launches on one workspace with different numbers. All sums must be right.
bool is_right(const wave_mutant& m, unsigned seed) {
  const context where(make_cpu_executor({.seed = seed, .order = schedule::starved, .workers = 1}));
  const std::int64_t tiles = 6, length = (tiles - 1) * m.policy.tile + 17;
  device_array<std::uint64_t> workspace(where, std::vector<std::uint64_t>(scans::control_words + 64));
  bool right = true;
  for (std::uint32_t launch = 1; launch <= 3; ++launch) {
    std::vector<std::uint32_t> host;
    for (std::int64_t i = 0; i < length; ++i)
      host.push_back(static_cast<std::uint32_t>(hash(static_cast<std::uint64_t>(i)) * launch));
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
    right &= out.to_host() == expected_scan(host, {1, length, 1}, scan_kind::inclusive, 0u,
                                            [](auto x, auto y) { return x + y; });
  }
  return right;
}

// No asynchronous copies, so landing does not matter.
template <class Mutant> void expect_found(const std::vector<Mutant>& all, std::size_t size) {
  ASSERT_EQ(all.size(), size);
  EXPECT_EQ(std::ranges::count(all, nullptr, &Mutant::broken), 1);
  for (const Mutant& m : all)
    test::expect_outcomes(m, 8, [&](landing, unsigned seed) { return is_right(m, seed); });
}
TEST(scan_mutants, are_found) { expect_found(cpu::mutants(), 11); }
TEST(scan_mutants, of_one_wave_are_found) { expect_found(cpu::wave_mutants(), 2); }

}  // namespace
}  // namespace antiphase::scan_test
