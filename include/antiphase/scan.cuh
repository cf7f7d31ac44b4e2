// SPDX-License-Identifier: Apache-2.0
// Scans of arrays of your own types with your own operators: for nvcc, and for g++, which compiles them for the CPU executor.
#pragma once
#include <algorithm>
#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/architecture.cuh>
#include <antiphase/executor/scratch.hpp>
#include <antiphase/scan/detail/custom_elements.cuh>
#include <antiphase/scan/detail/device_wide.cuh>
#include <antiphase/scan/detail/passes.hpp>
#include <antiphase/scan/detail/single_pass.cuh>
#include <antiphase/scan/detail/single_pass.hpp>
#include <antiphase/scan/ladder.hpp>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

namespace antiphase {

// outer x `length` x inner elements: element i of the scan (o, j) lies at (o * length + i) * inner + j.
struct array_scan_options {
  std::int64_t outer = 1, inner = 1;
  scan_direction direction = scan_direction::forward;
  stream on = nullptr;
};

inline namespace AP_TARGET {

// What an array may be scanned with: a type without values of its own, whose call op(x, y) is associative. It need not be commutative:
// operands stay in the order of the scan (a reverse one begins at the end). It need not have an identity: it is called for elements that
// are there only. For nvcc its call is a __device__ function (AP_FN compiles for both); a lambda is one too if it captures nothing and can
// be default constructed.
//
//   inclusive_scan   out[i] = in[0] . in[1] ... in[i]
//   exclusive_scan   out[i] = initial . in[0] ... in[i - 1]; out[0] = initial
//
// of every line of `length` elements. T: trivially copyable, with or without constructors, up to 32 bytes, such as structs of 3 bytes. The
// arrays are memory of `where` (device_array), aligned as T is; `in` and `out` may be the same, but not overlap otherwise. Results are the
// same bits in every run. One line of elements of up to 16 bytes, on a device of compute capability 8.0 or above, which the program must be
// compiled for, is read once (single_pass.cuh; by bulk copies if that is 9.0 or above); its working memory belongs to the executor and the
// stream, so that the first call with a stream, or with a larger array, cannot be captured in a graph. Other arrays are read twice ("reduce
// then scan", in three kernels), with working memory that is allocated and given back in the order of the stream. The call returns when all
// is queued.
//
// Throws bad_request for sizes below 0, null and misaligned pointers and arrays that overlap otherwise, not_supported where `where` is not
// what the call was compiled for (nvcc: a GPU, g++: the CPU executor), or where the device cannot run the kernels.
template <scans::scannable T, scans::operator_on<T> Op>
launch_counts inclusive_scan(const context& where, const T* in, T* out, std::int64_t length, Op op, const array_scan_options& options = {});
template <scans::scannable T, scans::operator_on<T> Op> launch_counts exclusive_scan(const context& where, const T* in, T* out,
                                                                                     std::int64_t length, const T& initial, Op op,
                                                                                     const array_scan_options& options = {});

namespace scan_detail {

// Large elements and those that share registers with others take more of them.
constexpr scans::policy policy_for(std::size_t size) {
  scans::policy p = scans::items_policy;
  if (size > 8 || !std::has_single_bit(size)) p.blocks = size > 16 ? 1 : 2;
  return p;
}

template <class T, class Op> scans::kernel_pair kernels() {
  using namespace scans;
  constexpr policy how = policy_for(sizeof(T));
  return {kernel_of<tile_totals<T, Op, how>>("scan.own.totals"), kernel_of<tile_scan<T, Op, how>>("scan.own"), how.tile(sizeof(T))};
}

template <class T> void require_sensible(const context& where, const scans::arguments<T>& all) {
  scans::require_arrays(all.over, all.in, all.out, sizeof(T), alignof(T));
  if ((where.kind() == target::cuda) != (AP_ON_GPU != 0))
    throw not_supported("this scan was compiled for " + std::string(AP_ON_GPU ? "GPUs, by nvcc" : "the CPU executor, by a host compiler") +
                        ": it cannot run on " + where.limits().name);
}

// In one pass: one line, of more than a block of the other way scans at once. Totals of more than 16 bytes take longer to look for than a
// second reading (docs/design/scan.md).
template <class T> constexpr bool is_for_one_pass = sizeof(T) <= 16;
using scans::tile_mover;
template <class T, class Op, tile_mover M> struct ring_scan
    : scans::single_pass<scans::custom_elements<T, Op, scans::custom_ring_of(sizeof(T), M)>> {
  using all = scans::single_pass<scans::custom_elements<T, Op, scans::custom_ring_of(sizeof(T), M)>>;
  AP_DEV void operator()(const typename all::params& p) const {
    // Nobody calls it by threads where there are bulk copies, so it is not compiled there; the CPU executor simulates both.
    if constexpr (M == tile_mover::copy_engine || !has_bulk_copies || AP_ON_GPU == 0) all::operator()(p);
  }
};
template <class T, class Op, tile_mover M> kernel ring_kernel() {
  return kernel_of<ring_scan<T, Op, M>>(M == tile_mover::copy_engine ? "scan.own.single-pass" : "scan.own.single-pass-async");
}
template <class T, class Op, tile_mover M> std::int64_t tiles_of(const scans::lines& over) {
  return ceil_div<std::int64_t>(over.length, ring_scan<T, Op, M>::tile);
}
// Who moves the tiles of a scan in one pass; nothing where there is none.
template <class T, class Op> std::optional<tile_mover> mover_for(const context& where, const scans::lines& over) {
  const device_features has = features_of(where.limits());
  if (over.count() != 1 || over.length <= policy_for(sizeof(T)).tile(sizeof(T)) || !has.cp_async) return std::nullopt;
  if (tiles_of<T, Op, tile_mover::threads>(over) > std::numeric_limits<int>::max()) return std::nullopt;  // which are the smaller ones
  static const int architecture = compiled_for(ring_kernel<T, Op, tile_mover::copy_engine>());
  if (architecture >= 90 && has.bulk_copies) return tile_mover::copy_engine;
  return architecture >= 80 ? std::optional(tile_mover::threads) : std::nullopt;
}
template <class T, class Op, tile_mover M> launch_counts in_one_pass(const context& where, const scans::arguments<T>& all, stream on) {
  using namespace scans;
  const executor& runs = where.runs_on();
  const std::int64_t tiles = tiles_of<T, Op, M>(all.over);
  const scratch_in_use workspace(runs, single_pass_bytes(sizeof(T), static_cast<std::uint64_t>(tiles)), on);
  const tile_words words = words_in(workspace.memory());
  custom_arguments<T> p{{}, all.initial};
  p.in = all.in;
  p.out = all.out;
  p.length = all.over.length;
  p.tiles = static_cast<std::uint32_t>(tiles);
  p.kind = all.kind;
  p.direction = all.over.direction;
  p.control = words.control;
  p.states = words.states;
  p.state_words = words.state_words;
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(tiles, std::max(1, where.limits().multiprocessors)));
  return workspace.work([&] { return runs.launch(ring_kernel<T, Op, M>(), {blocks, 1, 1}, &p, on); });
}

template <class T, class Op> launch_counts run(const context& where, const scans::arguments<T>& all, stream on) {
  static_assert(sizeof(T) <= 32, "elements of up to 32 bytes");
  require_sensible(where, all);
  launch_counts counts;
  if (scans::is_empty(all.over)) return counts;
  if constexpr (is_for_one_pass<T>)
    if (const std::optional<tile_mover> mover = mover_for<T, Op>(where, all.over))
      return *mover == tile_mover::threads ? in_one_pass<T, Op, tile_mover::threads>(where, all, on)
                                           : in_one_pass<T, Op, tile_mover::copy_engine>(where, all, on);
  const scans::kernel_pair by = kernels<T, Op>();
  const executor& runs = where.runs_on();
  const borrowed workspace(runs, scans::workspace_bytes<T>(by.tile, all.over), on);
  for (const scans::launchable& l : scans::passes(by, all, workspace.memory().data()))
    counts += runs.launch(l.code, l.grid, l.arguments.data(), on);
  return counts;
}

}  // namespace scan_detail

template <scans::scannable T, scans::operator_on<T> Op>
launch_counts inclusive_scan(const context& where, const T* in, T* out, std::int64_t length, Op, const array_scan_options& options) {
  return scan_detail::run<T, Op>(where,
                                 {.in = in,
                                  .out = out,
                                  .totals = nullptr,
                                  .over = {options.outer, length, options.inner, options.direction},
                                  .kind = scan_kind::inclusive,
                                  .initial = std::bit_cast<T>(std::array<unsigned char, sizeof(T)>{})},  // which nothing depends on
                                 options.on);
}
template <scans::scannable T, scans::operator_on<T> Op> launch_counts exclusive_scan(const context& where, const T* in, T* out,
                                                                                     std::int64_t length, const T& initial, Op,
                                                                                     const array_scan_options& options) {
  return scan_detail::run<T, Op>(where,
                                 {.in = in,
                                  .out = out,
                                  .totals = nullptr,
                                  .over = {options.outer, length, options.inner, options.direction},
                                  .kind = scan_kind::exclusive,
                                  .initial = initial},
                                 options.on);
}

}  // namespace AP_TARGET
}  // namespace antiphase
