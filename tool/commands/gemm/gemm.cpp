// SPDX-License-Identifier: Apache-2.0
// The subcommand gemm: C = alpha * A * B + beta * C0 of matrices in .npy files.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/policies.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "tool/base/errors.hpp"
#include "tool/commands/common/operands.hpp"
#include "tool/files/file_names.hpp"
#include "tool/files/npy/npy.hpp"
#include "tool/files/output_file.hpp"
#include "tool/measure/estimate.hpp"
#include "tool/measure/products/product.hpp"
#include "tool/program/command.hpp"
#include "tool/program/place.hpp"
#include "tool/program/text/console.hpp"
#include "tool/program/text/names.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* examples =
    "Without a GPU it runs on the CPU executor, right but slow; what takes long is announced.\n\n"
    "A, B and C0 are .npy files of 2-D arrays of f4 (float32), in C or Fortran order; '-' is standard input. "
    "C is written as f4 in C order, '-' to standard output. With alpha = 0 A and B are not read into "
    "it, with beta = 0 C0 "
    "is not.\n"
    "\n"
    "Precision\n"
    "  fp32    for every finite input |C - AB| <= (80 + K / 59) u |A||B| + 2^-150, u = 2^-24; usually far "
    "below, from Tensor "
    "Cores where the device has them (compute capability 8.x: 121 + K / 55). Integers of up to 11 bits whose "
    "sums stay below 2^24 "
    "are exact\n"
    "  strict  IEEE FP32 multiply-adds: every output is one sum in the order of k or, where C is small, a "
    "few such sums; so are "
    "those of the ladder's steps. |C - AB| <= K u |A||B| + K 2^-150\n"
    "If what the device or the policy can do has a weaker bound than the precision stands for, a line says "
    "which one holds, JSON "
    "too (bound, asked_bound, bound_kept); --if-weaker refuse refuses it instead, with exit code 4.\n"
    "\n"
    "Examples:\n"
    "  antiphase gemm A.npy B.npy --output C.npy\n"
    "  antiphase gemm A.npy B.npy --c C0.npy --alpha 2 --beta -1 --output C.npy\n"
    "      C = 2 A B - C0\n"
    "  antiphase gemm A.npy B.npy --output C.npy --policy async-3 --on cpu\n"
    "      one step of the ladder, on the simulated GPU\n"
    "  antiphase gemm A.npy B.npy --output C.npy --policy fp16-mma\n"
    "      Tensor Cores by mma.sync, as on devices before sm_90\n"
    "  antiphase gemm A.npy B.npy --explain\n"
    "      which kernel that would be, and why\n"
    "  antiphase info\n"
    "      lists the policies";

struct request {
  std::string a, b, c, output;
  float alpha = 1;
  std::optional<float> beta;
  std::string policy = "auto";
  std::string precision = "fp32";
  std::string if_weaker = "take";
  bool explain = false;
  place_options place;
  common_options common;
};

float beta_of(const request& r) { return r.beta.value_or(r.c.empty() ? 0.f : 1.f); }

npy_array read_matrix(const std::string& path, const char* operand) {
  npy_array array = read_operand(path, operand, "gemm multiplies");
  if (array.shape.size() != 2)
    throw bad_input(fmt::format("{} ({}): the shape is {}, but gemm takes 2-D arrays; {}", array.name,
                                operand, shape_text(array.shape),
                                array.shape.size() == 1 ? "give a vector the shape (1, n) or (n, 1)"
                                                        : "reshape it to two dimensions"));
  return array;
}

matrix_view<const float> view_of(const npy_array& array, const float* data) {
  return array.order == storage_order::row_major ? row_major(data, array.shape[0], array.shape[1])
                                                 : column_major(data, array.shape[0], array.shape[1]);
}

gemm_options options_of(const request& r) {
  return {.accuracy = parse_precision(r.precision),
          .policy = r.policy,
          .if_weaker = parse_weaker_bound(r.if_weaker)};
}

