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
  stream on = nullptr;
  // of the device, aligned to 256, at least prepared_size() bytes, left alone as long as calls use it;
  std::span<std::byte> memory = {};
  // none: allocated, and freed with the last copy of the operand
};

// A, M x K, or B, K x N, of products, in the form in which Tensor Cores take it: policies split and split-mma
// multiply parts of elements, and otherwise split both operands in every call. gemm_options::prepared_a and
// prepared_b hand it to calls, which then neither read nor write for it what the split pass would. Other
// policies read the operand itself, as do sums that are computed again, so its memory must stay, and its
// elements stay the same. Results of a policy are the same bits, prepared or not.
//
// A handle: cheap to copy, immutable, may be shared by host threads. Work of prepare() and of calls is queued
// on streams: a call on another stream than prepare()'s has to be ordered behind it by the caller, and memory
// of the caller's may be reused behind the last call.
class prepared_operand {
 public:
  gemm_operand which() const;
  const matrix_view<const float>& view() const;  // as it was given to prepare()
  const context& where() const;
  // The parts, on the device. Empty where no policy takes any: calls work, and read the operand.
  std::span<std::byte> memory() const;

  // Splits it once more, into the same memory, after elements have changed. Calls that use it on other
  // streams must be done.
  launch_counts renew(stream on) const;

  explicit operator bool() const { return state_ != nullptr; }  // false: it was moved from

 private:
  struct state;
  std::shared_ptr<const state> state_;

  explicit prepared_operand(std::shared_ptr<const state> of) : state_(std::move(of)) {}
  friend prepared_operand prepare(const context& where, gemm_operand which, const matrix_view<const float>& v,
                                  const prepare_options& options);
};

// Returns when the work has been queued; with memory of the caller's it may be captured into a graph, as
// renew() may. Throws bad_request that names the operand, or the memory, if it makes no sense.
prepared_operand prepare(const context& where, gemm_operand which, const matrix_view<const float>& v,
                         const prepare_options& options = {});

// Bytes that the parts take: 4 for each element, K rounded up to 16, and about 40 for each row of A or column
// of B. 0 where no policy takes parts: on devices without Tensor Cores, or without elements. It never shrinks
// when extents grow. Only the extents of the view count.
std::size_t prepared_size(const context& where, gemm_operand which, const matrix_view<const float>& v);

}  // namespace antiphase
