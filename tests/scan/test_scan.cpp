// SPDX-License-Identifier: Apache-2.0
// The public scan: every type and operation, every axis, against independently computed sums.
#include <rapidcheck.h>

#include "tests/scan/numbers.hpp"

namespace antiphase::scan_test {
namespace {

constexpr int last_element = static_cast<int>(element::u64);

template <class F> void for_each_element(F f) {
  for (int e = 0; e <= last_element; ++e) with_element(static_cast<element>(e), f);
}
template <class T> std::int64_t tile() { return scans::find_step("items").policy.tile(sizeof(T)); }

class whole_arrays : public on_device {};

TEST_P(whole_arrays, every_type_and_operation) {
  const auto contexts = several();
  std::size_t turn = 0;
  for_each_element([&]<class T>() {
    for (scan_operation operation : operations)
      for (scan_kind kind : kinds)
        for (scan_direction direction : directions)
          for (std::int64_t length : {std::int64_t{1}, std::int64_t{37}, tile<T>() + 3}) {
            ++turn;
            expect_scan_right<T>(
                contexts[turn % contexts.size()],
                {.operation = operation, .kind = kind, .direction = direction, .length = length},
                {.in_offset = turn % 3, .out_offset = turn % 5, .in_place = turn % 4 == 0});
          }
  });
}

TEST_P(whole_arrays, lengths_around_tiles_and_powers_of_two) {
  const context where = any();
  const std::int64_t size = tile<float>();
  for (std::int64_t length :
       {std::int64_t{2}, std::int64_t{3}, std::int64_t{31}, std::int64_t{32}, std::int64_t{33},
        std::int64_t{127}, std::int64_t{129}, std::int64_t{1023}, std::int64_t{1025}, size - 1, size,
        size + 1, 2 * size - 1, 2 * size, 2 * size + 1, 3 * size + 5})
    for (scan_kind kind : kinds) {
      expect_scan_right<float>(where, {.kind = kind, .length = length});
      expect_scan_right<std::int32_t>(
          where, {.kind = kind, .direction = scan_direction::reverse, .length = length}, {.in_place = true});
    }
}

TEST_P(whole_arrays, input_and_output_anywhere) {
  const context where = any();
  for (std::size_t offset = 0; offset <= 17; ++offset) {
    expect_scan_right<std::uint8_t>(where, {.length = 5000},
                                    {.in_offset = offset, .out_offset = 3 * offset % 16});
    expect_scan_right<std::int16_t>(
        where, {.operation = scan_operation::max, .direction = scan_direction::reverse, .length = 4100},
        {.in_offset = offset, .in_place = true});
    expect_scan_right<double>(where, {.kind = scan_kind::exclusive, .length = 2100},
                              {.in_offset = 1, .out_offset = offset});
  }
}

TEST_P(whole_arrays, every_axis) {
  const context where = any();
  for (scan_kind kind : kinds)
    for (scan_direction direction : directions) {
      expect_scan_right<std::int32_t>(
          where, {.kind = kind, .direction = direction, .outer = 3, .length = 50, .inner = 7});
      expect_scan_right<float>(where,
                               {.kind = kind, .direction = direction, .outer = 2, .length = 4097, .inner = 3},
                               {.in_place = true});
      expect_scan_right<std::uint8_t>(
          where, {.kind = kind, .direction = direction, .outer = 5, .length = 4099}, {.out_offset = 1});
      expect_scan_right<std::int64_t>(where, {.operation = scan_operation::min,
                                              .kind = kind,
                                              .direction = direction,
                                              .outer = 300,
                                              .length = 2,
                                              .inner = 2});
      expect_scan_right<std::uint16_t>(
          where, {.kind = kind, .direction = direction, .outer = 100, .length = 1, .inner = 3});
    }
}

TEST_P(whole_arrays, every_step_over_several_levels) {
  const context where = any();
  for (const scans::step& s : scans::steps)
    for (scan_kind kind : scans::is_single_pass(s) ? std::span<const scan_kind>() : std::span(kinds))
      for (std::int64_t length : {std::int64_t{255}, std::int64_t{257}, std::int64_t{66000}}) {
        expect_scan_right<std::int32_t>(where, {.kind = kind, .length = length}, {}, s.name);
        if (length > 1000 && kind == scan_kind::inclusive) continue;
        expect_scan_right<float>(where,
                                 {.kind = kind, .direction = scan_direction::reverse, .length = length},
                                 {.in_place = true}, s.name);
        expect_scan_right<double>(where, {.kind = kind, .length = length}, {.in_offset = 1}, s.name);
        expect_scan_right<std::uint32_t>(where, {.kind = kind, .outer = 2, .length = length, .inner = 2}, {},
                                         s.name);
      }
}

TEST_P(whole_arrays, the_same_bits_in_every_run) {
  std::vector<std::vector<float>> results;
  for (int i = 0; i < 3; ++i)
    for (const context& where : several())
      results.push_back(expect_scan_right<float>(where, {.length = 20011}));
  for (const auto& r : results)
    EXPECT_EQ(std::memcmp(r.data(), results[0].data(), r.size() * sizeof(float)), 0);
}

template <class T> std::vector<T> scanned(const context& where, std::vector<T> host, scans::problem p) {
  guarded<T> array(where, host);
  p.type = element_of<T>;
  p.in = p.out = array.data();
  p.length = static_cast<std::int64_t>(host.size());
  scan(where, p);
  where.runs_on().synchronize(nullptr);
  return array.to_host();
}

template <class T>
void expect_nan_from(const context& where, std::size_t at, std::size_t size, scan_operation operation) {
  auto host = numbers<T>(static_cast<std::int64_t>(size), operation);
  const auto clean = scanned(where, host, {.operation = operation});
  host[at] = std::numeric_limits<T>::quiet_NaN();
  const auto out = scanned(where, host, {.operation = operation});
  for (std::size_t i = 0; i < size; ++i) {
    if (i < at)
      ASSERT_EQ(out[i], clean[i]) << "before the NaN at " << at << ", element " << i;
    else
      ASSERT_TRUE(std::isnan(out[i])) << "from the NaN at " << at << ", element " << i;
  }
  const auto later = scanned(where, host, {.operation = operation, .kind = scan_kind::exclusive});
  for (std::size_t i = 0; i < size; ++i)
    ASSERT_EQ(std::isnan(later[i]), i > at) << "exclusive, NaN at " << at << ", element " << i;
}

TEST_P(whole_arrays, nan_stays_from_the_first_one_on) {
  const context where = any();
  for (scan_operation operation : operations)
    for (std::size_t at : {0u, 1u, 3u, 127u, 128u, 4095u, 4096u, 5000u}) {
      expect_nan_from<float>(where, at, 5001, operation);
      expect_nan_from<double>(where, at, 5001, operation);
    }
}

TEST_P(whole_arrays, infinities) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> host(6000, 1.0f);
  host[100] = infinity;
  host[4500] = -infinity;
  const auto out = scanned(any(), host, {});
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (i < 100)
      ASSERT_EQ(out[i], static_cast<float>(i + 1));
    else if (i < 4500)
      ASSERT_EQ(out[i], infinity);
    else
      ASSERT_TRUE(std::isnan(out[i])) << i;
  }
}

