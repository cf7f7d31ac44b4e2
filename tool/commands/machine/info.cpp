// SPDX-License-Identifier: Apache-2.0
// The subcommand info: available devices, their limits, and the default.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <antiphase/executor/published.hpp>
#include <antiphase/gemm/policies.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <antiphase/gemm/tuning.hpp>
#include <antiphase/linear.hpp>
#include <antiphase/measure_machine.hpp>
#include <antiphase/scan/ladder.hpp>
#include <antiphase/version.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tool/base/wrap.hpp"
#include "tool/commands/machine/info_device.hpp"
#include "tool/files/output_file.hpp"
#include "tool/measure/provenance.hpp"
#include "tool/program/command.hpp"
#include "tool/program/place.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {
namespace {

struct device {
  std::string executor;
  device_limits limits;
};

constexpr const char* examples =
    "Without a GPU it says why, and what runs on the CPU; --measure alone needs one.\n\n"
    "The default is the first GPU if it is usable (compute capability 7.5 or newer, a driver, a build with "
    "the GPU part), else "
    "the CPU executor.\n"
    "\n"
    "Examples:\n"
    "  antiphase info\n"
    "  antiphase info --json | python3 -m json.tool\n"
    "  antiphase info --for 8.0\n"
    "      what would run on an A100, and what would not\n"
    "  antiphase info --measure --output my_gpu.json\n"
    "      a machine profile, for antiphase advise --device my_gpu.json";

// The tuning that corrects gemm's predictions, or why it could not be read.
std::string tuning_of(const device& d) {
  try {
    return gemms::tuning_text(d.limits);
  } catch (const bad_request& e) {
    return e.what();
  }
}

json to_json(const device& d) {
  const device_limits& l = d.limits;
  return {{"on", d.executor},
          {"name", l.name},
          {"compute_capability", compute_capability(l)},
          {"multiprocessors", l.multiprocessors},
          {"threads_per_block", l.threads_per_block},
          {"threads_per_multiprocessor", l.threads_per_multiprocessor},
          {"blocks_per_multiprocessor", l.blocks_per_multiprocessor},
          {"registers_per_multiprocessor", l.registers_per_multiprocessor},
          {"shared_per_block", l.shared_per_block},
          {"shared_opt_in", l.shared_opt_in},
          {"shared_per_multiprocessor", l.shared_per_multiprocessor},
          {"gemm_tuning", tuning_of(d)}};
}

std::string to_text(const device& d) {
  const device_limits& l = d.limits;
  return fmt::format(
      "  {:<9}  {}, compute capability {}, {} multiprocessors\n"
      "             per block: {} threads, {} KiB of shared memory ({} KiB if asked for)\n"
      "             per multiprocessor: {} threads, {} blocks, {} registers, {} KiB of shared memory\n"
      "             gemm's tuning: {}\n",
      d.executor, l.name, compute_capability(l), l.multiprocessors, l.threads_per_block,
      l.shared_per_block / 1024, l.shared_opt_in / 1024, l.threads_per_multiprocessor,
      l.blocks_per_multiprocessor, l.registers_per_multiprocessor, l.shared_per_multiprocessor / 1024,
      tuning_of(d));
}

std::string list_of(const auto& steps) {
  std::string text;
  for (const auto& step : steps) text += fmt::format("  {:<17}  {}\n", step.name, step.adds);
  return text;
}

// GEMM policies, steps of the ladder first.
std::vector<gemms::policy_info> gemm_policies() {
  const std::span<const gemms::policy_info> all = gemms::policies();
  std::vector<gemms::policy_info> list(all.begin(), all.end());
  std::stable_partition(list.begin(), list.end(),
                        [](const gemms::policy_info& p) { return p.ladder != nullptr; });
  return list;
}

std::vector<std::string> known_capabilities() {
  std::vector<std::string> known;
  for (const device_limits& device : published_devices()) known.push_back(compute_capability(device));
  return known;
}

struct request {
  std::string capability;  // compute capability; empty: the devices of this machine
  bool measure = false;
  std::string output;
  place_options place;
  common_options common;
};

// Writes a machine profile of the GPU to a file or standard output.
void measure(const request& r) {
  const place at = choose_place(r.place);
  if (at.context.kind() != target::cuda)
    throw not_supported(fmt::format(
        "info --measure measures a GPU, and it would run on the CPU executor ({}): expected a usable GPU",
        at.why));
  say_place(r.common, at);
  std::optional<output_file> out;
  if (!r.output.empty()) out.emplace(r.output);  // before the work: fail early
  const std::string text = to_text(measure_machine(at.context));
  if (!out) return print(text);
  out->write(text);
  out->commit();
}

void run(const common_options& options) {
  const build b = build_info();
  const bool has_gpu_part = b.gpu == gpu_part::present;
  std::string why_no_gpu;
  std::vector<device> devices{{"cpu", simulated_device()}};
  for (const device_limits& limits : cuda_devices(&why_no_gpu))
    devices.push_back({fmt::format("cuda:{}", devices.size() - 1), limits});
  const place chosen = choose_place({});

  if (options.json) {
    json list = json::array();
    for (const device& d : devices) list.push_back(to_json(d));
    print_json(json{{"schema", 1},
                    {"version", b.version},
                    {"commit", built_from()},
                    {"gpu_part", has_gpu_part ? json(b.gpu_compiler) : json(nullptr)},
                    {"devices", list},
                    {"no_gpu_because", why_no_gpu.empty() ? json(nullptr) : json(why_no_gpu)},
                    {"default", to_json(chosen)},
                    {"gemm_policies", names_of(gemm_policies())},
                    {"gemm_f16_steps", names_of(gemms::tensor_core_steps)},
                    {"linear_kernels", linear_kernels(chosen.context, element::bf16)},
                    {"scan_policies", names_of(scans::steps)},
                    {"scan_policies_for_short_lines", names_of(scans::short_line_steps)},
                    {"scan_policies_for_inner_axes", names_of(scans::column_steps)}});
    return;
  }
  std::string text = fmt::format("antiphase {}{}, GPU part: {}\n\nplaces to run (--on)\n", b.version,
                                 built_from().empty() ? "" : fmt::format(" (commit {})", built_from()),
                                 has_gpu_part ? fmt::format("CUDA {}", b.gpu_compiler) : "not in this build");
  for (const device& d : devices) text += to_text(d);
  if (!why_no_gpu.empty()) text += fmt::format("  no GPU:    {}\n", why_no_gpu);
  text += fmt::format("\ndefault: {} ({})\n", chosen.executor, chosen.why);
  text +=
      "\ngemm policies (--policy): the steps of the ladder, each with one idea more than the one before, and "
      "others\n" +
      list_of(gemm_policies());
  text += "\nfurther policies of ladder gemm: f16 operands, added up in FP32\n" +
          list_of(gemms::tensor_core_steps);
  text +=
      "\nlinear layers of bf16 and f16 (antiphase bench linear): kernels for bf16, all of the same bits\n"
      "  " +
      fmt::format("{}\n", fmt::join(linear_kernels(chosen.context, element::bf16), ", "));
  text += "\nscan policies: the steps of the scan ladder\n" + list_of(scans::steps);
  text += "\nfurther scan policies, for many short lines on the CPU executor\n" +
          list_of(scans::short_line_steps);
  text += "\nfurther scan policies, for axes that are not the last\n" + list_of(scans::column_steps);
  print(wrapped(text));
}

}  // namespace

