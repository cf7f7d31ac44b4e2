// SPDX-License-Identifier: Apache-2.0
// The subcommand trace: timeline of a running kernel, as a picture or for Perfetto.
#include <antiphase/trace.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <antiphase/attention.hpp>
#include <antiphase/attention/ladder.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/gemm/policies.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <charconv>
#include <memory>
#include <span>
#include <utility>

#include "tool/base/errors.hpp"
#include "tool/commands/check/trace/trace_waits.hpp"
#include "tool/commands/trace/trace.hpp"
#include "tool/commands/trace/trace_files.hpp"
#include "tool/commands/trace/trace_results.hpp"
#include "tool/files/file_handle.hpp"
#include "tool/files/file_names.hpp"
#include "tool/files/whole_file.hpp"
#include "tool/measure/attention/attention_check.hpp"
#include "tool/measure/machine.hpp"
#include "tool/measure/verify.hpp"
#include "tool/pictures/origin.hpp"
#include "tool/program/command.hpp"
#include "tool/program/place.hpp"
#include "tool/program/profiles.hpp"
#include "tool/program/text/console.hpp"
#include "tool/program/text/names.hpp"

namespace antiphase::tool {
namespace {

enum class family { gemm, scan, attention };

using request = trace_request;

// Parsed --compare stages=LIST or policy=LIST: what is compared, and the values.
struct comparison {
  std::string option;
  std::vector<std::string> values;
};
comparison compared(const request& r) {
  const std::size_t equals = r.compare.find('=');
  comparison c{.option = r.compare.substr(0, equals), .values = {}};
  const auto wrong = [&] {
    return bad_request(
        fmt::format("--compare: expected stages= and numbers from 1 to 8, or policy= and names, separated by "
                    "commas, found {}",
                    tool::quoted(r.compare)));
  };
  if (equals == std::string::npos || (c.option != "stages" && c.option != "policy")) throw wrong();
  for (std::size_t at = equals; at != std::string::npos;) {
    const std::size_t end = r.compare.find(',', at + 1);
    c.values.push_back(r.compare.substr(at + 1, end == std::string::npos ? end : end - at - 1));
    at = end;
  }
  for (std::size_t i = 0; i < c.values.size(); ++i) {
    const std::string& v = c.values[i];
    if (v.empty() || (c.option == "stages" && (v.size() != 1 || v[0] < '1' || v[0] > '8'))) throw wrong();
    if (std::find(c.values.begin(), c.values.begin() + static_cast<std::ptrdiff_t>(i), v) !=
        c.values.begin() + static_cast<std::ptrdiff_t>(i))
      throw bad_request(
          fmt::format("--compare: {} stands there twice: expected different ones", tool::quoted(v)));
  }
  return c;
}

std::vector<std::string> recorded_attention_policies() {
  std::vector<std::string> names = names_of(attentions::steps);
  names.erase(names.begin());  // naive
  return names;
}

// Kernels that differ only in their number of stages, and their names.
struct stage_family {
  std::string_view prefix;  // common prefix of the names
  std::vector<int> stages;
  std::string_view bare;  // name of the kernel with the most stages, if it has no number
};
const stage_family gemm_families[] = {{"async", {1, 2, 3, 4}, ""}, {"tensor-core", {2, 3, 4}, ""}};
const stage_family scan_families[] = {{"single-pass", {1, 2, 3, 8}, "single-pass"}};

std::string with_stages(const stage_family& f, int stages) {
  if (std::ranges::find(f.stages, stages) == f.stages.end())
    throw bad_request(fmt::format("--compare: there is no {} with {} stages: expected {}", f.prefix, stages,
                                  fmt::join(f.stages, ", ")));
  return stages == f.stages.back() && !f.bare.empty() ? std::string(f.bare)
                                                      : fmt::format("{}-{}", f.prefix, stages);
}
// The policies requested by --compare.
std::vector<std::string> compared_policies(const request& r, std::span<const stage_family> families) {
  if (!r.stages.empty()) throw bad_request("--stages and --compare: expected one of them, they say the same");
  const comparison wanted = compared(r);
  if (wanted.option == "policy") {
    if (!r.policies.empty())
      throw bad_request("--policy and --compare policy=: expected one of them, they say the same");
    return wanted.values;
  }
  if (r.policies.size() > 1)
    throw bad_request("--compare: expected one policy, whose numbers of stages are compared");
  const std::string_view policy =
      r.policies.empty() ? families.front().prefix : std::string_view(r.policies.front());
  for (const stage_family& f : families) {
    const bool is_one =
        policy == f.prefix || (policy.starts_with(f.prefix) && policy.size() == f.prefix.size() + 2 &&
                               policy[f.prefix.size()] == '-');
    if (!is_one) continue;
    std::vector<std::string> names;
    for (const std::string& n : wanted.values) names.push_back(with_stages(f, n[0] - '0'));
    return names;
  }
  std::vector<std::string_view> known;
  for (const stage_family& f : families) known.push_back(f.prefix);
  throw bad_request(fmt::format("--compare: {} is compiled for one number of stages: expected --policy {}",
                                policy, fmt::join(known, " or ")));
}

std::vector<std::string> gemm_policies_of(const request& r) {
  std::vector<std::string> policies;
  const std::vector<std::string> known = recorded_gemm_policies();
  for (const std::string& policy : r.compare.empty() ? r.policies : compared_policies(r, gemm_families)) {
    if (policy == "naive")
      throw bad_request("--policy naive: it has no pipeline to record, expected another step");
    if (std::ranges::find(known, policy) == known.end())
      gemms::refuse_policy(policy, "kernel with a recording twin", known);
    policies.push_back(policy);
  }
  for (const int stages : r.stages) policies.push_back(fmt::format("async-{}", stages));
  if (policies.empty()) policies = {"async-1", "async-2", "async-3"};
  return policies;
}
std::vector<std::string> scan_policies_of(const request& r) {
  if (!r.stages.empty()) throw bad_request("--stages is of trace gemm: expected --compare stages=1,2,3,8");
  const std::vector<std::string> policies =
      r.compare.empty() ? r.policies : compared_policies(r, scan_families);
  for (const std::string& policy : policies) choice_of("--policy", policy, recorded_scan_policies());
  return policies.empty() ? std::vector<std::string>{"single-pass"} : policies;
}

std::vector<std::string> attention_policies_of(const request& r) {
  if (!r.stages.empty() || r.compare.starts_with("stages"))
    throw bad_request(
        "trace attention: its steps have one number of stages each: expected --compare policy=");
  const std::vector<std::string> policies = r.compare.empty() ? r.policies : compared_policies(r, {});
  for (const std::string& policy : policies) choice_of("--policy", policy, recorded_attention_policies());
  return policies.empty() ? recorded_attention_policies() : policies;
}

// M, N and K of a product; queries, keys and depth of attention.
struct sizes {
  std::int64_t m, n, k;
};
sizes sizes_of(const request& r) {
  const bool attends = r.kernel == "attention";
  return {r.m.value_or(128), r.n.value_or(attends ? 1024 : 128), r.k.value_or(attends ? 64 : 512)};
}

void say_costs(const request& r, const std::vector<timeline>& timelines) {
  for (const timeline& t : timelines) {
    const recording_cost& c = t.cost;
    say(r.common,
        c.runs == 0
            ? fmt::format("{}: the twin is of another variant than the kernel that a call launches: nothing "
                          "to compare",
                          t.policy)
            : fmt::format(
                  "{}: the kernel takes {:.4f} ms, recorded {:.4f} ms: {:+.1f} % (medians of {} runs each)",
                  t.policy, c.plain_ms, c.recorded_ms, 100 * (c.recorded_ms / c.plain_ms - 1), c.runs));
  }
  if (timelines.front().runs_on != target::cuda)
    say(r.common, "these are times of the CPU executor, which say nothing of a GPU");
}

void report(const request& r, const place& at, const std::vector<timeline>& timelines) {
  trace_results results = results_of(r.common, "policy", timelines);
  results.forecast = "--compare stages= measures it.";
  if (r.cost_runs > 0) say_costs(r, timelines);
  if (r.common.json) {
    json content = result_envelope("trace", at, schema_of_traces);
    const auto [m, n, k] = sizes_of(r);
    content["shape"] = r.kernel == "scan"        ? json{{"length", r.size}}
                       : r.kernel == "attention" ? json{{"queries", m}, {"keys", n}, {"depth", k}}
                                                 : json{{"m", m}, {"n", n}, {"k", k}};
    content["timelines"] = results.list;
    content["output"] = output_of(r);
    print_json(content);
  }
  say_results(r, results, timelines);
}

bool is_tensor_core(std::string_view policy) {
  return std::ranges::any_of(gemms::tensor_core_steps,
                             [&](const gemms::tensor_core_step& s) { return policy == s.name; });
}

std::vector<timeline> record_products(const context& where, const request& r,
                                      const std::vector<std::string>& policies,
                                      const trace_options& options) {
  const auto [m, n, k] = sizes_of(r);
  const std::vector<float> a_values = random_values(static_cast<std::size_t>(m * k), 1),
                           b_values = random_values(static_cast<std::size_t>(k * n), 2);
  std::vector<timeline> timelines;
  const device_array<float> a(where, a_values), b(where, b_values);
  device_array<float> c(where, static_cast<std::size_t>(m * n));
  const gemms::problem p{
      .a = row_major(a.data(), m, k), .b = row_major(b.data(), k, n), .c = row_major(c.data(), m, n)};
  for (const std::string& policy : policies) {
    if (!is_tensor_core(policy)) {
      timelines.push_back(record_gemm(where, policy, p, options));
      continue;
    }
    // Rows of f16, aligned to 16 bytes.
    const auto halves = [&](const std::vector<float>& values, std::int64_t rows, std::int64_t columns) {
      const std::int64_t apart = (columns + 7) / 8 * 8;
      std::vector<f16> padded(static_cast<std::size_t>(rows * apart));
      for (std::int64_t i = 0; i < rows * columns; ++i)
        padded[static_cast<std::size_t>(i / columns * apart + i % columns)] =
            to_f16(values[static_cast<std::size_t>(i)]);
      return device_array<f16>(where, padded);
    };
    const device_array<f16> half_a = halves(a_values, m, k), half_b = halves(b_values, k, n);
    const auto view = [](const device_array<f16>& of, std::int64_t rows, std::int64_t columns) {
      return matrix_view<const f16>{of.data(), rows, columns, (columns + 7) / 8 * 8, 1};
    };
    timelines.push_back(record_gemm(
        where, policy, gemms::tensor_core_problem{.a = view(half_a, m, k), .b = view(half_b, k, n), .c = p.c},
        options));
  }
  return timelines;
}

std::vector<timeline> record_attentions(const context& where, const request& r,
                                        const std::vector<std::string>& policies,
                                        const trace_options& options) {
  const auto [queries, keys, depth] = sizes_of(r);
  const attention_operands data(where, 1, 1, queries, keys, depth, false);
  std::vector<timeline> timelines;
  for (const std::string& policy : policies)
    timelines.push_back(record_attention(where, policy, data.problem(), options));
  return timelines;
}

std::vector<timeline> record_scans(const context& where, const request& r,
                                   const std::vector<std::string>& policies, const trace_options& options) {
  const device_array<float> in(where, random_values(static_cast<std::size_t>(r.size), 1));
  device_array<float> out(where, in.size());
  const scan_problem p{.in = in.data(), .out = out.data(), .outer = r.rows, .length = r.size / r.rows};
  std::vector<timeline> timelines;
  if (r.segment == 0) {
    for (const std::string& policy : policies) timelines.push_back(record_scan(where, policy, p, options));
    return timelines;
  }
  std::vector<std::int32_t> by_element(static_cast<std::size_t>(r.size));
  for (std::size_t i = 0; i < by_element.size(); ++i)
    by_element[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) / r.segment);
  const device_array<std::int32_t> keys(where, by_element);
  for (const std::string& policy : policies)
    timelines.push_back(record_scan(where, policy, p, {.data = keys.data()}, options));
  return timelines;
}

// Draws timelines that programs recorded themselves, or that `antiphase trace` has recorded.
void draw_files(const request& r) {
  if (!r.policies.empty() || !r.stages.empty() || !r.compare.empty() || r.without_waits)
    throw bad_request(
        "--read draws what was recorded: expected no --policy, --stages, --compare or --without-waits next "
        "to "
        "it");
  requested_picture picture(r);
  std::vector<timeline> timelines;
  for (const std::string& file : r.files) {
    const std::string text = whole_file(recorded_file(file));
    try {
      for (timeline& t : timelines_of(text)) timelines.push_back(std::move(t));
    } catch (const bad_request& e) {
      throw bad_input(fmt::format("{}: {}", input_name(file), e.what()));
    }
  }
  picture.draw(timelines);
  trace_results results = results_of(r.common, "recorded", timelines);
  results.forecast = "antiphase advise --from predicts it.";
  if (r.common.json)
    print_json({{"schema", schema_of_traces},
                {"command", "trace"},
                {"timelines", results.list},
                {"output", output_of(r)}});
  say_results(r, results, timelines);
}

void require_whole_rows(const request& r, bool of_scan) {
  if (!of_scan && (r.rows != 1 || r.segment != 0)) throw bad_request("--rows and --by-key are of trace scan");
  if (r.rows != 1 && r.segment != 0) throw bad_request("--rows and --by-key: expected one of them");
  if (r.size % r.rows != 0)
    throw bad_request(fmt::format("--rows {}: expected a divisor of --size {}", r.rows, r.size));
}

trace_options options_of(const request& r) {
  trace_options options{.block = r.block, .steps = r.recorded, .cost_runs = r.cost_runs};
  if (r.blocks != "auto") {
    int blocks = 0;
    const char* const end = r.blocks.data() + r.blocks.size();
    if (const auto [at, failed] = std::from_chars(r.blocks.data(), end, blocks);
        failed != std::errc{} || at != end || blocks < 1)
      throw bad_request(fmt::format("--blocks {}: expected auto, or 1 or more", tool::quoted(r.blocks)));
    options.blocks = blocks;
  }
  if (!r.data.empty()) options.from_memory = choice_of("--data", r.data, {"cache", "memory"}) == 1;
  return options;
}

// Where it runs. On the CPU, `options` and the simulated device become those of the modelled machine.
place choose_machine(const request& r, trace_options& options) {
  place at = choose_place(r.place);
  if (at.context.kind() == target::cuda) {
    if (!r.profile.empty() || r.blocks != "auto" || !r.data.empty())
      throw bad_request(
          "--as, --blocks and --data are of the clock that is modelled on the CPU executor: expected --on "
          "cpu "
          "next to them; a GPU is recorded as it is");
    return at;
  }
  options.profile =
      std::make_shared<const machine_profile>(named_profile(r.profile.empty() ? "H200" : r.profile));
  place_options simulated = r.place;
  simulated.simulated = options.profile->limits;
  simulated.simulated.name = simulated_device().name;
  return choose_place(simulated);
}

}  // namespace

