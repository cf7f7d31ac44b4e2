// SPDX-License-Identifier: Apache-2.0
// Scans with a user function before and after.
#include <gmock/gmock.h>

#include <algorithm>
#include <antiphase/core/error.hpp>

#include "tests/sanitized.hpp"
#include "tests/scan/ring/transforms.hpp"
#include "tests/scan/support.hpp"

namespace antiphase::scan_test {

// One list per target.
namespace cpu {
std::vector<transform_scan> transform_scans();
}
namespace cuda {
std::vector<transform_scan> transform_scans();
}

namespace {

using testing::HasSubstr;

struct lying {
  std::size_t in_offset, out_offset;
  bool in_place;
};

template <class T> std::vector<unsigned char> raw_bytes(const std::vector<T>& of) {
  std::vector<unsigned char> bytes(of.size() * sizeof(T));
  if (!of.empty()) std::memcpy(bytes.data(), of.data(), bytes.size());
  return bytes;
}

template <class In, class Out>
testing::AssertionResult same_bytes(const std::vector<In>& found, const std::vector<Out>& expected) {
  const std::vector<unsigned char> mine = raw_bytes(found), right = raw_bytes(expected);
  const auto at = std::mismatch(mine.begin(), mine.end(), right.begin(), right.end());
  if (at.first == mine.end() && at.second == right.end()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "they differ from element "
                                     << (at.second - right.begin()) / std::ptrdiff_t{sizeof(Out)} << " on";
}

template <class C> void expect_right(const context& where, const transform_scan& call,
                                     const scans::lines& over, scan_kind kind, const lying& lies) {
  std::vector<typename C::in> host;
  std::vector<typename C::scanned> between;
  for (std::int64_t i = 0; i < over.count() * over.length; ++i) {
    host.push_back(C::element(i));
    between.push_back(typename C::before{}(host.back()));
  }
  const typename C::scanned initial = typename C::before{}(C::element(123456));
  std::vector<typename C::out> expected;
  for (const auto& x : expected_scan(between, over, kind, initial, typename C::op{}))
    expected.push_back(typename C::after{}(x));

  guarded<typename C::in> in(where, host, lies.in_offset);
  const std::string what = std::to_string(static_cast<int>(call.transform)) + ", " +
                           testing::PrintToString(over) + ", kind " + std::to_string(static_cast<int>(kind));
  if (lies.in_place && sizeof(typename C::in) == sizeof(typename C::out)) {
    call.run(where, in.data(), in.data(), over, kind, &initial);
    where.runs_on().synchronize(nullptr);
    EXPECT_TRUE(same_bytes(in.to_host(), expected)) << what;
    return;
  }
  std::vector<typename C::out> wrong = expected;
  if (!wrong.empty()) std::memset(static_cast<void*>(wrong.data()), 0x5B, wrong.size() * sizeof wrong[0]);
  guarded<typename C::out> out(where, wrong, lies.out_offset);
  call.run(where, in.data(), out.data(), over, kind, &initial);
  where.runs_on().synchronize(nullptr);
  EXPECT_TRUE(same_bytes(out.to_host(), expected)) << what;
  EXPECT_TRUE(same_bytes(in.to_host(), host)) << "the input was written";
}

class transformed_scans : public on_device {
 protected:
  std::vector<transform_scan> calls() const {
#if ANTIPHASE_HAS_CUDA
    return is_cuda() ? cuda::transform_scans() : cpu::transform_scans();
#else
    return cpu::transform_scans();
#endif
  }
  void expect_all_right(const context& where, const scans::lines& over, scan_kind kind, const lying& lies) {
    for (const transform_scan& call : calls()) {
      if (call.transform == transform::squares) expect_right<sums_of_squares>(where, call, over, kind, lies);
      if (call.transform == transform::brackets)
        expect_right<depths_of_brackets>(where, call, over, kind, lies);
      if (call.transform == transform::three_bytes)
        expect_right<maps_of_three_bytes>(where, call, over, kind, lies);
      if (call.transform == transform::distances)
        expect_right<largest_of_distances>(where, call, over, kind, lies);
      if (call.transform == transform::matrices)
        expect_right<products_of_matrices>(where, call, over, kind, lies);
      ASSERT_FALSE(HasFailure());
    }
  }
};
AP_ON_BOTH_DEVICES(transformed_scans);

TEST_P(transformed_scans, of_any_length) {
  std::size_t turn = 0;
  const std::vector<context> contexts = several();
  for (const std::int64_t length : {0, 1, 3, 513, 4095, 4097, 9001, 40011}) {
    const scan_kind kind = turn % 2 == 0 ? scan_kind::inclusive : scan_kind::exclusive;
    const scan_direction direction = turn % 3 == 1 ? scan_direction::reverse : scan_direction::forward;
    expect_all_right(contexts[turn % contexts.size()], {1, length, 1, direction}, kind,
                     {turn % 5, turn % 4, turn % 2 == 0});
    ++turn;
  }
  expect_all_right(any(), {1, 3 * 16384 + 5, 1, scan_direction::reverse}, scan_kind::inclusive, {0, 0, true});
  expect_all_right(any(), {1, 3 * 16384 + 5, 1}, scan_kind::exclusive, {0, 0, false});
  if (is_cuda()) expect_all_right(any(), {1, 3'000'017, 1}, scan_kind::exclusive, {1, 2, false});
}

TEST_P(transformed_scans, along_every_axis) {
  for (const scan_kind kind : {scan_kind::inclusive, scan_kind::exclusive}) {
    expect_all_right(any(), {3, 5200, 1, scan_direction::reverse}, kind, {1, 0, false});
    expect_all_right(any(), {2, 600, 3}, kind, {0, 2, true});
  }
}

TEST_P(transformed_scans, move_a_line_once) {
  if (is_cuda()) GTEST_SKIP() << "GPUs do not count";
  const context where = any();
  device_array<matrix> from(where, std::vector<matrix>(20000, matrix{1, 1, 1, 1})),
      to(where, std::vector<matrix>(20000));
  for (const transform_scan& call : calls()) {
    const launch_counts counts =
        call.run(where, from.data(), to.data(), {1, 20000, 1}, scan_kind::inclusive, nullptr);
    EXPECT_EQ(counts.copies > 0, call.transform != transform::matrices) << static_cast<int>(call.transform);
  }
}

TEST_P(transformed_scans, move_a_line_once_without_bulk_copies) {
  if (is_cuda()) GTEST_SKIP() << "simulated";
  device_limits ampere = simulated_device();
  ampere.major = 8;
  ampere.shared_opt_in = ampere.shared_per_multiprocessor = 99 << 10;
  const context where(make_cpu_executor({.seed = 9, .copies = landing::late, .limits = ampere}));
  expect_all_right(where, {1, 40011, 1}, scan_kind::inclusive, {1, 2, false});
  expect_all_right(where, {1, 20011, 1, scan_direction::reverse}, scan_kind::exclusive, {0, 0, true});
}

template <class Call> std::string sentence_of(Call call) {
  try {
    call();
  } catch (const bad_request& e) {
    return e.what();
  }
  return {};
}

// Results differ in size from elements: in-place calls are refused, and each array has its own alignment.
TEST_P(transformed_scans, say_what_makes_no_sense) {
  alignas(16) unsigned char memory[64] = {};
  const transform_scan squares = calls()[0];
  const auto run = [&](const void* in, void* out, std::int64_t length) {
    return sentence_of([&] { squares.run(any(), in, out, {1, length, 1}, scan_kind::inclusive, nullptr); });
  };
  EXPECT_THAT(run(memory, memory, 8), HasSubstr("overlaps it"));
  EXPECT_THAT(run(memory, memory + 9, 2), HasSubstr("out is at address"));
  EXPECT_THAT(run(nullptr, memory, 2), HasSubstr("in is a null pointer: expected 2 bytes"));
  EXPECT_THAT(run(memory, nullptr, 2), HasSubstr("out is a null pointer: expected 8 bytes"));
  EXPECT_THAT(run(memory, memory + 16, -2), HasSubstr("length is -2"));
}

}  // namespace
}  // namespace antiphase::scan_test
