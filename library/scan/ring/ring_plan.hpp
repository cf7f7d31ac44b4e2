// SPDX-License-Identifier: Apache-2.0
// The compiled kernels of the single-pass scan, and the plan of a request for them.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/scan/detail/launches.hpp>
#include <antiphase/scan/detail/ring_policy.hpp>
#include <antiphase/scan/ladder.hpp>
#include <antiphase/scan/problem.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "library/scan/element_bits.hpp"

namespace antiphase::scans {

struct request;
struct plan;
enum class misfit;

// One kernel, for element types in memory and an operation. Signed integers share the kernels of unsigned
// ones, and maxima those of minima.
struct single_pass_instance {
  std::string_view step;  // of the ladder
  element in, out;
  scan_operation operation;
  lines_kind over;
  kernel code;
};
std::span<const single_pass_instance> single_pass_instances(target where);

// Properties that the host knows without searching the lists, which are checked against them where they are
// compiled. is_listed(): whether the list has elements of that type. For tiles copied by threads, only GPUs
// have all types; the CPU executor and the checker have f32 and u8, which between them take every path that
// TMA does not: all types would double the compilation of the single-pass scan.
constexpr bool is_listed(tile_mover mover, bool on_gpu, element in) {
  return mover == tile_mover::copy_engine || on_gpu || in == element::f32 || in == element::u8;
}
// The ring of a step, for unsigned or floating types.
constexpr ring_policy ring_of(const step& how, element in, element out, scan_operation operation,
                              lines_kind over) {
  if (is_short_ring(how)) return how.ring;
  const ring_policy p = ring_for(size_of(in), size_of(out), !is_floating(in), over, how.ring.mover);
  return operation == scan_operation::product && is_floating(in)
             ? with_values(p, size_of(in), size_of(value_type(in, out, operation)))
             : p;
}
// Bytes that a block publishes per tile: a value; with segments, also a mark.
constexpr std::size_t total_bytes(element value, lines_kind over) {
  return size_of(value) * (over == lines_kind::segments ? 2 : 1);
}

// Columns of the table in choose.hpp.
misfit ring_suits(const step& how, const request& r);
std::string ring_words(misfit why, const step& how, const request& r);
std::size_t ring_workspace(const step& how, const problem& p, const scan_keys* keys);
plan plan_ring(const step& how, const request& r);

}  // namespace antiphase::scans