void run_trace(const trace_request& r) {
  if (!r.files.empty()) return draw_files(r);
  if (is_source(r.kernel)) return trace_program(r, options_of(r));
  if (r.program.kernels.size() > 1 || !r.program.compiler_options.empty() || !r.program.driver.empty() ||
      !r.program.launch.empty() || !r.program.arguments.empty())
    throw bad_request(
        "options of the compiler, --kernels, --launch and arguments are of a program in plain CUDA: "
        "expected a .cu file before them");
  const auto of = static_cast<family>(choice_of("KERNEL", r.kernel, trace_families()));
  if (r.without_waits && (r.output.empty() || format_of(r) != picture_format::page))
    throw bad_request("--without-waits is for the page, on which they play: expected an output of .html");
  const std::vector<std::string> policies = of == family::scan        ? scan_policies_of(r)
                                            : of == family::attention ? attention_policies_of(r)
                                                                      : gemm_policies_of(r);
  require_whole_rows(r, of == family::scan);
  requested_picture picture(r);
  trace_options options = options_of(r);
  const place at = choose_machine(r, options);
  say_place(r.common, at);
  const auto record = of == family::scan        ? record_scans
                      : of == family::attention ? record_attentions
                                                : record_products;
  const std::vector<timeline> timelines = record(at.context, r, policies, options);
  picture.draw(timelines,
               r.without_waits ? waits_taken_from(timelines, r.common) : std::vector<taken_wait>{});
  report(r, at, timelines);
}

std::vector<std::string> trace_families() { return {"gemm", "scan", "attention"}; }
std::vector<std::string> recorded_policies() {
  std::vector<std::string> policies = recorded_gemm_policies();
  for (std::string& name : recorded_scan_policies()) policies.push_back(std::move(name));
  for (const std::string& step : recorded_attention_policies())
    if (std::ranges::find(policies, step) == policies.end()) policies.push_back(step);
  return policies;
}

}  // namespace antiphase::tool
