// SPDX-License-Identifier: Apache-2.0
// The compiled kernels of the single-pass scan, and what a request becomes for them.
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

namespace antiphase::scans {

struct request;
struct plan;
enum class misfit;

// One kernel: the element types in memory and the operation, of which signed integers share those of unsigned
// ones, and maxima those of minima.
struct single_pass_instance {
  std::string_view step;  // of the ladder
  element in, out;
  scan_operation operation;
  lines_kind over;
  kernel code;
};
std::span<const single_pass_instance> single_pass_instances(target where);

// What the host knows of such a kernel without looking for it: the lists are checked against it where they
// are compiled. Whether tiles that threads move are compiled for elements of a type. GPUs have them all. The
// CPU executor and the checker have floats and bytes, which between them take every path of the code that is
// not the copy engine's; all types would take as long to compile as a second single-pass.
constexpr bool is_listed(tile_mover mover, bool on_gpu, element in) {
  return mover == tile_mover::copy_engine || on_gpu || in == element::f32 || in == element::u8;
}
// The ring of a step for elements of unsigned or floating types.
constexpr ring_policy ring_of(const step& how, element in, element out, lines_kind over) {
  return is_short_ring(how) ? how.ring
                            : ring_for(size_of(in), size_of(out), !is_floating(in), over, how.ring.mover);
}
// Bytes of what blocks tell each other of a tile: a value, of segments beside a mark.
constexpr std::size_t total_bytes(element value, lines_kind over) {
  return size_of(value) * (over == lines_kind::segments ? 2 : 1);
}

// The columns of the table (choose.hpp).
misfit ring_suits(const step& how, const request& r);
std::string ring_words(misfit why, const step& how, const request& r);
std::size_t ring_workspace(const step& how, const problem& p, const scan_keys* keys);
plan plan_ring(const step& how, const request& r);

}  // namespace antiphase::scans