void require_sensible(const request& r) {
  const bool strict = options_of(r).accuracy == precision::strict;
  const gemms::policy_info* const policy = gemms::find_policy(r.policy);
  if (strict && policy != nullptr && policy->sums != gemm_sums::multiply_adds)
    throw bad_request(
        fmt::format("--policy {} does not add up as --precision strict wants it, by IEEE FP32 multiply-adds: "
                    "give one of the two",
                    r.policy));
  if (r.explain && !r.output.empty())
    throw bad_request("--explain multiplies nothing, --output has nothing to receive: give one of the two");
  if (!r.explain && r.output.empty()) throw bad_usage("--output is required (see antiphase gemm --help)");
  if (r.beta && r.c.empty()) throw bad_request("--beta needs --c: there is no C0 to scale");
  refuse_mixed_results(r.common, r.output);
  refuse_binary_on_terminal(r.output);
  const std::vector<std::string> inputs = r.c.empty() ? std::vector{r.a, r.b} : std::vector{r.a, r.b, r.c};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!r.explain) refuse_same_file(r.output, inputs[i]);
    for (std::size_t j = 0; j < i; ++j) refuse_same_stream(inputs[i], inputs[j]);
  }
}

// If the shapes do not fit, throws an error that names every array and its shape.
void require_fitting(const npy_array& a, const npy_array& b, const std::optional<npy_array>& c) {
  if (a.shape[1] != b.shape[0])
    throw bad_request(fmt::format(
        "cannot multiply {} of shape {} by {} of shape {}: A has {} columns, B has {} rows, they must agree",
        a.name, shape_text(a.shape), b.name, shape_text(b.shape), a.shape[1], b.shape[0]));
  const std::vector<std::int64_t> result{a.shape[0], b.shape[1]};
  std::int64_t count = 0;
  if (__builtin_mul_overflow(result[0], result[1], &count) ||
      count > std::numeric_limits<std::int64_t>::max() / 4)
    throw bad_request(
        fmt::format("the product of {} and {} would have the shape {}: expected less than 2^63 bytes",
                    shape_text(a.shape), shape_text(b.shape), shape_text(result)));
  if (c && c->shape != result)
    throw bad_request(fmt::format("{} (C0) has the shape {}, but the product of {} and {} has the shape {}",
                                  c->name, shape_text(c->shape), shape_text(a.shape), shape_text(b.shape),
                                  shape_text(result)));
}

struct outcome {
  std::vector<float> c;
  std::string policy;
  json bounds = json::object();
  launch_counts counts = {};
};

outcome multiply(const place& at, const request& r, const npy_array& a, const npy_array& b,
                 std::vector<float> c) {
  const std::int64_t m = a.shape[0], n = b.shape[1];
  const float beta = beta_of(r);
  const device_array<float> on_a(at.context, a.values<float>()), on_b(at.context, b.values<float>());
  device_array<float> on_c(at.context, c.size());
  if (beta != 0) on_c.copy_from(c);
  const gemm_problem p{.a = view_of(a, on_a.data()),
                       .b = view_of(b, on_b.data()),
                       .c = row_major(on_c.data(), m, n),
                       .alpha = r.alpha,
                       .beta = beta};
  gemm_options options = options_of(r);
  const progress_line line =
      warn_if_slow(r.common, explain(at.context, p, options).kernel, estimate(at.context, p, options));
  gemm_choice ran;
  options.ran = &ran;
  const launch_counts counts = gemm(at.context, p, options);
  if (!keeps(ran.bound, ran.asked))
    say(r.common, fmt::format("{}: {}", ran.kernel, bound_text(ran, options.accuracy)));
  at.context.runs_on().copy_out(c.data(), on_c.data(), c.size() * sizeof(float), nullptr);
  return {.c = std::move(c), .policy = ran.kernel, .bounds = bound_json(ran), .counts = counts};
}

// Reports what multiply() would run. Only the shapes of the matrices are used: three placeholder addresses
// stand for device memory.
void tell_choice(const request& r, const place& at, const npy_array& a, const npy_array& b) {
  const std::int64_t m = a.shape[0], n = b.shape[1], k = a.shape[1];
  const auto address = [](std::uintptr_t number) { return reinterpret_cast<float*>(number * 4096); };
  const gemm_problem p{.a = view_of(a, address(1)),
                       .b = view_of(b, address(2)),
                       .c = row_major(address(3), m, n),
                       .alpha = r.alpha,
                       .beta = beta_of(r)};
  const gemm_choice chosen = antiphase::explain(at.context, p, options_of(r));
  if (r.common.json) {
    json value{{"schema", 1},
               {"command", "gemm"},
               {"place", to_json(at)},
               {"shape", to_json(extents{m, n, k})},
               {"precision", r.precision}};
    value.update(to_json(chosen));
    print_json(value);
    return;
  }
  std::string text =
      fmt::format("{} x {} with K = {} on {}\n  {}\n  bound: {}\n  predicted: {}\n", m, n, k, at.name,
                  choice_text(chosen), bound_text(chosen, options_of(r).accuracy), predicted_text(chosen));
  text += fmt::format("  tuning: {}\n", chosen.tuning);
  for (const std::string& why : chosen.why) text += fmt::format("  why: {}\n", why);
  for (const std::string& refused : chosen.refused) text += fmt::format("  refused: {}\n", refused);
  print_lines(text);
}

