// SPDX-License-Identifier: Apache-2.0
// Runs a mutant on fixed inputs and compares its output.
#include <fmt/format.h>

#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/gemm/problem.hpp>
#include <antiphase/scan/detail/passes.hpp>

#include "examples/bulk_copy.hpp"
#include "tests/channel/ring_kernels.hpp"
#include "tests/checker/mutants/mutant.hpp"
#include "tests/gemm/mutants/kernels.hpp"
#include "tests/scan/types.hpp"

namespace antiphase::mutants {
namespace {

template <class T> std::string shown(const T& x) { return fmt::format("{}", x); }
std::string shown(const scan_test::brackets& x) { return fmt::format("{}:{}", x.closing, x.opening); }

template <class T> std::string compared(const std::vector<T>& out, auto expected) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const T right = expected(static_cast<int>(i));
    if (!(out[i] == right))
      return fmt::format("number {} is {}, expected {}", i, shown(out[i]), shown(right));
  }
  return {};
}
template <class T> std::vector<T> filled(int size, auto value) {
  std::vector<T> all;
  for (int i = 0; i < size; ++i) all.push_back(value(i));
  return all;
}
template <class T> device_array<T> on_device(const context& where, const std::vector<T>& host) {
  return device_array<T>(where, std::span<const T>(host));
}
template <class P>
void launch(const context& where, const kernel& k, int blocks, const P& params, stream on = nullptr) {
  where.runs_on().launch(k, {static_cast<unsigned>(blocks), 1, 1}, &params, on);
}

std::string run_numbers(const context& where, const mutant& m) {
  const int size = size_of(m.policy.blocks, m.policy.numbers_per_thread);
  const std::vector<std::uint32_t> host = filled<std::uint32_t>(size, input);
  auto in = on_device(where, host), flag = on_device(where, std::vector<std::uint32_t>(4));
  auto out = device_array<std::uint32_t>(
      where, static_cast<std::size_t>(size - (m.policy.program == program::output_too_small)));
  numbers p{in.data(), out.data(), flag.data(), size};
  if (m.policy.program == program::host_pointer) p.in = host.data();
  if (m.policy.program == program::input_given_back) {
    const auto gone = std::move(in);
  }
  launch(where, m.code, m.policy.blocks, p);
  where.runs_on().synchronize(nullptr);
  return compared(out.to_host(), m.policy.expected);
}

// The checking executor uses only the address of a stream: any two different ones will do.
stream some_stream(int number) {
  static int streams[2];
  return reinterpret_cast<stream>(&streams[number]);
}
std::string run_streams(const context& where, const mutant& m) {
  const int size = size_of(m.policy.blocks);
  const auto bytes = static_cast<std::size_t>(size) * sizeof(std::uint32_t);
  const auto in = on_device(where, filled<std::uint32_t>(size, [](int i) { return input(i) - 1; }));
  device_array<std::uint32_t> between(where, in.size()), out(where, in.size());
  launch(where, m.code, m.policy.blocks, numbers{in.data(), between.data(), nullptr, size}, some_stream(0));
  if (m.policy.program != program::two_streams_unordered) where.runs_on().synchronize(some_stream(0));
  launch(where, m.code, m.policy.blocks, numbers{between.data(), out.data(), nullptr, size}, some_stream(1));
  std::vector<std::uint32_t> result(in.size());
  if (m.policy.program != program::read_back_unordered) where.runs_on().synchronize(some_stream(1));
  where.runs_on().copy_out(result.data(), out.data(), bytes, some_stream(0));
  where.runs_on().synchronize(nullptr);
  return compared(result, m.policy.expected);
}

std::string run_ring(const context& where, const mutant& m) {
  const auto in =
      on_device(where, filled<std::uint32_t>(test::all_units * test::ring_threads, test::ring_input));
  device_array<std::uint32_t> out(where, test::ring_threads);
  launch(where, m.code, 1, test::ring_params{in.data(), out.data()});
  where.runs_on().synchronize(nullptr);
  return compared(out.to_host(), [](int t) { return test::expected_of_ring(t, test::all_units); });
}

