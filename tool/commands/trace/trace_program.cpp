// SPDX-License-Identifier: Apache-2.0
// The subcommand trace on programs in plain CUDA: their kernels as they run on a modelled machine.
#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <memory>

#include "tool/base/errors.hpp"
#include "tool/commands/trace/trace.hpp"
#include "tool/commands/trace/trace_results.hpp"
#include "tool/files/file_names.hpp"
#include "tool/measure/machine.hpp"
#include "tool/measure/provenance.hpp"
#include "tool/pictures/origin.hpp"
#include "tool/program/profiles.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {
namespace {

void require_fitting(const trace_request& r) {
  if (!r.policies.empty() || !r.stages.empty() || !r.compare.empty() || r.cost_runs > 0 || r.segment != 0 ||
      r.rows != 1 || r.without_waits)
    throw bad_request(
        "--policy, --stages, --compare, --overhead, --without-waits, --by-key and --rows are of trace gemm "
        "and trace scan: expected none of them next to a program");
  if (!r.place.executor.empty() && r.place.executor != "cpu")
    throw bad_request(fmt::format(
        "--on {}: a program is timed by a model, on the CPU: expected --on cpu; what records it on a GPU is "
        "antiphase/record.h (docs/learn/timelines.md)",
        r.place.executor));
}

json to_json(const timed_kernel& k, json drawn) {
  drawn["grid"] = {k.grid.x, k.grid.y, k.grid.z};
  drawn["threads"] = k.threads;
  drawn["shared_bytes"] = k.shared_bytes;
  drawn["resident"] = k.resident;
  drawn["buffers"] = k.slot_bytes == 0 ? json()
                                       : json{{"count", k.drawn.stages},
                                              {"bytes", k.slot_bytes},
                                              {"form", k.by_roles ? "roles" : "pipeline"},
                                              {"filled", k.of_results     ? "results"
                                                         : k.bulk         ? "bulk copies"
                                                         : k.asynchronous ? "asynchronous copies"
                                                                          : "registers"}};
  drawn["ticks"] = {{"step", k.step_ticks}, {"compute", k.compute_ticks}, {"load", k.load_ticks}};
  drawn["notes"] = k.drawn.notes;
  return drawn;
}

}  // namespace

void trace_program(const trace_request& r, trace_options options) {
  require_fitting(r);
  for (const std::string& source : r.program.kernels)
    if (is_source(source) && !r.output.empty()) refuse_same_file(r.output, source);
  requested_picture picture(r);
  options.profile =
      std::make_shared<const machine_profile>(named_profile(r.profile.empty() ? "H200" : r.profile));
  program_request program = r.program;
  program.common = r.common;
  const std::vector<timed_kernel> kernels = timed_program(program, options);
  std::vector<timeline> timelines;
  std::vector<const timed_kernel*> with_steps;
  for (const timed_kernel& k : kernels) {
    if (r.block >= k.grid.count())
      say(r.common, fmt::format("{}: its launch has {} blocks, so block {} is drawn", k.drawn.policy,
                                k.grid.count(), k.drawn.block));
    if (k.drawn.recorded > 0)
      timelines.push_back(k.drawn), with_steps.push_back(&k);
    else
      say(r.common,
          fmt::format("{}: not drawn: it neither fills buffers that it reads, nor uses what it loads "
                      "from global memory",
                      k.drawn.policy));
  }
  if (timelines.empty())
    throw bad_input(
        fmt::format("{} has nothing to draw: expected a kernel that loads from global memory, or fills "
                    "shared memory that "
                    "it reads",
                    r.kernel));
  picture.draw(timelines);
  trace_results results = results_of(r.common, "kernel", timelines);
  results.forecast = "antiphase advise predicts it.";
  if (r.common.json) {
    json list = json::array();
    for (std::size_t i = 0; i < timelines.size(); ++i)
      list.push_back(to_json(*with_steps[i], std::move(results.list[i])));
    print_json({{"schema", schema_of_traces},
                {"command", "trace"},
                {"commit", built_from()},
                {"program", r.kernel},
                {"timelines", list},
                {"output", output_of(r)}});
  }
  say_results(r, results, timelines);
}

}  // namespace antiphase::tool