void report(const request& r, const place& at, const npy_array& a, const npy_array& b,
            const outcome& result) {
  const std::int64_t m = a.shape[0], n = b.shape[1], k = a.shape[1];
  say(r.common, fmt::format("{}: {} x {} with K = {}, policy {}, on {}", output_name(r.output), m, n, k,
                            result.policy, at.name));
  if (!r.common.json) return;
  json value{{"schema", 1},
             {"command", "gemm"},
             {"place", to_json(at)},
             {"precision", r.precision},
             {"policy", result.policy},
             {"shape", to_json(extents{m, n, k})},
             {"alpha", r.alpha},
             {"beta", beta_of(r)},
             {"output", r.output}};
  value.update(result.bounds);
  if (at.context.kind() == target::cpu) value["counts"] = to_json(result.counts);
  print_json(value);
}

void run(const request& r) {
  require_sensible(r);
  const place at = choose_place(r.place);
  const npy_array a = read_matrix(r.a, "A"), b = read_matrix(r.b, "B");
  std::optional<npy_array> c0;
  if (!r.c.empty()) c0 = in_c_order(read_matrix(r.c, "C0"));
  require_fitting(a, b, c0);
  say_place(r.common, at);
  if (r.explain) return tell_choice(r, at, a, b);

  output_file out{r.output};  // before the work: fail early if the folder is not writable
  std::vector<float> c(static_cast<std::size_t>(a.shape[0] * b.shape[1]));
  if (c0) std::ranges::copy(c0->values<float>(), c.begin());
  const outcome result = multiply(at, r, a, b, std::move(c));
  const std::vector<std::int64_t> shape{a.shape[0], b.shape[1]};
  write_npy(out, element::f32, shape, std::as_bytes(std::span{result.c}));
  out.commit();
  report(r, at, a, b, result);
}

std::string names_beside_the_ladder() {
  std::string text;
  for (const gemms::policy_info& p : gemms::policies())
    if (p.ladder == nullptr) text.append(text.empty() ? "" : ", ").append(p.name);
  return text;
}

}  // namespace

void add_gemm(arguments program) {
  arguments command =
      program.add_subcommand("gemm", "Multiply two matrices: C = alpha * A * B + beta * C0, in FP32");
  const auto r = std::make_shared<request>();
  command.add_option("A", r->a, "The left matrix, M x K: a .npy file of f4, or '-'")
      .required()
      .type_name("A.npy");
  command.add_option("B", r->b, "The right matrix, K x N").required().type_name("B.npy");
  command.add_option("-o,--output", r->output, "Where to write C, M x N; never one of the inputs")
      .type_name("C.npy");
  command.add_option("--alpha", r->alpha, "Factor of A * B (default 1)")
      .check(number_in_fp32())
      .type_name("NUMBER");
  command.add_option("--beta", r->beta, "Factor of C0 (default 1 if --c is given)")
      .check(number_in_fp32())
      .type_name("NUMBER");
  command.add_option("--c", r->c, "C0, M x N, to be scaled by beta and added")
      .check(not_empty())
      .type_name("C0.npy");
  command.add_option("--precision", r->precision, "fp32 (default) or strict")
      .type_name("NAME")
      .offers({"fp32", "strict"});
  command
      .add_option("--if-weaker", r->if_weaker,
                  "take (default) or refuse a bound weaker than the precision's, see below")
      .type_name("NAME")
      .offers({"take", "refuse"});
  command
      .add_option("--policy", r->policy,
                  names_beside_the_ladder() +
                      ", or a step of the ladder (default auto: by precision, shape and device)")
      .type_name("NAME")
      .offers(policies_of_gemm())
      .otherwise("--step")
      .otherwise("--kernel");
  command.add_flag("--explain", r->explain, "Do not multiply: say which kernel would, and why");
  add_place_options(command, r->place);
  add_common_options(command, r->common);
  command.footer(examples);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
