// SPDX-License-Identifier: Apache-2.0
// The kernels of scans of custom types, by what users include.
#include <antiphase/scan.cuh>

#include "checker/cases/custom_kernels.hpp"

namespace antiphase::checker_detail {
inline namespace AP_TARGET {

template <class T, class Op> void run_custom(const context& where, const void* in, void* out,
                                             const custom_lines& over, const void* initial) {
  const array_scan_options options{.outer = over.outer, .inner = over.inner, .direction = over.direction};
  const auto* const from = static_cast<const T*>(in);
  auto* const to = static_cast<T*>(out);
  if (initial != nullptr)
    exclusive_scan(where, from, to, over.length, *static_cast<const T*>(initial), Op{}, options);
  else
    inclusive_scan(where, from, to, over.length, Op{}, options);
}

template <class T, class Op> custom_scan custom_scan_of(custom_type type, const char* about) {
  using scans::tile_mover;
  const scans::kernel_pair passes = scan_detail::kernels<T, Op>();
  constexpr const char* in_passes = "scan/custom-passes";
  custom_scan all{type,
                  about,
                  {passes.totals, passes.scan},
                  {in_passes, in_passes},
                  passes.tile,
                  {0, 0},
                  {0, 0},
                  &run_custom<T, Op>};
  if constexpr (scan_detail::is_for_one_pass<T>) {
    all.kernels.push_back(scan_detail::ring_kernel<T, Op, tile_mover::copy_engine>());
    all.kernels.push_back(scan_detail::ring_kernel<T, Op, tile_mover::threads>());
    all.cases.insert(all.cases.end(), {"scan/custom", "scan/custom-async"});
    all.by_tma = {scan_detail::ring_scan<T, Op, tile_mover::copy_engine>::tile,
                  scans::custom_ring_of(scans::same_sizes(sizeof(T))).stages};
    all.by_threads = {scan_detail::ring_scan<T, Op, tile_mover::threads>::tile,
                      scans::custom_ring_of(scans::same_sizes(sizeof(T)), tile_mover::threads).stages};
  }
  return all;
}

std::vector<custom_scan> custom_scans() {
  return {custom_scan_of<nullable, last_present>(custom_type::nullable, "custom type of 3 bytes"),
          custom_scan_of<affine<std::uint32_t>, composed>(custom_type::affine32, "custom type of 8 bytes"),
          custom_scan_of<affine<std::uint64_t>, composed>(custom_type::affine64, "custom type of 16 bytes"),
          custom_scan_of<matrix, times>(custom_type::matrix, "custom type of 32 bytes")};
}

void run_transformed(const context& where, const std::uint8_t* in, std::uint32_t* out,
                     const custom_lines& over, const std::uint64_t* initial) {
  const array_scan_options options{.outer = over.outer, .inner = over.inner, .direction = over.direction};
  if (initial != nullptr)
    transform_exclusive_scan(where, in, out, over.length, *initial, scans::sum{}, squared{}, lower_half{},
                             options);
  else
    transform_inclusive_scan(where, in, out, over.length, scans::sum{}, squared{}, lower_half{}, options);
}
transformed_scan transformed_scans() {
  using scans::tile_mover;
  using T = std::uint64_t;
  using ends = scans::transformed<std::uint8_t, T, std::uint32_t, squared, lower_half>;
  const scans::kernel_pair passes = scan_detail::kernels<T, scans::sum, ends>(),
                           of_totals = scan_detail::kernels<T, scans::sum>();
  const auto ring = [](tile_mover by) {
    return scans::custom_ring_of(scans::sizes_of<T, ends>(), by).stages;
  };
  return {{passes.totals, passes.scan, of_totals.scan,
           scan_detail::ring_kernel<T, scans::sum, tile_mover::copy_engine, ends>(),
           scan_detail::ring_kernel<T, scans::sum, tile_mover::threads, ends>()},
          {"scan/transformed-passes", "scan/transformed-passes", "scan/transformed-passes",
           "scan/transformed", "scan/transformed-async"},
          passes.tile,
          {scan_detail::ring_scan<T, scans::sum, tile_mover::copy_engine, ends>::tile,
           ring(tile_mover::copy_engine)},
          {scan_detail::ring_scan<T, scans::sum, tile_mover::threads, ends>::tile, ring(tile_mover::threads)},
          &run_transformed};
}

}  // namespace AP_TARGET
}  // namespace antiphase::checker_detail
