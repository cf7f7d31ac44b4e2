// SPDX-License-Identifier: Apache-2.0
// Recording attention.
#include <antiphase/trace.hpp>

#include <fmt/format.h>

#include <antiphase/attention.hpp>
#include <antiphase/attention/ladder.hpp>
#include <antiphase/core/error.hpp>
#include <string>
#include <vector>

#include "learn/trace/record_call.hpp"
#include "learn/trace/twins/twin_lists.hpp"
#include "library/attention/fp16/depths.hpp"
#include "library/attention/fp32/fp32_kernels.hpp"

namespace antiphase {
namespace {

// Kernels of FP32 multiply-adds share one name for all depths: keeps only the twins of this one.
std::vector<twin> twins_for(target where, std::int64_t depth) {
  const int padded = attentions::fp16::padded_depth(depth);
  std::vector<twin> some;
  for (const twin& t : attentions::all_twins(where))
    if (!t.roles.empty() || t.step_bytes == padded * attentions::keys_of_tile * int{sizeof(float)})
      some.push_back(t);
  return some;
}

}  // namespace

timeline record_attention(const context& where, std::string_view policy, const attention_problem& p,
                          const trace_options& options) {
  const attentions::step& s = attentions::find_step(policy);
  if (s.method == attentions::method::naive)
    throw bad_request("policy naive has no pipeline to record: expected another step");
  if (p.members * p.heads * p.queries * p.keys == 0)
    throw bad_request("there is nothing to record: there are no queries, or no keys");
  if (p.depth <= 32 || p.depth > attentions::fp16::most_depth)
    throw not_supported(
        fmt::format("depth {}: attention is recorded for 33 to {}", p.depth, attentions::fp16::most_depth));
  if (p.mask != causal::no || p.bias.data != nullptr || p.visible.data != nullptr || p.window_before >= 0 ||
      p.window_behind >= 0 || p.lengths.query_offsets != nullptr)
    throw not_supported("attention is recorded without mask, window and bias");
  const double rows = static_cast<double>(p.members * p.heads) * static_cast<double>(p.queries + 2 * p.keys);
  const recorded_work work{.bytes = sizeof(float) * rows * static_cast<double>(p.depth),
                           .multiprocessors = s.method == attentions::method::roles ? 1 : 0};
  return record_call(where, twins_for(where.kind(), p.depth),
                     {.policy = std::string(policy), .kernel = "attention"}, options, work, false,
                     [&](const context& recording) {
                       attention(recording, p, {.policy = policy, .stream = options.stream});
                     });
}

}  // namespace antiphase