TEST_P(whole_arrays, bytes_wrap_around) {
  const auto out = scanned(any(), std::vector<std::uint8_t>(1000, 3), {});
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], static_cast<std::uint8_t>(3 * (i + 1)));
  const auto product =
      scanned(any(), std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::max(), 2, 3, -5},
              {.operation = scan_operation::product});
  EXPECT_EQ(product, (std::vector<std::int32_t>{2147483647, -2, -6, 30}));
}

TEST_P(whole_arrays, nothing_to_do) {
  const context where = any();
  for (const scans::problem& p : {scans::problem{.length = 0}, scans::problem{.outer = 0, .length = 5},
                                  scans::problem{.length = 5, .inner = 0}}) {
    const launch_counts counts = scan(where, p);
    EXPECT_EQ(counts.switches, 0u);
    EXPECT_TRUE(scans::prepare(where.runs_on(), scans::find_step("items"), p, {}).empty());
    EXPECT_EQ(scans::prepare_tiles(where.kind(), scans::find_step("items"), p).grid.count(), 0u);
  }
}

TEST_P(whole_arrays, random_problems) {
  const auto contexts = several();
  EXPECT_TRUE(rc::check("a scan is right", [&] {
    scans::problem p{
        .operation =
            *rc::gen::elementOf(std::vector<scan_operation>(std::begin(operations), std::end(operations))),
        .kind = *rc::gen::elementOf(std::vector<scan_kind>(std::begin(kinds), std::end(kinds))),
        .direction =
            *rc::gen::elementOf(std::vector<scan_direction>(std::begin(directions), std::end(directions))),
        .outer = *rc::gen::inRange<std::int64_t>(0, 6),
        .length = *rc::gen::inRange<std::int64_t>(0, 9000),
        .inner = *rc::gen::inRange<std::int64_t>(0, 4)};
    const placement lies{.in_offset = *rc::gen::inRange<std::size_t>(0, 65),
                         .out_offset = *rc::gen::inRange<std::size_t>(0, 65),
                         .in_place = *rc::gen::arbitrary<bool>()};
    const auto& where = contexts[*rc::gen::inRange<std::size_t>(0, contexts.size())];
    with_element(static_cast<element>(*rc::gen::inRange(0, last_element + 1)),
                 [&]<class T>() { expect_scan_right<T>(where, p, lies); });
    RC_ASSERT(!testing::Test::HasFailure());
  }));
}

AP_ON_BOTH_DEVICES(whole_arrays);

// More than 2^31 elements, which only a GPU scans in reasonable time.
TEST(scan_of_a_huge_array, Cuda) {
  std::string why;
  if (cuda_devices(&why).empty()) GTEST_SKIP() << "no GPU: " << why;
  const context where = context::on("cuda");
  const std::size_t size = (std::size_t{1} << 32) + 1;
  std::vector<std::uint8_t> host(size);
  for (std::size_t i = 0; i < size; ++i) host[i] = static_cast<std::uint8_t>(i * 7 + (i >> 13));
  device_array<std::uint8_t> array(where, host);
  scan(where, {.type = element::u8,
               .in = array.data(),
               .out = array.data(),
               .length = static_cast<std::int64_t>(size)});
  const auto out = array.to_host();
  std::uint8_t running = 0;
  std::size_t right = 0;
  while (right < size && out[right] == static_cast<std::uint8_t>(running + host[right]))
    running = out[right++];
  EXPECT_EQ(right, size) << "elements are right before the first wrong one";
}

}  // namespace
}  // namespace antiphase::scan_test
