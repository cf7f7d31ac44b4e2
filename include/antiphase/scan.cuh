// SPDX-License-Identifier: Apache-2.0
// Scans of arrays of your own types with your own operators: for nvcc, and for g++, which compiles them for
// the CPU executor.
#pragma once
#include <algorithm>
#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/architecture.cuh>
#include <antiphase/executor/scratch.hpp>
#include <antiphase/scan/detail/custom_elements.cuh>
#include <antiphase/scan/detail/device_wide.cuh>
#include <antiphase/scan/detail/ends.cuh>
#include <antiphase/scan/detail/passes.hpp>
#include <antiphase/scan/detail/single_pass.cuh>
#include <antiphase/scan/detail/single_pass.hpp>
#include <antiphase/scan/ladder.hpp>
#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace antiphase {

// The array holds outer x length x inner elements: element i of line (o, j) lies at
// (o * length + i) * inner + j. A scan along axis a of a C-ordered array has outer = the product of the
// extents before a, inner = the product of those after it.
struct array_scan_options {
  std::int64_t outer = 1, inner = 1;
  scan_direction direction = scan_direction::forward;
  antiphase::stream stream = nullptr;
};

inline namespace AP_TARGET {

// Scans arrays of your own type T with your own operator, every line of `length` elements:
//
//   inclusive_scan   out[i] = in[0] . in[1] ... in[i]
//   exclusive_scan   out[i] = initial . in[0] ... in[i - 1]; out[0] = initial
//
//   struct step { double factor, offset; };  // y = factor x + offset
//   struct one_after_the_other {
//     AP_FN step operator()(const step& x, const step& y) const {
//       return {x.factor * y.factor, y.factor * x.offset + y.offset};
//     }
//   };
//   inclusive_scan(where, steps, steps, count, one_after_the_other{});  // in place
//
// Op: a type without state whose call op(x, y) is associative. It need not be commutative: operands stay in
// the order of the scan (a reverse one begins at the end). It needs no identity: it is called on existing
// elements only. For nvcc its call operator is a __device__ function (AP_FN compiles for both compilers); a
// lambda will do if it captures nothing and can be default constructed.
//
// T: trivially copyable, with or without constructors, up to 32 bytes, of any size (3 bytes, say).
//
// Arrays. Memory of `where` (device_array), aligned as T; `in` and `out` may be equal, but not overlap
// otherwise. Results have the same bits in every run. The call returns when all is queued.
//
// Cost. One line of elements of up to 16 bytes is read once (single_pass.cuh), if the device and the compiled
// code have compute capability 8.0 or above; by bulk copies from 9.0 on. Its working memory belongs to the
// executor and the stream, so the first call on a stream, or with a larger array, cannot be captured in a
// graph. Other arrays are read twice (reduce, then scan: three kernels), with working memory in stream order.
//
// Throws bad_request for negative sizes, null or misaligned pointers and other overlaps; not_supported where
// `where` is not what the call was compiled for (nvcc: a GPU, g++: the CPU executor) or where the device
// cannot run the kernels; device_error, out_of_memory among them.
template <scans::scannable T, scans::operator_on<T> Op>
launch_counts inclusive_scan(const context& where, const T* in, T* out, std::int64_t length, Op op,
                             const array_scan_options& options = {});
template <scans::scannable T, scans::operator_on<T> Op>
launch_counts exclusive_scan(const context& where, const T* in, T* out, std::int64_t length, const T& initial,
                             Op op, const array_scan_options& options = {});

// The same with a function before the scan and one after it, in the same pass. Elements of type In become
// before(x), of some type T, when they are loaded; T is scanned with `op`; a result r is stored as after(r),
// of type Out:
//
//   transform_inclusive_scan   out[i] = after(before(in[0]) . before(in[1]) ... before(in[i]))
//   transform_exclusive_scan   out[i] = after(initial . before(in[0]) ... before(in[i - 1])); out[0] =
//                              after(initial)
//
//   // norms[i] = sqrt(bytes[0]^2 + ... + bytes[i]^2)
//   struct squared {
//     AP_FN std::uint64_t operator()(std::uint8_t x) const { return std::uint64_t{x} * x; }
//   };
//   struct root {
//     AP_FN float operator()(std::uint64_t sum) const { return std::sqrt(static_cast<float>(sum)); }
//   };
//   transform_inclusive_scan(where, bytes, norms, count, scans::sum{}, squared{}, root{});
//
// Both functions are types without state, as `op` is, and must return the same for the same x: `before` is
// called up to three times for an element. They are called only on existing elements and on results that are
// stored. In, T and Out: trivially copyable, up to 32 bytes; one pass for up to 16 bytes each. `in` and `out`
// may be the same memory if In and Out have the same size, each aligned as its type.
struct unchanged {
  template <class T> AP_FN constexpr T operator()(const T& x) const { return x; }
};
template <class Before, class In> using scanned_type =
    std::remove_cvref_t<decltype(Before{}(std::declval<const In&>()))>;
template <class F, class In, class Out>
concept function_on = std::is_empty_v<F> && std::is_default_constructible_v<F> && requires(F f, const In& x) {
  { f(x) } -> std::convertible_to<Out>;
};

template <scans::scannable In, scans::scannable Out, class Op, class Before, class After = unchanged>
requires scans::operator_on<Op, scanned_type<Before, In>> &&
    function_on<Before, In, scanned_type<Before, In>> && function_on<After, scanned_type<Before, In>, Out>
        launch_counts transform_inclusive_scan(const context& where, const In* in, Out* out,
                                               std::int64_t length, Op op, Before before, After after = {},
                                               const array_scan_options& options = {});
template <scans::scannable In, scans::scannable Out, class Op, class Before, class After = unchanged>
requires scans::operator_on<Op, scanned_type<Before, In>> &&
    function_on<Before, In, scanned_type<Before, In>> && function_on<After, scanned_type<Before, In>, Out>
        launch_counts transform_exclusive_scan(const context& where, const In* in, Out* out,
                                               std::int64_t length, const scanned_type<Before, In>& initial,
                                               Op op, Before before, After after = {},
                                               const array_scan_options& options = {});

namespace scan_detail {

// Fewer resident blocks for large elements, and for those of odd sizes, which take more registers.
constexpr scans::policy policy_for(std::size_t size) {
  scans::policy p = scans::items_policy;
  if (size > 8 || !std::has_single_bit(size)) p.blocks = size > 16 ? 1 : 2;
  return p;
}

template <class T, class Op, class Ends = scans::as_they_are<T>> scans::kernel_pair kernels() {
  using namespace scans;
  constexpr policy how = policy_for(sizeof(T));
  using block = block_scan_of<T, Op, how>;
  return {kernel_of<tile_totals<T, Op, how, block, Ends>>("scan.own.totals"),
          kernel_of<tile_scan<T, Op, how, block, Ends>>("scan.own"), how.tile(sizeof(T))};
}

template <class T, class In, class Out>
void require_sensible(const context& where, const scans::arguments<T, In, Out>& all) {
  const scans::array_at in{all.in, sizeof(In), alignof(In)}, out{all.out, sizeof(Out), alignof(Out)};
  scans::require_arrays(all.over, in, out);
  if ((where.kind() == target::cuda) != (AP_ON_GPU != 0))
    throw not_supported("this scan was compiled for " +
                        std::string(AP_ON_GPU ? "GPUs, by nvcc" : "the CPU executor, by a host compiler") +
                        ": it cannot run on " + where.limits().name);
}

// One pass: for one line that is longer than a tile of the other way. With totals of more than 16 bytes the
// look-back takes longer than a second reading (docs/design/scan.md).
template <class T, class Ends = scans::as_they_are<T>>
constexpr bool is_for_one_pass = sizeof(T) <= 16 && sizeof(typename Ends::in) <= 16 &&
                                 sizeof(typename Ends::out) <= 16;
using scans::tile_mover;
template <class T, class Op, class Ends, tile_mover M> using ring_elements =
    scans::custom_elements<T, Op, Ends, scans::custom_ring_of(scans::sizes_of<T, Ends>(), M)>;
template <class T, class Op, tile_mover M, class Ends = scans::as_they_are<T>> struct ring_scan
    : scans::single_pass<ring_elements<T, Op, Ends, M>> {
  using all = scans::single_pass<ring_elements<T, Op, Ends, M>>;
  AP_DEV void operator()(const typename all::params& p) const {
    // Copies by threads are never launched where there are bulk copies, so they are not compiled there. The
    // CPU executor simulates both.
    if constexpr (M == tile_mover::copy_engine || !has_bulk_copies || AP_ON_GPU == 0) all::operator()(p);
  }
};
template <class T, class Op, tile_mover M, class Ends = scans::as_they_are<T>> kernel ring_kernel() {
  return kernel_of<ring_scan<T, Op, M, Ends>>(M == tile_mover::copy_engine ? "scan.own.single-pass"
                                                                           : "scan.own.single-pass-async");
}
template <class T, class Op, tile_mover M, class Ends> std::int64_t tiles_of(const scans::lines& over) {
  return ceil_div<std::int64_t>(over.length, ring_scan<T, Op, M, Ends>::tile);
}
// How tiles are copied in a one-pass scan; nothing where the scan cannot run in one pass.
template <class T, class Op, class Ends = scans::as_they_are<T>>
std::optional<tile_mover> mover_for(const context& where, const scans::lines& over) {
  const device_features has = features_of(where.limits());
  if (over.count() != 1 || over.length <= policy_for(sizeof(T)).tile(sizeof(T)) || !has.cp_async)
    return std::nullopt;
  // counted in the smaller of the two kinds of tiles
  if (tiles_of<T, Op, tile_mover::threads, Ends>(over) > std::numeric_limits<int>::max()) return std::nullopt;
  // A static initialized here would have a lock, which stays locked in a child that is forked meanwhile.
  static constinit std::atomic<int> known{0};
  int architecture = known.load(std::memory_order_relaxed);
  if (architecture == 0)
    known = architecture = compiled_for(ring_kernel<T, Op, tile_mover::copy_engine, Ends>());
  if (architecture >= 90 && has.bulk_copies) return tile_mover::copy_engine;
  return architecture >= 80 ? std::optional(tile_mover::threads) : std::nullopt;
}
template <class T, class Op, class Ends, tile_mover M>
launch_counts in_one_pass(const context& where,
                          const scans::arguments<T, typename Ends::in, typename Ends::out>& all, stream on) {
  using namespace scans;
  const executor& runs = where.runs_on();
  const std::int64_t tiles = tiles_of<T, Op, M, Ends>(all.over);
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
  const auto blocks =
      static_cast<unsigned>(std::min<std::int64_t>(tiles, std::max(1, where.limits().multiprocessors)));
  return workspace.work([&] { return runs.launch(ring_kernel<T, Op, M, Ends>(), {blocks, 1, 1}, &p, on); });
}

template <class T, class Op, class Ends>
launch_counts run(const context& where, const scans::arguments<T, typename Ends::in, typename Ends::out>& all,
                  stream on) {
  static_assert(sizeof(T) <= 32 && sizeof(typename Ends::in) <= 32 && sizeof(typename Ends::out) <= 32,
                "elements of up to 32 bytes");
  require_sensible(where, all);
  launch_counts counts;
  if (scans::is_empty(all.over)) return counts;
  if constexpr (is_for_one_pass<T, Ends>)
    if (const std::optional<tile_mover> mover = mover_for<T, Op, Ends>(where, all.over))
      return *mover == tile_mover::threads
                 ? in_one_pass<T, Op, Ends, tile_mover::threads>(where, all, on)
                 : in_one_pass<T, Op, Ends, tile_mover::copy_engine>(where, all, on);
  const scans::kernel_pair of_array = kernels<T, Op, Ends>(), of_totals = kernels<T, Op>();
  const executor& runs = where.runs_on();
  const borrowed workspace(runs, scans::workspace_bytes<T>(of_array.tile, all.over), on);
  for (const scans::launchable& l : scans::passes(of_array, of_totals, all, workspace.memory().data()))
    counts += runs.launch(l.code, l.grid, l.arguments.data(), on);
  return counts;
}

// `initial`: null for an inclusive scan.
template <class T, class Op, class Ends>
launch_counts call(const context& where, const typename Ends::in* in, typename Ends::out* out,
                   std::int64_t length, const T* initial, const array_scan_options& options) {
  return run<T, Op, Ends>(
      where,
      {.in = in,
       .out = out,
       .totals = nullptr,
       .over = {options.outer, length, options.inner, options.direction},
       .kind = initial == nullptr ? scan_kind::inclusive : scan_kind::exclusive,
       .initial = initial == nullptr ? std::bit_cast<T>(std::array<unsigned char, sizeof(T)>{}) : *initial},
      options.stream);
}

}  // namespace scan_detail

template <scans::scannable T, scans::operator_on<T> Op>
launch_counts inclusive_scan(const context& where, const T* in, T* out, std::int64_t length, Op,
                             const array_scan_options& options) {
  return scan_detail::call<T, Op, scans::as_they_are<T>>(where, in, out, length, nullptr, options);
}
template <scans::scannable T, scans::operator_on<T> Op>
launch_counts exclusive_scan(const context& where, const T* in, T* out, std::int64_t length, const T& initial,
                             Op, const array_scan_options& options) {
  return scan_detail::call<T, Op, scans::as_they_are<T>>(where, in, out, length, &initial, options);
}

template <scans::scannable In, scans::scannable Out, class Op, class Before, class After>
requires scans::operator_on<Op, scanned_type<Before, In>> &&
    function_on<Before, In, scanned_type<Before, In>> && function_on<After, scanned_type<Before, In>, Out>
        launch_counts transform_inclusive_scan(const context& where, const In* in, Out* out,
                                               std::int64_t length, Op, Before, After,
                                               const array_scan_options& options) {
  using T = scanned_type<Before, In>;
  return scan_detail::call<T, Op, scans::transformed<In, T, Out, Before, After>>(where, in, out, length,
                                                                                 nullptr, options);
}
template <scans::scannable In, scans::scannable Out, class Op, class Before, class After>
requires scans::operator_on<Op, scanned_type<Before, In>> &&
    function_on<Before, In, scanned_type<Before, In>> && function_on<After, scanned_type<Before, In>, Out>
        launch_counts transform_exclusive_scan(const context& where, const In* in, Out* out,
                                               std::int64_t length, const scanned_type<Before, In>& initial,
                                               Op, Before, After, const array_scan_options& options) {
  using T = scanned_type<Before, In>;
  return scan_detail::call<T, Op, scans::transformed<In, T, Out, Before, After>>(where, in, out, length,
                                                                                 &initial, options);
}

}  // namespace AP_TARGET
}  // namespace antiphase
