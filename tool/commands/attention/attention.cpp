// SPDX-License-Identifier: Apache-2.0
// The subcommand attention: O = softmax(scale Q K^T + bias) V of arrays in .npy files.
#include <antiphase/attention.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "tool/base/errors.hpp"
#include "tool/commands/common/operands.hpp"
#include "tool/files/file_names.hpp"
#include "tool/files/npy/npy.hpp"
#include "tool/files/output_file.hpp"
#include "tool/measure/estimate.hpp"
#include "tool/program/command.hpp"
#include "tool/program/place.hpp"
#include "tool/program/text/console.hpp"
#include "tool/program/text/names.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* examples =
    "Without a GPU it runs on the CPU executor, right but slow; what takes long is announced.\n\n"
    "Q, K and V are .npy files of f4: of shape (rows, depth) for one head, (heads, rows, depth), or (batch, "
    "heads, rows, depth). K and V may have fewer heads than Q, a divisor of "
    "them: then neighboring heads of Q share one. O has Q's shape, f4, in C order; '-' is standard input and "
    "output. A query that sees no key gives zeros.\n"
    "\n"
    "BIAS (f4) is added to the scaled products; VISIBLE (bool) hides a key where it is false. Their last "
    "axes "
    "are queries and keys, axes before them heads and batch; an extent of 1, or an axis that is missing, is "
    "shared.\n"
    "\n"
    "Accuracy: for finite operands whose logits do not overflow, every output is within the bound of "
    "docs/use/accuracy.md (Attention), which has a row for each policy. A query that sees one key gets its "
    "V, bit for bit.\n"
    "\n"
    "Examples:\n"
    "  antiphase attention Q.npy K.npy V.npy --output O.npy\n"
    "  antiphase attention Q.npy K.npy V.npy --output O.npy --causal top_left\n"
    "      query i sees the keys up to i; bottom_right: the last query sees the last key\n"
    "  antiphase attention Q.npy K.npy V.npy --output O.npy --window 127,0\n"
    "      each query sees the key at its own place and the 127 before\n"
    "  antiphase attention Q.npy K.npy V.npy --output O.npy --policy double-buffered --on cpu\n"
    "      one step of the ladder, on the simulated GPU\n"
    "  antiphase attention Q.npy K.npy V.npy --explain\n"
    "      which kernels that would be, and why";

struct request {
  std::string q, k, v, bias, visible, output;
  std::string mask = "no";
  std::vector<std::int64_t> window;
  std::optional<float> scale;
  std::string policy = "auto";
  bool explain = false;
  place_options place;
  common_options common;

  std::vector<std::string> inputs() const {
    std::vector<std::string> all{q, k, v};
    for (const std::string& more : {bias, visible})
      if (!more.empty()) all.push_back(more);
    return all;
  }
};

void require_sensible(const request& r) {
  choice_of("--causal", r.mask, {std::begin(attentions::causal_names), std::end(attentions::causal_names)});
  choice_of("--policy", r.policy, policies_of_attention());
  if (r.window.size() > 2)
    throw bad_request(
        fmt::format("--window has {} numbers: expected one, or two: keys before and after", r.window.size()));
  if (r.explain && !r.output.empty())
    throw bad_request("--explain computes nothing, --output has nothing to receive: give one of the two");
  if (!r.explain && r.output.empty())
    throw bad_usage("--output is required (see antiphase attention --help)");
  refuse_mixed_results(r.common, r.output);
  refuse_binary_on_terminal(r.output);
  const std::vector<std::string> inputs = r.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!r.explain) refuse_same_file(r.output, inputs[i]);
    for (std::size_t j = 0; j < i; ++j) refuse_same_stream(inputs[i], inputs[j]);
  }
}

// The shape with axes of 1 before it: batch, heads, rows or queries, depth or keys.
using extents_of_four = std::array<std::int64_t, 4>;
extents_of_four four_axes(const npy_array& x, std::string_view operand, std::size_t least,
                          std::string_view expected) {
  const std::size_t rank = x.shape.size();
  if (rank < least || rank > 4)
    throw bad_input(
        fmt::format("{} ({}): the shape is {}, expected {}", x.name, operand, shape_text(x.shape), expected));
  extents_of_four all{1, 1, 1, 1};
  std::ranges::copy(x.shape, all.end() - static_cast<std::ptrdiff_t>(rank));
  return all;
}

struct operands {
  npy_array q, k, v;
  std::optional<npy_array> bias, visible;
};

