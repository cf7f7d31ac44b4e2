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

// The operands: {.a, .b, .c, .alpha = 1, .beta = 0}, three matrix views and two factors.
using gemm_problem = gemms::problem;
// A batch of products of one shape: {.count, .a_stride, .b_stride, .c_stride} or, by pointers,
// {.count, .a, .b, .c}.
using gemm_batch = gemms::batch;
// Epilogue, applied to each result before it is stored: {.function, .scale, .row_bias, .column_bias,
// .residual, ...}.
using gemm_epilogue = gemms::epilogue;
using gemms::activation;
// Measured correction factors of one device, by which policy auto corrects its predicted times.
using gemm_tuning = gemms::tuning;

// Error bound of every output, with u = 2^-24. bound_of() gives it as numbers, docs/use/accuracy.md its proof
// and its assumptions.
enum class precision {
  // |C - AB| <= (80 + K / 59) u |A||B| + 2^-150 for every finite input. On compute capability 8.x, whose
  // Tensor Cores truncate more, 121 + K / 55 units. Computed on Tensor Cores where they keep the bound. Where
  // a device can keep neither bound, gemm_options::if_weaker decides.
  fp32,
  // IEEE FP32 multiply-adds in the order of k, for small C in a few slices of K: K u |A||B| + K 2^-150.
  strict,
};
// The bound that the precision stands for on this device, for products with this K:
//
//   const gemm_bound b = bound_of(precision::fp32, where.limits(), k);
//   const bool fine = std::abs(c - exact) <= b.allowed(sum_of_magnitudes);  // sum of |a||b| over k
//
gemm_bound bound_of(precision asked, const device_limits& device, std::int64_t k);
// "149.42 u |A||B| + 2^-150"
std::string to_text(const gemm_bound& bound);

// What to do where everything that the device can run, or the requested policy, has a weaker bound than the
// precision stands for.
enum class weaker_bound { take, refuse };

// What the bits of an output may depend on, besides its row of A, its column of B, K and the device.
enum class reproducibility {
  // Also on M, N, the number of batch members and the tuning, which decide what runs.
  by_shape,
  // On nothing else. Sums run through k in one order, or in pieces whose number K alone decides. auto takes
  // tf32 for K of 257 to 65536 on compute capability 9.0, except for arrays of pointers and gradients that
  // read C, else fp64; by name there are also fp16, fp16-mma and fp64-short. Slower where by_shape would take
  // another policy or division of K (docs/use/accuracy.md). Throws not_supported where none of these runs.
  batch_invariant,
};

struct gemm_choice;

// Options of gemm(), gemm_workspace() and explain(). Defaults are a single product on the default stream. Set
// what you need by designated initialisers, in the order of the members:
//
//   gemm_options how{.accuracy = precision::strict,
//                    .epilogue = {.function = activation::relu, .column_bias = bias},
//                    .stream = stream};
//
struct gemm_options {
  precision accuracy = precision::fp32;
  // auto: of the policies that keep the accuracy, the one with the least predicted time for the shape and
  // device. Or a policy by its name: fp64-short, fp64, fp64-dots, tf32, fp16, fp16-mma or a ladder step.
  std::string_view policy = "auto";
  gemm_batch batch = {};
  gemm_epilogue epilogue = {};
  antiphase::stream stream = nullptr;
  // Device memory, aligned to 256 bytes, at least gemm_workspace() bytes, not to be touched until the work is
  // done. Empty: memory is allocated and freed in stream order.
  std::span<std::byte> workspace = {};
  // Device memory, a counter: the number of outputs whose sum was computed again in FP64 is added to it.
  std::uint64_t* recomputed = nullptr;
  reproducibility reproducible = reproducibility::by_shape;
  // take: gemm_choice says which bound holds. refuse: not_supported is thrown, with both bounds.
  weaker_bound if_weaker = weaker_bound::take;
  // Host memory: gemm() writes here what it runs, as explain() would return it.
  gemm_choice* ran = nullptr;
  // Host memory. Corrects predicted times, so it decides what auto takes; one that was made for another
  // device is ignored. null: the tuning named by ANTIPHASE_TUNING, else the library's own: see tuning_for().
  const gemm_tuning* tuning = nullptr;
};

