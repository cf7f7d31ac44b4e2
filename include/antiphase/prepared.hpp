// SPDX-License-Identifier: Apache-2.0
// An operand of matrix products that is split once and used often, such as weights.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/core/view.hpp>
#include <cstddef>
#include <memory>
#include <span>

namespace antiphase {

enum class gemm_operand { a, b };

struct prepare_options {
  antiphase::stream stream = nullptr;
  // Device memory, aligned to 256 bytes, at least prepared_size() bytes, not to be touched while calls use
  // it. Empty: allocated here, and freed with the last copy of the operand.
  std::span<std::byte> memory = {};
};

// An operand A (M x K) or B (K x N) that has been split for Tensor Cores once, for use in many calls.
// Policies fp16 and fp16-mma multiply the parts that FP32 elements are split into, and otherwise split both
// operands in every call:
//
//   const matrix_view<const float> w = column_major<const float>(weights, k, n);
//   const prepared_operand b = prepare(where, gemm_operand::b, w, {.stream = stream});
//   gemm(where, {.a = x, .b = w, .c = y}, {.stream = stream, .prepared_b = &b});  // any number of calls
//
// Caveats. Other policies read the operand itself, and so do sums that are computed again: its memory must
// stay allocated, its elements unchanged. A policy gives the same bits with a prepared operand or without.
//
// A handle: cheap to copy, immutable, may be shared by host threads. prepare() and calls queue work on
// streams: a call on another stream than prepare()'s must be ordered after it by the caller, and memory of
// the caller's may be reused after the last call.
class prepared_operand {
 public:
  gemm_operand which() const;
  const matrix_view<const float>& view() const;  // as given to prepare()
  const context& where() const;
  // The parts, in device memory. Empty where no policy uses them: calls then read the operand.
  std::span<std::byte> memory() const;

  // Splits the operand again, into the same memory, after its elements have changed. Calls that use it on
  // other streams must be done. Can be captured into a graph.
  launch_counts renew(stream on) const;

  explicit operator bool() const { return state_ != nullptr; }  // false: it was moved from

 private:
  struct state;
  std::shared_ptr<const state> state_;

  explicit prepared_operand(std::shared_ptr<const state> of) : state_(std::move(of)) {}
  friend prepared_operand prepare(const context& where, gemm_operand which, const matrix_view<const float>& v,
                                  const prepare_options& options);
};

// Splits an operand. Returns when the work has been queued; with options.memory it can be captured into a
// graph. Throws bad_request that names the operand or the memory if it makes no sense, not_supported where it
// has too many rows or columns (about 2^31), out_of_memory.
prepared_operand prepare(const context& where, gemm_operand which, const matrix_view<const float>& v,
                         const prepare_options& options = {});

// Bytes that the parts take: 4 for each element, with K rounded up to 16, and about 40 for each row of A or
// column of B. 0 where no policy uses parts (devices without Tensor Cores) and without elements. Depends on
// the extents of the view only, and never shrinks when they grow. Throws bad_request and not_supported.
std::size_t prepared_size(const context& where, gemm_operand which, const matrix_view<const float>& v);

}  // namespace antiphase