// A problem without addresses. Throws an error that names the arrays and their shapes if these do not fit.
attention_problem problem_of(const request& r, const operands& x) {
  constexpr std::string_view rows = "(rows, depth), (heads, rows, depth) or (batch, heads, rows, depth)";
  const extents_of_four q = four_axes(x.q, "Q", 2, rows), k = four_axes(x.k, "K", 2, rows),
                        v = four_axes(x.v, "V", 2, rows);
  const auto fail = [&](std::string_view why) {
    throw bad_request(fmt::format("attention of Q of shape {}, K of shape {} and V of shape {}: {}",
                                  shape_text(x.q.shape), shape_text(x.k.shape), shape_text(x.v.shape), why));
  };
  if (k != v) fail("K and V must have the same shape");
  if (x.q.shape.size() != x.k.shape.size()) fail("all three must have the same number of axes");
  if (q[0] != k[0]) fail(fmt::format("batches of {} and {}, they must agree", q[0], k[0]));
  if (q[3] != k[3]) fail(fmt::format("rows of {} and {} elements, they must agree", q[3], k[3]));
  if (q[1] != k[1] && (k[1] == 0 || q[1] % k[1] != 0))
    fail(fmt::format("{} heads of Q and {} of K and V, expected a multiple of these", q[1], k[1]));
  attention_problem p{.q = {},
                      .k = {},
                      .v = {},
                      .out = {},
                      .members = q[0],
                      .heads = q[1],
                      .kv_heads = k[1],
                      .queries = q[2],
                      .keys = k[2],
                      .depth = q[3],
                      .scale = r.scale};
  const auto known = std::ranges::find(attentions::causal_names, r.mask);
  p.mask = static_cast<causal>(known - std::begin(attentions::causal_names));
  if (!r.window.empty()) p.window_before = r.window.front(), p.window_behind = r.window.back();
  return p;
}

template <class T> attentions::pairs<T> pairs_of(const npy_array& x, std::string_view operand,
                                                 const attention_problem& p, const T* data) {
  const extents_of_four most{p.members, p.heads, p.queries, p.keys};
  const extents_of_four shape = four_axes(x, operand, 0, "at most four axes: batch, heads, queries, keys");
  extents_of_four strides{};
  std::int64_t stride = 1;
  for (std::size_t axis = 4; axis-- > 0; stride *= shape[axis]) {
    if (shape[axis] != 1 && shape[axis] != most[axis])
      throw bad_request(
          fmt::format("{} ({}): the shape is {}, expected that of batch, heads, queries and keys, {}, or 1 "
                      "where it is shared",
                      x.name, operand, shape_text(x.shape), shape_text(most)));
    strides[axis] = shape[axis] == 1 ? 0 : stride;
  }
  return {data, strides[0], strides[1], strides[2], strides[3]};
}

void place_rows(attention_problem& p, const float* q, const float* k, const float* v, float* out) {
  p.q = packed_heads(q, p.heads, p.queries, p.depth);
  p.k = packed_heads(k, p.kv_heads, p.keys, p.depth);
  p.v = packed_heads(v, p.kv_heads, p.keys, p.depth);
  p.out = packed_heads(out, p.heads, p.queries, p.depth);
}

std::string text_of(const attention_problem& p) {
  const std::string grouped = p.kv_heads == p.heads ? "" : fmt::format(" ({} of K and V)", p.kv_heads);
  return fmt::format("{} x {} heads{} of {} queries and {} keys, depth {}", p.members, p.heads, grouped,
                     p.queries, p.keys, p.depth);
}
json shape_of(const attention_problem& p) {
  return {{"batch", p.members},   {"heads", p.heads}, {"kv_heads", p.kv_heads},
          {"queries", p.queries}, {"keys", p.keys},   {"depth", p.depth}};
}

// What a call would run. Placeholder addresses stand for device memory.
void tell_choice(const request& r, const place& at, const operands& x, attention_problem p) {
  const auto address = [](std::uintptr_t number) { return reinterpret_cast<float*>(number << 44); };
  place_rows(p, address(1), address(2), address(3), address(4));
  if (x.bias) p.bias = pairs_of<float>(*x.bias, "BIAS", p, address(5));
  if (x.visible)
    p.visible = pairs_of(*x.visible, "VISIBLE", p, reinterpret_cast<const unsigned char*>(address(6)));
  const attention_choice chosen = explain(at.context, p, {.policy = r.policy});
  if (r.common.json)
    return print_json({{"schema", 1},
                       {"command", "attention"},
                       {"place", to_json(at)},
                       {"shape", shape_of(p)},
                       {"kernel", chosen.kernel},
                       {"launches", chosen.launches},
                       {"workspace", chosen.workspace},
                       {"predicted_us", chosen.predicted * 1e6},
                       {"code", chosen.code},
                       {"why", chosen.why},
                       {"refused", chosen.refused}});
  std::string text = fmt::format(
      "{} on {}\n  {}: {}, {} bytes of workspace\n  bound: that of {} in docs/use/accuracy.md\n", text_of(p),
      at.name, chosen.kernel, chosen.launches == 1 ? "1 launch" : fmt::format("{} launches", chosen.launches),
      chosen.workspace, chosen.kernel);
  for (const std::string& code : chosen.code) text += fmt::format("  launch: {}\n", code);
  for (const std::string& why : chosen.why) text += fmt::format("  why: {}\n", why);
  for (const std::string& refused : chosen.refused) text += fmt::format("  refused: {}\n", refused);
  print_lines(text);
}

struct outcome {
  std::vector<float> out;
  std::string policy;
  launch_counts counts;
};

