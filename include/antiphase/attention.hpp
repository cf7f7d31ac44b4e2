// SPDX-License-Identifier: Apache-2.0
// Attention, O = softmax(scale Q K^T) V, and its gradients, in FP32.
#pragma once
#include <antiphase/attention/problem.hpp>
#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

// Options of attention(), attention_backward(), attention_workspace() and explain().
struct attention_options {
  // auto: the policy with the least predicted time. Or a policy by its name, from the table below, or a
  // step of the ladder (attention/ladder.hpp).
  std::string_view policy = "auto";
  antiphase::stream stream = nullptr;
  // Device memory, aligned to 256 bytes, at least attention_workspace() bytes, not to be touched until the
  // work is done. Empty: memory is allocated and freed in stream order.
  std::span<std::byte> workspace = {};
};

// Computes O, and if asked for the softmax that attention_backward() takes:
//
//   attention(where, {.q = packed_heads(q, heads, s, 64), .k = packed_heads(k, heads, s, 64),
//                     .v = packed_heads(v, heads, s, 64), .out = packed_heads(o, heads, s, 64),
//                     .members = batch, .heads = heads, .queries = s, .keys = s, .depth = 64,
//                     .mask = causal::top_left});
//
//   policy       how                                                        runs on
//   fp16         Tensor Cores, three products of FP16 parts for each; depth sm_90a, CPU executor
//                up to 128
//   fp16-short   the same in one kernel, without a workspace, for short     the same
//                sequences; depth up to 256, of gradients 64
//   fp32         FP32 multiply-adds                                         everywhere
//
// All keep the bound of docs/use/accuracy.md#attention for every finite input: the parts of members whose
// numbers FP16 cannot hold to that, and queries that see at most 4 keys, are computed in FP32. One visible
// key: O is its V, bit for bit. An infinity or NaN of Q, K or V reaches those outputs that depend on it, and
// no others. Results have the same bits in every run; those of a member and head depend on nothing else but
// its own operands.
//
// The call returns when all is queued on attention_options::stream; it may be captured into a CUDA graph.
//
// Throws
//   bad_request     an argument makes no sense (extents, strides, null or misaligned pointers, overlap, an
//                   unknown policy, too small a workspace); names the first one
//   not_supported   the policy does not take the problem or the device; says why
//   out_of_memory   no workspace was given and the device has no room; a device_error
//   device_error    a CUDA call or a launch failed; names it
// Nothing has been launched after the first three.
launch_counts attention(const context& where, const attention_problem& p,
                        const attention_options& options = {});

// Computes dQ, dK and dV from dO, and the problem's operands, `out` and `softmax` as attention() has left
// them; of a bias where its gradient is asked for. There are no atomic additions: the same bits in every run.
// Throws as attention(); `softmax` must be there, or else `logsumexp` (see attention_problem).
launch_counts attention_backward(const context& where, const attention_problem& p,
                                 const attention_gradients& gradients, const attention_options& options = {});

// Bytes of workspace that the call takes, 0 if none. Throws as the call.
std::size_t attention_workspace(const context& where, const attention_problem& p,
                                const attention_options& options = {});
std::size_t attention_workspace(const context& where, const attention_problem& p,
                                const attention_gradients& gradients, const attention_options& options = {});

// The choice for a call with these arguments, and its reasons. Nothing is launched.
struct attention_choice {
  std::string kernel;         // the policy's name
  std::size_t workspace = 0;  // bytes
  int launches = 0;
  double predicted = 0;                   // seconds on a GPU with these limits
  std::vector<std::string> code;          // the names of the kernels
  std::vector<std::string> why, refused;  // sentences
};
attention_choice explain(const context& where, const attention_problem& p,
                         const attention_options& options = {});
attention_choice explain(const context& where, const attention_problem& p,
                         const attention_gradients& gradients, const attention_options& options = {});

}  // namespace antiphase
