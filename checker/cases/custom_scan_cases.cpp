// SPDX-License-Identifier: Apache-2.0
// Cases of scan.cuh: custom types and operators, in one pass by either mover, and in several.
#include <antiphase/executor/published.hpp>

#include "checker/cases/cases.hpp"
#include "checker/cases/custom_kernels.hpp"

namespace antiphase::checker_detail {
namespace {

template <class T> T element_at(std::uint64_t i);
template <> nullable element_at(std::uint64_t i) {
  return {static_cast<unsigned char>(i), static_cast<unsigned char>(i >> 8),
          static_cast<unsigned char>(random_bits(1, i) % 7 == 0)};
}
template <> affine<std::uint32_t> element_at(std::uint64_t i) {
  return {static_cast<std::uint32_t>(random_bits(2, i)) | 1, static_cast<std::uint32_t>(random_bits(3, i))};
}
template <> affine<std::uint64_t> element_at(std::uint64_t i) {
  return {random_bits(4, i) | 1, random_bits(5, i)};
}
template <> matrix element_at(std::uint64_t i) {
  return {random_bits(6, i), random_bits(7, i) | 1, random_bits(8, i), i};
}

template <class T, class Op>
void scan_lines(const context& where, const custom_scan& s, const custom_lines& over, bool exclusive) {
  const auto count = static_cast<std::size_t>(over.outer * over.length * over.inner);
  constexpr std::size_t guard = 1;  // so that arrays begin where no packet does
  std::vector<T> expected;
  for (std::size_t i = 0; i < guard + count; ++i) expected.push_back(element_at<T>(i));
  const device_array<T> in(where, std::span<const T>(expected));
  device_array<T> out(where, std::span<const T>(expected));
  const T initial = element_at<T>(~std::uint64_t{0});
  s.run(where, in.data() + guard, out.data() + guard, over, exclusive ? &initial : nullptr);
  where.runs_on().synchronize(nullptr);
  const std::vector<T> result = out.to_host();
  for (std::int64_t line = 0; line < over.outer * over.inner; ++line)
    for (std::int64_t i = 0, before = 0; i < over.length; ++i) {
      const auto at_of = [&](std::int64_t n) {
        const std::int64_t along = over.direction == scan_direction::forward ? n : over.length - 1 - n;
        return guard + static_cast<std::size_t>((line / over.inner * over.length + along) * over.inner +
                                                line % over.inner);
      };
      const std::size_t at = at_of(i);
      if (exclusive)
        expected[at] =
            i == 0 ? initial : Op{}(expected[static_cast<std::size_t>(before)], element_at<T>(at_of(i - 1)));
      else
        expected[at] =
            i == 0 ? element_at<T>(at) : Op{}(expected[static_cast<std::size_t>(before)], element_at<T>(at));
      before = static_cast<std::int64_t>(at);
    }
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!(result[i] == expected[i]))
      throw std::runtime_error(fmt::format("{}: element {} is wrong", s.about, i));
}
template <class F> void with_custom_type(custom_type type, F f) {
  switch (type) {
    case custom_type::nullable: return f.template operator()<nullable, last_present>();
    case custom_type::affine32: return f.template operator()<affine<std::uint32_t>, composed>();
    case custom_type::affine64: return f.template operator()<affine<std::uint64_t>, composed>();
    case custom_type::matrix: break;
  }
  f.template operator()<matrix, times>();
}

template <class F> void with_each_ring(const context& where, F f) {
  for (const custom_scan& s : checked::custom_scans()) {
    const auto ring = features_of(where.limits()).sm_90a ? s.by_tma : s.by_threads;
    if (ring.tile != 0)
      with_custom_type(s.type,
                       [&]<class T, class Op>() { f.template operator()<T, Op>(s, ring.tile, ring.stages); });
  }
}
// One line, of which two blocks take several tiles each.
void in_one_pass(const context& where) {
  with_each_ring(where, [&]<class T, class Op>(const custom_scan& s, std::int64_t tile, std::int64_t) {
    scan_lines<T, Op>(where, s, {1, 5 * tile, 1, scan_direction::forward}, false);
    scan_lines<T, Op>(where, s, {1, 2 * tile, 1, scan_direction::reverse}, true);
  });
}
// The last tile is not full. What lies after its elements in its slot is read too, and dropped: once the
// ring of the only block has been around, it is what an earlier tile has left. Where no thread has written it
// (short arrays, and reverse scans, which begin with that tile) the checker reports it.
void with_a_part_of_a_tile(const context& where) {
  with_each_ring(where, [&]<class T, class Op>(const custom_scan& s, std::int64_t tile, std::int64_t stages) {
    for (const bool exclusive : {false, true})
      scan_lines<T, Op>(where, s, {1, stages * tile + (exclusive ? 3 : 37), 1, scan_direction::forward},
                        exclusive);
  });
}
// Lines of several tiles, by rows and by columns.
void in_passes(const context& where) {
  for (const custom_scan& s : checked::custom_scans())
    with_custom_type(s.type, [&]<class T, class Op>() {
      scan_lines<T, Op>(where, s, {2, 2 * s.pass_tile + 37, 1, scan_direction::forward}, true);
      scan_lines<T, Op>(where, s, {1, s.pass_tile + 5, 3, scan_direction::reverse}, false);
    });
}

// A scan with a function before and one after
// -------------------------------------------------------------------------------------------------
void scan_transformed(const context& where, const custom_lines& over, bool exclusive) {
  const auto count = static_cast<std::size_t>(over.outer * over.length * over.inner);
  constexpr std::size_t guard = 3;
  std::vector<std::uint8_t> from;
  std::vector<std::uint32_t> expected;
  for (std::size_t i = 0; i < guard + count; ++i) {
    from.push_back(static_cast<std::uint8_t>(random_bits(9, i)));
    expected.push_back(static_cast<std::uint32_t>(random_bits(10, i)));
  }
  const device_array<std::uint8_t> in(where, std::span<const std::uint8_t>(from));
  device_array<std::uint32_t> out(where, std::span<const std::uint32_t>(expected));
  const std::uint64_t initial = 12345;
  checked::transformed_scans().run(where, in.data() + guard, out.data() + guard, over,
                                   exclusive ? &initial : nullptr);
  where.runs_on().synchronize(nullptr);
  const std::vector<std::uint32_t> result = out.to_host();
  for (std::int64_t line = 0; line < over.outer * over.inner; ++line) {
    std::uint64_t sum = exclusive ? initial : 0;
    for (std::int64_t i = 0; i < over.length; ++i) {
      const std::int64_t along = over.direction == scan_direction::forward ? i : over.length - 1 - i;
      const std::size_t at =
          guard + static_cast<std::size_t>((line / over.inner * over.length + along) * over.inner +
                                           line % over.inner);
      const std::uint64_t with = sum + squared{}(from[at]);
      expected[at] = lower_half{}(exclusive ? sum : with);
      sum = with;
    }
  }
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (result[i] != expected[i])
      throw std::runtime_error(fmt::format("transformed scan: element {} is wrong", i));
}
void transformed_in_one_pass(const context& where) {
  const transformed_scan all = checked::transformed_scans();
  const auto ring = features_of(where.limits()).sm_90a
                        ? all.by_tma
                        : decltype(all.by_tma){all.by_threads.tile, all.by_threads.stages};
  scan_transformed(where, {1, 3 * ring.tile + 37, 1, scan_direction::forward}, false);
  scan_transformed(where, {1, ring.tile + 5, 1, scan_direction::reverse}, true);
}
void transformed_in_passes(const context& where) {
  const int tile = checked::transformed_scans().pass_tile;
  scan_transformed(where, {2, 2 * tile + 37, 1, scan_direction::forward}, true);
  scan_transformed(where, {1, tile + 5, 3, scan_direction::reverse}, false);
}

}  // namespace

std::vector<checked_case> custom_scan_cases() {
  const device_limits& ampere = published_device("8.0");
  device_limits one_block = simulated_device(), one_block_of_ampere = ampere;
  one_block.multiprocessors = one_block_of_ampere.multiprocessors = 1;
  return {{"scan/custom", "scan.cuh in one pass, tiles by bulk copies: custom types of 3, 8 and 16 bytes",
           in_one_pass},
          {"scan/custom-tail", "the same, the last tile not full", with_a_part_of_a_tile, one_block},
          {"scan/custom-async", "scan.cuh in one pass, tiles by cp.async", in_one_pass, ampere},
          {"scan/custom-async-tail", "the same, the last tile not full", with_a_part_of_a_tile,
           one_block_of_ampere},
          {"scan/custom-passes", "scan.cuh in several passes: custom types of up to 32 bytes", in_passes},
          {"scan/transformed", "scan.cuh in one pass with a function before and one after",
           transformed_in_one_pass},
          {"scan/transformed-async", "the same, tiles by cp.async", transformed_in_one_pass, ampere},
          {"scan/transformed-passes", "the same in several passes", transformed_in_passes}};
}

}  // namespace antiphase::checker_detail
