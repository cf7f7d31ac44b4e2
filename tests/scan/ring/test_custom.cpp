// SPDX-License-Identifier: Apache-2.0
// Scans with user-defined types and operators: 3 to 32 bytes, without identity, not commutative.
#include <gmock/gmock.h>

#include <antiphase/core/error.hpp>
#include <type_traits>

#include "tests/sanitized.hpp"
#include "tests/scan/kernels.hpp"
#include "tests/scan/support.hpp"

namespace antiphase::scan_test {

// One list per target.
namespace cpu {
std::vector<custom_scan> custom_scans();
}
namespace cuda {
std::vector<custom_scan> custom_scans();
}

namespace {

using testing::AllOf;
using testing::HasSubstr;

struct placement {
  std::size_t in_offset, out_offset;
  bool in_place;
};

template <class T, class Op> void expect_right(const context& where, const custom_scan& call,
                                               const scans::lines& over, scan_kind kind,
                                               const placement& lies) {
  std::vector<T> host;
  for (std::int64_t i = 0; i < over.count() * over.length; ++i) host.push_back(element_at<T>(i));
  const T initial = element_at<T>(123456);
  guarded<T> in(where, host, lies.in_offset), apart(where, host, lies.out_offset);
  guarded<T>& out = lies.in_place ? in : apart;
  call.run(where, in.data(), out.data(), over, kind, &initial);
  where.runs_on().synchronize(nullptr);
  EXPECT_TRUE(out.to_host() == expected_scan(host, over, kind, initial, Op{}))
      << sizeof(T) << " bytes, " << testing::PrintToString(over) << ", kind " << static_cast<int>(kind);
  if (!lies.in_place) {
    EXPECT_TRUE(in.to_host() == host) << "the input was written";
  }
}

class custom_scans : public on_device {
 protected:
  std::vector<custom_scan> calls() const {
#if ANTIPHASE_HAS_CUDA
    return is_cuda() ? cuda::custom_scans() : cpu::custom_scans();
#else
    return cpu::custom_scans();
#endif
  }
  void expect_all_right(const context& where, const scans::lines& over, scan_kind kind,
                        const placement& lies) {
    for (const custom_scan& call : calls()) {
      if (call.type == carried::brackets) expect_right<brackets, concatenated>(where, call, over, kind, lies);
      if (call.type == carried::nullable) expect_right<nullable, last_present>(where, call, over, kind, lies);
      if (call.type == carried::triangle) expect_right<triangle, triangles>(where, call, over, kind, lies);
      if (call.type == carried::step64) expect_right<step64, steps64>(where, call, over, kind, lies);
      if (call.type == carried::matrix) expect_right<matrix, times>(where, call, over, kind, lies);
      ASSERT_FALSE(HasFailure());
    }
  }
};
AP_ON_BOTH_DEVICES(custom_scans);

TEST_P(custom_scans, of_any_length) {
  int turn = 0;
  const std::vector<context> contexts = several();
  for (const std::int64_t length : {0, 1, 2, 511, 512, 513, 2047, 2049, 4097, 5119, 5121, 20011})
    for (const scan_kind kind : {scan_kind::inclusive, scan_kind::exclusive}) {
      const scan_direction direction = turn % 3 == 1 ? scan_direction::reverse : scan_direction::forward;
      expect_all_right(
          contexts[static_cast<std::size_t>(turn) % contexts.size()], {1, length, 1, direction}, kind,
          {static_cast<std::size_t>(turn % 5), static_cast<std::size_t>(turn % 4), turn % 2 == 0});
      ++turn;
    }
  if (is_cuda()) expect_all_right(any(), {1, 3'000'017, 1}, scan_kind::exclusive, {1, 2, false});
  expect_all_right(any(), {1, 3 * 8192 + 5, 1, scan_direction::reverse}, scan_kind::inclusive, {0, 0, true});
}

TEST_P(custom_scans, along_every_axis) {
  for (const scan_kind kind : {scan_kind::inclusive, scan_kind::exclusive})
    for (const scan_direction direction : {scan_direction::forward, scan_direction::reverse}) {
      if (test::sanitized && (kind == scan_kind::exclusive) != (direction == scan_direction::reverse))
        continue;
      expect_all_right(any(), {3, 5200, 1, direction}, kind, {1, 0, false});
      expect_all_right(any(), {2, 600, 3, direction}, kind, {0, 2, true});
      expect_all_right(any(), {40, 1, 5, direction}, kind, {0, 0, false});
    }
}

// A line is read and written once, by TMA where present; totals of 32 bytes would take too long.
TEST_P(custom_scans, move_a_line_once) {
  if (is_cuda()) GTEST_SKIP() << "GPUs do not count";
  const context where = any();
  device_array<matrix> memory(where, std::vector<matrix>(20000, matrix{1, 1, 1, 1}));
  for (const custom_scan& call : calls())
    for (const std::int64_t length : {10, 20000}) {
      const launch_counts counts =
          call.run(where, memory.data(), memory.data(), {1, length, 1}, scan_kind::inclusive, nullptr);
      const bool once = call.type != carried::matrix && length > 10;
      EXPECT_EQ(counts.copies > 0, once) << static_cast<int>(call.type) << ", " << length;
    }
}

// On GPUs of compute capability 8.x threads move the tiles; programs compiled for those alone do so on any
// GPU (test_scan_custom_async).
TEST_P(custom_scans, move_a_line_once_without_bulk_copies) {
  if (is_cuda()) GTEST_SKIP() << "simulated";
  device_limits ampere = simulated_device();
  ampere.major = 8;
  ampere.shared_opt_in = ampere.shared_per_multiprocessor = 99 << 10;
  for (const landing lands : {landing::early, landing::late}) {
    const context where(make_cpu_executor({.seed = 9, .copies = lands, .limits = ampere}));
    expect_all_right(where, {1, 5 * 8192 + 5, 1}, scan_kind::inclusive, {1, 2, false});
    expect_all_right(where, {1, 20011, 1, scan_direction::reverse}, scan_kind::exclusive, {0, 0, true});
    device_array<matrix> memory(where, std::vector<matrix>(20000, matrix{1, 1, 1, 1}));
    for (const custom_scan& call : calls()) {
      const launch_counts counts =
          call.run(where, memory.data(), memory.data(), {1, 20000, 1}, scan_kind::inclusive, nullptr);
      EXPECT_EQ(counts.copies > 0, call.type != carried::matrix) << static_cast<int>(call.type);
    }
  }
}

template <class Error>
std::string refusal(const custom_scan& call, const context& where, void* array, const scans::lines& over) {
  try {
    call.run(where, array, array, over, scan_kind::inclusive, nullptr);
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

TEST_P(custom_scans, say_what_makes_no_sense) {
  const custom_scan call = calls()[0];
  brackets here[1]{};
  EXPECT_THAT(refusal<bad_request>(call, any(), here, {1, -2, 1}),
              AllOf(HasSubstr("length is -2"), HasSubstr("0 or more")));
  EXPECT_THAT(refusal<bad_request>(call, any(), here, {-1, 2, 1}), HasSubstr("outer is -1"));
  EXPECT_THAT(refusal<bad_request>(call, any(), here, {1, 2, -7}), HasSubstr("inner is -7"));
  EXPECT_THAT(refusal<bad_request>(call, any(), nullptr, {1, 2, 1}), HasSubstr("in is a null pointer"));
  EXPECT_THAT(refusal<bad_request>(call, any(), here, {1 << 30, std::int64_t{1} << 30, 8}),
              HasSubstr("2^63"));
  constexpr std::int64_t big = std::int64_t{1} << 40;
  EXPECT_EQ(refusal<bad_request>(call, any(), nullptr, {big, 0, big}), "") << "there is nothing to scan";
  EXPECT_THAT(refusal<bad_request>(call, any(), here, {1, 1, 1, static_cast<scan_direction>(2)}),
              HasSubstr("direction is 2"));
  EXPECT_THAT(refusal<bad_request>(call, any(), reinterpret_cast<char*>(here) + 1, {1, 1, 1}),
              HasSubstr("in is at address"));
  brackets two[2]{};
  try {
    call.run(any(), two, reinterpret_cast<char*>(two) + alignof(brackets), {1, 2, 1}, scan_kind::inclusive,
             nullptr);
    ADD_FAILURE() << "not refused";
  } catch (const bad_request& e) {
    EXPECT_THAT(e.what(), HasSubstr("overlaps it"));
  }
}

#if ANTIPHASE_HAS_CUDA
TEST_P(custom_scans, run_only_where_they_were_compiled_for) {
  const custom_scan other = is_cuda() ? cpu::custom_scans()[0] : cuda::custom_scans()[0];
  brackets here[1]{};
  EXPECT_THAT(refusal<not_supported>(other, any(), here, {1, 1, 1}), HasSubstr("was compiled for"));
}
#endif

}  // namespace
}  // namespace antiphase::scan_test
