// SPDX-License-Identifier: Apache-2.0
// Attention for C.
#include <antiphase.h>
#include <fmt/format.h>

#include <antiphase/attention.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "library/c_api/arguments.hpp"
#include "library/c_api/devices.hpp"
#include "library/c_api/status.hpp"

namespace antiphase::c_api {
namespace {

std::int64_t step(std::int64_t stride) { return stride == ANTIPHASE_REPEATED ? 0 : stride; }
// Product of extents that are checked only later: it may wrap around.
std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// All strides 0: densely packed.
template <class T> attentions::heads<T> rows_of(T* data, std::int64_t member_stride, std::int64_t head_stride,
                                                std::int64_t row_stride, std::int64_t count,
                                                std::int64_t rows, std::int64_t depth) {
  if (member_stride == 0 && head_stride == 0 && row_stride == 0)
    return {data, times(count, times(rows, depth)), times(rows, depth), depth};
  return {data, step(member_stride), step(head_stride), step(row_stride)};
}
template <class Heads>
auto rows_of(const Heads& x, std::int64_t count, std::int64_t rows, std::int64_t depth) {
  return rows_of(x.data, x.member_stride, x.head_stride, x.row_stride, count, rows, depth);
}

template <class To, class Pairs> To pairs_of(const Pairs& x, const attention_problem& p) {
  if (x.member_stride == 0 && x.head_stride == 0 && x.query_stride == 0 && x.key_stride == 0)
    return {x.data, times(p.heads, times(p.queries, p.keys)), times(p.queries, p.keys), p.keys, 1};
  return {x.data, step(x.member_stride), step(x.head_stride), step(x.query_stride), step(x.key_stride)};
}

// The arguments of attention() or attention_backward().
struct attending {
  const antiphase::context& context;
  attention_problem problem;
  std::optional<attention_gradients> back;
  attention_options options;
};
attending attending_of(const antiphase_attention_args* given, antiphase_stream on) {
  const antiphase_attention_args initial = ANTIPHASE_ATTENTION_ARGS_INIT;
  const antiphase_attention_args x =
      taken(given, initial, offsetof(antiphase_attention_args, window_before), "antiphase_attention_args");
  if (x.scale_given != 0 && x.scale_given != 1)
    throw bad_request(fmt::format("scale_given is {}: expected 0 or 1", x.scale_given));
  attention_problem p;
  p.members = x.members, p.heads = x.heads, p.kv_heads = x.kv_heads;
  p.queries = x.queries, p.keys = x.keys, p.depth = x.depth;
  p.lengths = {x.query_offsets, x.key_offsets, x.query_rows, x.key_rows};
  const std::int64_t kv_heads = x.kv_heads == 0 ? x.heads : x.kv_heads,
                     queries = x.query_offsets == nullptr ? x.queries : x.query_rows,
                     keys = x.query_offsets == nullptr ? x.keys : x.key_rows;
  const auto of_queries = [&](const auto& rows) { return rows_of(rows, x.heads, queries, x.depth); };
  const auto of_keys = [&](const auto& rows) { return rows_of(rows, kv_heads, keys, x.depth); };
  p.q = of_queries(x.q), p.k = of_keys(x.k), p.v = of_keys(x.v), p.out = of_queries(x.out);
  if (x.scale_given == 1 || x.scale != 0) p.scale = x.scale;
  p.mask = one_of<causal>("causal", x.causal, std::size(attentions::causal_names));
  p.window_before = x.window_before, p.window_behind = x.window_behind;
  p.bias = pairs_of<attentions::pairs<float>>(x.bias, p);
  p.visible = pairs_of<attentions::pairs<unsigned char>>(x.visible, p);
  p.logsumexp = x.logsumexp, p.softmax = x.softmax, p.logsumexp_stride = x.logsumexp_stride;
  attention_options how{.policy = policy_of(x.policy), .stream = on};
  if (x.workspace != nullptr) how.workspace = {static_cast<std::byte*>(x.workspace), x.workspace_size};
  std::optional<attention_gradients> back;
  if (x.out_gradient.data != nullptr)
    back =
        attention_gradients{of_queries(x.out_gradient), of_queries(x.q_gradient), of_keys(x.k_gradient),
                            of_keys(x.v_gradient), pairs_of<attentions::written_pairs>(x.bias_gradient, p)};
  return {where(x.device), p, back, how};
}

attention_choice explained(const antiphase_attention_args* args) {
  const attending a = attending_of(args, nullptr);
  return a.back ? explain(a.context, a.problem, *a.back, a.options)
                : explain(a.context, a.problem, a.options);
}

std::string in_words(const attention_choice& c) {
  std::string text =
      fmt::format("{}: {} launch{}, {} bytes of workspace, predicted to take {:.3g} us\n", c.kernel,
                  c.launches, c.launches == 1 ? "" : "es", c.workspace, 1e6 * c.predicted);
  for (const std::string& why : c.why) text += why + '\n';
  for (const std::string& why : c.refused) text += "refused: " + why + '\n';
  return text;
}

}  // namespace
}  // namespace antiphase::c_api

using namespace antiphase;
using namespace antiphase::c_api;

antiphase_status antiphase_attention(const antiphase_attention_args* args, antiphase_stream on) {
  return guarded([&] {
    const attending a = attending_of(args, on);
    attention(a.context, a.problem, a.options);
  });
}

antiphase_status antiphase_attention_backward(const antiphase_attention_args* args, antiphase_stream on) {
  return guarded([&] {
    const attending a = attending_of(args, on);
    attention_backward(a.context, a.problem, a.back.value_or(attention_gradients{}), a.options);
  });
}

antiphase_status antiphase_attention_workspace(const antiphase_attention_args* args, size_t* bytes) {
  return guarded([&] { required(bytes, "bytes") = explained(args).workspace; });
}

antiphase_status antiphase_attention_predict(const antiphase_attention_args* args, double* seconds) {
  return guarded([&] { required(seconds, "seconds") = explained(args).predicted; });
}

antiphase_status antiphase_attention_explain(const antiphase_attention_args* args, char* text, size_t room) {
  return guarded([&] { hand_out(in_words(explained(args)), text, room); });
}