// Five tiles for each of two blocks. The last tile has 35 numbers, three more than whole packets, and ends
// with the allocation.
std::string run_bulk_copy(const context& where, const mutant& m) {
  constexpr int size = 9 * 64 + 35;
  const auto value = [](int i) { return static_cast<float>(i * 7919 % 1'000'003); };
  const auto from = on_device(where, filled<float>(size, value));
  device_array<float> to(where, size);
  launch(where, m.code, m.policy.blocks, examples::bulk_copy_params{from.data(), to.data(), size});
  where.runs_on().synchronize(nullptr);
  return compared(to.to_host(), [&](int i) { return examples::transformed(value(i), i); });
}

// Integers: exact. A is densely packed by rows and B by columns, so that the last element along K ends the
// allocation.
std::string run_product(const context& where, const mutant& m) {
  using gemm_test::mutant_side;
  constexpr int rows = 2 * mutant_side - 1, columns = mutant_side + 2;
  const int k =
      m.policy.program == program::product ? 4 * gemm_test::mutant_tile_k + 3 : 2 * gemm_test::mutant_tile_k;
  const auto a = [=](int i, int j) { return static_cast<float>((i * 31 + j * 17) % 23 - 11); };
  const auto b = [=](int i, int j) { return static_cast<float>((i * 13 + j * 29) % 19 - 9); };
  const auto in_a = on_device(where, filled<float>(rows * k, [&](int i) { return a(i / k, i % k); }));
  const auto in_b = on_device(where, filled<float>(k * columns, [&](int i) { return b(i % k, i / k); }));
  device_array<float> out(where, static_cast<std::size_t>(rows * columns));
  const gemms::problem p{.a = row_major(in_a.data(), rows, k),
                         .b = column_major(in_b.data(), k, columns),
                         .c = row_major(out.data(), rows, columns)};
  launch(where, m.code, ceil_div(rows, mutant_side) * ceil_div(columns, mutant_side), p);
  where.runs_on().synchronize(nullptr);
  return compared(out.to_host(), [&](int at) {
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += a(at / columns, i) * b(i, at % columns);
    return sum;
  });
}

std::string run_scan(const context& where, const mutant& m) {
  using scan_test::brackets;
  const int size = 3 * m.policy.tile + 17;
  const std::vector<brackets> host =
      filled<brackets>(size, [](int i) { return scan_test::element_at<brackets>(i); });
  const auto in = on_device(where, host);
  device_array<brackets> out(where, in.size());
  const scans::arguments<brackets> all{.in = in.data(),
                                       .out = out.data(),
                                       .totals = nullptr,
                                       .over = {1, size, 1},
                                       .kind = scan_kind::inclusive,
                                       .initial = {0, 0}};
  const scans::kernel_pair kernels{m.policy.totals, m.code, m.policy.tile};
  device_array<std::byte> workspace(where, scans::workspace_bytes<brackets>(m.policy.tile, all.over));
  for (const scans::launchable& l : scans::passes(kernels, all, workspace.data()))
    where.runs_on().launch(l.code, l.grid, l.arguments.data(), nullptr);
  where.runs_on().synchronize(nullptr);
  brackets running{0, 0};
  return compared(out.to_host(), [&](int i) {
    return running = scan_test::concatenated{}(running, host[static_cast<std::size_t>(i)]);
  });
}

}  // namespace

std::string run(const context& where, const mutant& m) {
  switch (m.policy.program) {
    case program::numbers:
    case program::host_pointer:
    case program::input_given_back:
    case program::output_too_small: return run_numbers(where, m);
    case program::two_streams:
    case program::two_streams_unordered:
    case program::read_back_unordered: return run_streams(where, m);
    case program::ring: return run_ring(where, m);
    case program::bulk_copy: return run_bulk_copy(where, m);
    case program::product:
    case program::product_of_two_tiles: return run_product(where, m);
    case program::scan: break;
  }
  return run_scan(where, m);
}

}  // namespace antiphase::mutants