void add_info(arguments program) {
  arguments command =
      program.add_subcommand("info", "Show devices, their limits, and which one is the default");
  const auto r = std::make_shared<request>();
  command
      .add_option("--for", r->capability,
                  "What would run on a GPU of this compute capability, by published limits: " +
                      listed(known_capabilities()))
      .check(not_empty())
      .type_name("CAPABILITY")
      .offers(known_capabilities());
  command.add_flag(
      "--measure", r->measure,
      "Measure a machine profile of the GPU, which advise and model predict from: about a second");
  command
      .add_option("-o,--output", r->output,
                  "Where --measure writes it, a JSON file (default: standard output)")
      .type_name("FILE");
  add_place_options(command, r->place);
  add_common_options(command, r->common);
  command.footer(examples);
  command.runs([r] {
    if (r->measure && !r->capability.empty())
      throw bad_usage("info: --for and --measure: expected one of them");
    if (!r->measure && !r->output.empty()) throw bad_usage("info: --output is for --measure");
    if (!r->measure && !r->place.executor.empty())
      throw bad_usage("info: --on is for --measure: expected none of them, or both");
    if (r->measure) return measure(*r);
    r->capability.empty() ? run(r->common) : tell_device(r->capability, r->common);
  });
}

}  // namespace antiphase::tool
