// SPDX-License-Identifier: Apache-2.0
// Linear layers in 16 bits, Y = f(X W^T + bias) + residual, whose bits never depend on the batch.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/core/element.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/gemm/epilogue.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

// A matrix of 16-bit numbers in device memory; strides are in elements. Element (i, k) of member b:
// data[i * row_stride + k * k_stride + b * member_stride].
struct linear_operand {
  const void* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t k_stride = 1;
  std::int64_t member_stride = 0;  // 0: the same matrix for all members
};

// Rows of m x n numbers, contiguous along n.
template <class Data> struct linear_rows {
  Data* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t member_stride = 0;
};

//   X          m x k, each row of which is a token
//   W          n x k, as torch.nn.Linear keeps it; k_stride and row_stride exchanged: k x n
//   Y          m x n
//   members    a batch of products; or groups of rows, if there are group_ends
struct linear_problem {
  element in = element::bf16;   // of X and W: f16 or bf16
  element out = element::bf16;  // of Y, bias and residual: f16, bf16 or f32
  linear_operand x = {}, w = {};
  linear_rows<void> y = {};
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t members = 1;
  gemms::activation function = gemms::activation::none;  // no gradient
  const void* bias = nullptr;                            // n numbers; null: none
  std::int64_t bias_member_stride = 0;
  linear_rows<const void> residual = {};  // null: none. Y itself, or apart from it
  // Groups of rows, as of experts: group g is the rows from group_ends[g - 1] (0 for the first) up to
  // group_ends[g] of X and Y, and takes member g of W and of bias. Device memory, `members` numbers that rise
  // to m; rows after the last group are not written. Null: every member has m rows of its own.
  const std::int32_t* group_ends = nullptr;
};

struct linear_options {
  // auto: the kernel with the least predicted time. Or a kernel by its name, as linear_kernels() has them:
  // the bits are the same.
  std::string_view kernel = "auto";
  antiphase::stream stream = nullptr;
  // W is complete: no kernel of the stream that may still run writes it. The kernel then reads it while the
  // one before ends, where that is faster: as long as one tile has all rows (of a group: in the mean).
  // Otherwise it is launched as early, and waits for that end before it reads anything.
  bool overlap = false;
};

// Computes Y:
//
//   linear(where, {.x = {x, k}, .w = {w, k}, .y = {y, n}, .m = m, .n = n, .k = k, .bias = bias});
//
// A row of Y depends on its row of X, on W, bias and residual, and on nothing else, bit for bit: not on m,
// the row's place, the other rows (be they NaN), the member, the strides, the kernel or the stream. The sum
// is FP32, over steps of 16 k in the order of k, the last one filled with zeros; within a step the Tensor
// Core adds as docs/design/executor.md says. It is the same on all GPUs of one architecture, but not on those
// of another (8.x, 9.0). Then, in FP32: bias is added, f applied, the residual added; Y is rounded once.
//
// Compute capability 9.0 has kernels for operands contiguous along k, with rows at multiples of 16 bytes;
// anything else takes a slower one, of the same bits, as do 8.x. The CPU executor runs all.
//
// The call returns when all is queued; it may be captured into a CUDA graph. Throws
//   bad_request     an argument makes no sense (types, extents, strides, null or misaligned pointers,
//                   overlap, an unknown kernel); names the first one
//   not_supported   the kernel does not take the problem or the device; says why
//   device_error    a CUDA call or a launch failed; names it
// Nothing has been launched after the first two.
launch_counts linear(const context& where, const linear_problem& p, const linear_options& options = {});

// The kernel that linear() would run.
struct linear_choice {
  std::string kernel;  // as linear_options name it
  std::uint64_t blocks = 0;
  double predicted = 0;  // seconds; 0: unknown
};
linear_choice explain(const context& where, const linear_problem& p, const linear_options& options = {});
// The names that linear_options::kernel takes for operands of this type.
std::vector<std::string> linear_kernels(const context& where, element in);

}  // namespace antiphase