// C = alpha * A * B + beta * C in FP32, with A of M x K, B of K x N and C of M x N.
//
//   const auto where = context::best();
//   device_array<float> a(where, host_a), b(where, host_b), c(where, m * n);  // host_a: std::vector<float>
//   gemm(where, {.a = row_major(a.data(), m, k), .b = row_major(b.data(), k, n),
//                .c = row_major(c.data(), m, n)});
//   std::vector<float> result = c.to_host();  // waits
//
// Operands. Strides are arbitrary, negative ones included: every combination of row- and column-major works,
// and transposed(v) costs nothing. The memory must be reachable from `where`: a device_array or cudaMalloc's.
// alpha = 0 leaves A and B unread, beta = 0 (or -0) leaves C unread, K = 0 gives beta * C, M = 0 or N = 0
// does nothing. Elements of C outside the view are never touched.
//
// Overlap. C may not overlap A or B, nor the workspace or `recomputed` any of them. An overlap is refused
// where it can be found without visiting every element: always if both views are contiguous along one index,
// or if the smaller stride of each is the greatest common divisor of all their strides. Of other pairs only
// equal addresses are refused. Interleaved views of one buffer are fine.
//
// Batches. options.batch computes many products of one shape: fp64-short, fp64, fp64-dots and tf32 in one
// launch, the other policies one product after the other. A result does not depend on its member's place in
// the batch.
//
// Epilogue. fp64-short, fp64 and fp64-dots apply options.epilogue within the product, the fp16 policies too
// where it is small, the others in a second launch, which reads and writes C once more.
//
// Results have the same bits in every run, and do not depend on how the operands lie, with the exceptions
// that docs/use/accuracy.md names.
//
// The call returns when the work has been queued on options.on; it may be captured into a CUDA graph.
//
// Throws
//   bad_request     an argument makes no sense (extents, strides, null or misaligned pointers, overlap, an
//                   unknown policy, too small a workspace, an unreadable tuning file); names the first one
//   not_supported   the policy does not fit the problem or the device, nothing keeps what `reproducible` or
//                   `if_weaker` asks for, or K >= 2^31 - 1024; says why, with the numbers
//   out_of_memory   no workspace was given and the device has no room; a device_error
//   device_error    a CUDA call or a launch failed; names it
// Nothing has been launched after the first three. A failure of queued work shows when the stream is waited
// for.
launch_counts gemm(const context& where, const gemm_problem& p, const gemm_options& options = {});

// Bytes of workspace that the call takes, 0 if none. Monotonic: never less for larger M, N, K or batch count,
// so the workspace of the largest product serves all others. Throws as gemm(), but ignores overlaps.
//
//   device_array<std::byte> memory(where, gemm_workspace(where, largest));
//   gemm(where, p, {.stream = stream, .workspace = {memory.data(), memory.size()}});
//
std::size_t gemm_workspace(const context& where, const gemm_problem& p, const gemm_options& options = {});

// What gemm() would run with these arguments, and why. Nothing is launched.
//
//   const gemm_choice c = explain(where, p);
//   for (const std::string& sentence : c.why) std::puts(sentence.c_str());
//
struct gemm_choice {
  // name of the policy; "finish": there is nothing to multiply, only a batch or an epilogue to apply
  std::string kernel;
  gemms::extent2 tile;  // outputs of a block
  int tile_k = 0, stages = 0;
  std::uint64_t blocks = 0;
  int cluster = 1;                // blocks that share a tile, each with a part of K
  int parts = 1;                  // split-K: clusters that share a tile and add up through the workspace
  std::size_t workspace = 0;      // bytes
  gemm_bound bound;               // the bound that holds
  gemm_bound asked;               // the bound that the precision stands for on the device
  double predicted = 0;           // seconds on a GPU with these limits
  std::vector<std::string> code;  // the names of the kernels that compute C
  std::vector<std::string> why, refused;  // sentences
  struct candidate {
    std::string kernel;
    double predicted;  // seconds, corrected
    double factor;     // the tuning's: the prediction was multiplied by it
  };
  std::vector<candidate> considered;  // by auto, the fastest first; empty if it had no choice
  std::string tuning;                 // a sentence: the tuning in use, and those ignored
};
// Throws as gemm(), but checks neither overlaps nor the size of the workspace.
gemm_choice explain(const context& where, const gemm_problem& p, const gemm_options& options = {});

}  // namespace antiphase
