// SPDX-License-Identifier: Apache-2.0
// The single-pass scan of all types, operations and alignments.

#include "tests/scan/any_scan.hpp"

namespace antiphase::scan_test {
namespace {

class single_pass_types : public on_ring_device {
 protected:
  // Does nothing where T has no kernel.
  template <class T>
  std::vector<T> right(const context& where, const scans::problem& p, const placement& lies = {}) const {
    return takes<T>() ? expect_right<T>(where, p, lies, policy()) : std::vector<T>{};
  }
  // Input and output begin at any element offset within 16 bytes, different or the same.
  template <class T> void everywhere(const context& where, std::size_t step) const {
    constexpr std::size_t places = 16 / sizeof(T);
    for (std::size_t i = 0; i < places; i += step)
      right<T>(where,
               {.kind = kinds[i % 2],
                .direction = directions[i / 2 % 2],
                .length = ring_tile<T> + 3 + static_cast<std::int64_t>(i)},
               {.in_offset = i, .out_offset = i % 3 == 0 ? i : (5 * i + 3) % places, .in_place = i % 4 == 2});
  }
  template <class T>
  std::vector<T> scanned(const context& where, const std::vector<T>& host, scans::problem p) const {
    guarded<T> array(where, host);
    p.type = element_of<T>;
    p.in = p.out = array.data();
    p.length = static_cast<std::int64_t>(host.size());
    scan(where, p, {.policy = policy()});
    where.runs_on().synchronize(nullptr);
    return array.to_host();
  }
};
AP_ON_BOTH_DEVICES_BY_BOTH_MOVERS(single_pass_types);

template <class F> void for_every_type(F f) {
  for (int e = 0; e <= static_cast<int>(last_element); ++e) with_stored_element(static_cast<element>(e), f);
}

// Each operation has its own sequence of kinds, directions, lengths and placements; on the CPU one
// combination.
TEST_P(single_pass_types, every_operation) {
  const context where = any();
  std::size_t turn = 0;
  for_every_type([&]<class T>() {
    for (const scan_operation operation : operations)
      for (int i = 0; i < (is_cuda() ? 12 : 1); ++i) {
        ++turn;
        const std::int64_t lengths[] = {ring_tile<T> + 37,    5, 2 * ring_tile<T> - 1, ring_tile<T>, 31,
                                        3 * ring_tile<T> + 8, 1};
        right<T>(where,
                 {.operation = operation,
                  .kind = kinds[turn % 2],
                  .direction = directions[turn / 2 % 2],
                  .length = lengths[turn % 7]},
                 {.in_offset = turn % 5 == 0 ? turn % 17 : 0,
                  .out_offset = turn % 5 < 2 ? turn % 13 : 0,
                  .in_place = turn % 4 == 3});
      }
  });
}

TEST_P(single_pass_types, any_alignment) {
  const context where = any();
  everywhere<std::uint8_t>(where, is_cuda() ? 1 : 3);
  everywhere<std::int16_t>(where, is_cuda() ? 1 : 3);
  everywhere<float>(where, 1);
  everywhere<double>(where, 1);
  // every length around the granularity of bulk copies, including those with nothing to bulk-copy
  for (std::int64_t length = 1; length <= 40; length += is_cuda() ? 1 : 6)
    right<std::uint8_t>(where, {.operation = scan_operation::max, .length = length},
                        {.in_offset = static_cast<std::size_t>(length % 16),
                         .out_offset = static_cast<std::size_t>(3 * length % 16)});
}

// Placement of the arrays changes no bit.
TEST_P(single_pass_types, alignment_changes_no_bit) {
  const context where = any();
  const scans::problem p{.length = 2 * ring_tile<float> + 1001};
  const auto aligned = right<float>(where, p);
  for (std::size_t offset : {1, 2, 3}) EXPECT_EQ(right<float>(where, p, {offset, (offset + 1) % 4}), aligned);
}

// min(0, -0) is the left operand, and NaN wins.
TEST_P(single_pass_types, zeros_and_nan) {
  const context where = any();
  std::vector<float> host(static_cast<std::size_t>(ring_tile<float> + 100), 0.0f);
  host[0] = -0.0f;
  for (const scan_operation operation : {scan_operation::min, scan_operation::max}) {
    const auto out = scanned(where, host, {.operation = operation});
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_TRUE(out[i] == 0 && std::signbit(out[i])) << i;
  }
  const std::size_t at = static_cast<std::size_t>(ring_tile<float>) - 2;
  host[at] = std::nanf("");
  for (const scan_operation operation : operations) {
    const auto out = scanned(where, host, {.operation = operation});
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(std::isnan(out[i]), i >= at) << i;
  }
  if (!takes<f16>()) return;
  std::vector<f16> halves(static_cast<std::size_t>(ring_tile<f16> + 9), to_f16(1));
  halves[7] = to_f16(-std::numeric_limits<float>::infinity());
  halves[4000] = to_f16(std::nanf(""));
  const auto out = scanned(where, halves, {.operation = scan_operation::min});
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i >= 4000)
      ASSERT_TRUE(std::isnan(to_float(out[i]))) << i;
    else
      ASSERT_EQ(to_float(out[i]), i < 7 ? 1 : -std::numeric_limits<float>::infinity()) << i;
  }
}

// Sums of 16-bit floats run in FP32: f16 has no 2049, so it could not add up 4096 ones.
TEST_P(single_pass_types, halves_add_up_in_fp32) {
  if (!takes<f16>()) return;
  const context where = any();
  const auto sums = scanned(where, std::vector<f16>(5000, to_f16(1)), {});
  for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_EQ(sums[i], to_f16(static_cast<float>(i + 1))) << i;
  const auto rough = scanned(where, std::vector<bf16>(5000, to_bf16(1)), {});
  for (std::size_t i = 0; i < rough.size(); ++i) ASSERT_EQ(rough[i], to_bf16(static_cast<float>(i + 1))) << i;
}

}  // namespace
}  // namespace antiphase::scan_test
