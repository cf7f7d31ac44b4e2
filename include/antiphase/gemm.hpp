// SPDX-License-Identifier: Apache-2.0
// Matrix products: C = alpha * A * B + beta * C in FP32.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/bound.hpp>
#include <antiphase/gemm/epilogue.hpp>
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/gemm/problem.hpp>
#include <antiphase/gemm/tuning.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

// What is multiplied: {.a, .b, .c, .alpha = 1, .beta = 0}, three views of matrices and two factors.
using gemm_problem = gemms::problem;
// {.count, .a_stride, .b_stride, .c_stride}, or {.count, .a, .b, .c}: many of them.
using gemm_batch = gemms::batch;
// {.function, .scale, .row_bias, .column_bias, .residual, ...}: what is done with results before they are
// stored.
using gemm_epilogue = gemms::epilogue;
using gemms::activation;
// What was measured of policies on a device, by which auto corrects its predictions.
using gemm_tuning = gemms::tuning;

// What an output may be off by: bound_of() says it in numbers, docs/accuracy.md what it rests on.
enum class precision {
  // |C - AB| <= (80 + K / 59) u |A||B| + 2^-150 for every finite input, u = 2^-24, by Tensor Cores where
  // there are any that do; on
  fp32,
  // compute capability 8.x, whose Tensor Cores cut off more, 121 + K / 55. Where a device can do
  // neither: gemm_options::if_weaker
  // IEEE FP32 multiply-adds in the order of k, for small C in a few slices of it: K u |A||B| + K 2^-150
  strict,
};
// What the precision stands for on that device, for products with that K.
gemm_bound bound_of(precision asked, const device_limits& device, std::int64_t k);
// 149.42 u |A||B| + 2^-150
std::string to_text(const gemm_bound& bound);

// What to do if all that the device can run, or the policy that was asked for, has a weaker bound than the
// precision stands for.
enum class weaker_bound { take, refuse };

// On what the bits of an output may depend, besides its row of A, its column of B, K and the device.
enum class reproducibility {
  // on M, N and the number of members of a batch too, and on the tuning, which decide what runs
  by_shape,
  // on nothing else. Sums take one path through k, in FP64: policies stream and short. Slower where the shape
  // would have
  batch_invariant,
  // other policies, or K divided among blocks (docs/accuracy.md); not_supported on devices
  // without fast FP64
};

struct gemm_choice;
class prepared_operand;

struct gemm_options {
  precision accuracy = precision::fp32;
  // auto: what is predicted to be fastest for the shape on the device, of those that keep the accuracy.
  std::string_view policy = "auto";
  // short, stream, dots, narrow, split, split-mma or a ladder step: that
  // one
  gemm_batch batch = {};
  gemm_epilogue epilogue = {};
  stream on = nullptr;
  // of the device, aligned to 256, at least gemm_workspace() bytes, left alone until the work is
  std::span<std::byte> workspace = {};
  // done; none: memory is allocated in the order of the stream
  // of the device: the number of outputs whose sum was computed again, in FP64, is added to it
  std::uint64_t* recomputed = nullptr;
  reproducibility reproducible = reproducibility::by_shape;
  // gemm_choice tells which bound holds. refuse: not_supported is thrown, with both bounds
  weaker_bound if_weaker = weaker_bound::take;
  // of the host: where gemm() writes what it runs, as explain() tells it
  gemm_choice* ran = nullptr;
  // of the host: corrects predictions, so decides what auto takes. One of another device
  const gemm_tuning* tuning = nullptr;
  // is left aside. null: that of ANTIPHASE_TUNING, else the
  // library's: tuning_for()
  // of the host (prepared.hpp): the problem's A, or B, that prepare() has split before.
  const prepared_operand* prepared_a = nullptr;
  // All members of a batch have it. auto takes what is predicted to be fastest with them
  const prepared_operand* prepared_b = nullptr;
};

// C = alpha * A * B + beta * C with A of M x K, B of K x N, C of M x N; any strides, negative ones too, so
// that every combination of row- and column-major works and transposed(v) costs nothing. The memory must be
// reachable from `where` (device_array); the call returns when the work has been queued. It may be captured
// into a graph.
//
// alpha = 0 leaves A and B unread, beta = 0 (or -0) leaves C unread, K = 0 gives beta * C, M = 0 or N = 0
// does nothing. Elements of C outside the view are never touched. C may not overlap A or B, nor the workspace
// or `recomputed` any of them. An overlap is refused wherever it shows without looking at every element:
// always where the elements of both lie side by side along one index, or as far apart as all strides have in
// common; else where they start at the same address. Interleaved views of one buffer are fine.
//
// With options.batch so many products of one shape: by policies short, stream, dots and narrow in one launch,
// by the others one after the other. A result does not depend on its product's place in the batch. With
// options.epilogue more is done before results are stored: by short, stream and dots as part of the product,
// by the split ones too where it is little, by the others in a launch behind it.
//
// The result is the same bits in every run, and does not depend on how the operands lie (what little does:
// docs/accuracy.md). Throws bad_request naming the first argument that makes no sense, not_supported when a
// policy does not fit the device, with the numbers.
launch_counts gemm(const context& where, const gemm_problem& p, const gemm_options& options = {});

// Bytes of workspace that the call takes; 0 if it needs none. It never shrinks when M, N, K or the batch
// grow.
std::size_t gemm_workspace(const context& where, const gemm_problem& p, const gemm_options& options = {});

// What the call would run, and why.
struct gemm_choice {
  // the name of a policy, or finish: there is nothing to multiply, but a batch or an epilogue
  std::string kernel;
  gemms::extent2 tile;  // outputs of a block
  int tile_k = 0, stages = 0;
  std::uint64_t blocks = 0;
  int cluster = 1;  // blocks that share a tile, each a part of K
  int parts = 1;    // clusters that share a tile and add up through the workspace
  std::size_t workspace = 0;
  gemm_bound bound;                       // what holds
  gemm_bound asked;                       // what the precision stands for on the device
  double predicted = 0;                   // seconds that a GPU with such limits takes
  std::vector<std::string> code;          // the names of the kernels that compute C
  std::vector<std::string> why, refused;  // sentences
  struct candidate {
    std::string kernel;
    double predicted;  // seconds, corrected
    double factor;     // of the tuning, that the prediction was multiplied by
  };
  std::vector<candidate> considered;  // by auto, the fastest first; empty if it had no choice
  std::string tuning;                 // a sentence: which one is in use, and what was left aside
};
gemm_choice explain(const context& where, const gemm_problem& p, const gemm_options& options = {});

}  // namespace antiphase