outcome attend(const request& r, const context& where, const operands& x, attention_problem p) {
  const device_array<float> q(where, x.q.values<float>()), k(where, x.k.values<float>()),
      v(where, x.v.values<float>());
  device_array<float> out(where, q.size());
  place_rows(p, q.data(), k.data(), v.data(), out.data());
  std::optional<device_array<float>> bias;
  std::optional<device_array<std::byte>> visible;
  if (x.bias)
    p.bias = pairs_of<float>(*x.bias, "BIAS", p, bias.emplace(where, x.bias->values<float>()).data());
  if (x.visible)
    p.visible =
        pairs_of(*x.visible, "VISIBLE", p,
                 reinterpret_cast<const unsigned char*>(visible.emplace(where, x.visible->bytes()).data()));
  outcome result{.out = {}, .policy = explain(where, p, {.policy = r.policy}).kernel, .counts = {}};
  const progress_line line = warn_if_slow(r.common, result.policy, estimate(where, p, result.policy));
  result.counts = attention(where, p, {.policy = r.policy});
  where.runs_on().synchronize(nullptr);
  result.out = out.to_host();
  return result;
}

void report(const request& r, const place& at, const attention_problem& p, const outcome& result) {
  say(r.common,
      fmt::format("{}: {}, policy {}, on {}", output_name(r.output), text_of(p), result.policy, at.name));
  if (!r.common.json) return;
  json value{
      {"schema", 1},          {"command", "attention"}, {"place", to_json(at)}, {"policy", result.policy},
      {"shape", shape_of(p)}, {"causal", r.mask},       {"output", r.output}};
  if (at.context.kind() == target::cpu) value["counts"] = to_json(result.counts);
  print_json(value);
}

npy_array read_visible(const std::string& path) {
  npy_array array = in_c_order(read_npy(path, booleans::taken));
  if (array.type != element::u8)
    throw bad_input(fmt::format("{} (VISIBLE): the elements are {}, expected bool or u1", array.name,
                                numpy_name(array.type)));
  return array;
}

void run(const request& r) {
  require_sensible(r);
  const place at = choose_place(r.place);
  const auto floats = [&](const std::string& path, std::string_view operand) {
    return in_c_order(read_operand(path, operand, "attention takes"));
  };
  operands x{floats(r.q, "Q"), floats(r.k, "K"), floats(r.v, "V"), {}, {}};
  if (!r.bias.empty()) x.bias = floats(r.bias, "BIAS");
  if (!r.visible.empty()) x.visible = read_visible(r.visible);
  const attention_problem p = problem_of(r, x);
  say_place(r.common, at);
  if (r.explain) return tell_choice(r, at, x, p);

  output_file out{r.output};  // before the work: fail early if the folder is not writable
  const outcome result = attend(r, at.context, x, p);
  write_npy(out, element::f32, x.q.shape, std::as_bytes(std::span{result.out}));
  out.commit();
  report(r, at, p, result);
}

}  // namespace

void add_attention(arguments program) {
  arguments command =
      program.add_subcommand("attention", "Attention: O = softmax(scale * Q * K^T + BIAS) * V, in FP32");
  const auto r = std::make_shared<request>();
  command.add_option("Q", r->q, "The queries: a .npy file of f4, or '-'").required().type_name("Q.npy");
  command.add_option("K", r->k, "The keys").required().type_name("K.npy");
  command.add_option("V", r->v, "The values, a row for each key").required().type_name("V.npy");
  command.add_option("-o,--output", r->output, "Where to write O; never one of the inputs")
      .type_name("O.npy");
  command
      .add_option("--causal", r->mask,
                  "no (default), top_left or bottom_right: the corner at which the diagonal lies up to which "
                  "keys are seen")
      .type_name("NAME")
      .offers({std::begin(attentions::causal_names), std::end(attentions::causal_names)});
  command
      .add_option("--window", r->window,
                  "See only so many keys before and after the diagonal: N, or BEFORE,AFTER; -1 is all")
      .several()
      .check(integer_from(-1))
      .type_name("N");
  command.add_option("--scale", r->scale, "Factor of Q * K^T (default 1 / sqrt(depth))")
      .check(number_in_fp32())
      .type_name("NUMBER");
  command.add_option("--bias", r->bias, "A number to add for each query and key: a .npy file of f4")
      .check(not_empty())
      .type_name("BIAS.npy");
  command.add_option("--visible", r->visible, "Which keys a query sees: a .npy file of bool")
      .check(not_empty())
      .otherwise("--mask")
      .type_name("VISIBLE.npy");
  command
      .add_option("--policy", r->policy,
                  "fp16, fp32, or a step of the ladder (default auto: by shape and device)")
      .type_name("NAME")
      .offers(policies_of_attention())
      .otherwise("--step")
      .otherwise("--kernel");
  command.add_flag("--explain", r->explain, "Compute nothing: say which kernels would, and why");
  add_place_options(command, r->place);
  add_common_options(command, r->common);
  command.footer(examples);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
