// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/report/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tool/base/shell.hpp"

namespace antiphase::tool {
namespace {

// Fields of a CSV line: in double quotes, with quotes inside doubled.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[i++];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      fields.emplace_back();
    else if (line[i] != '\r')
      fields.back() += line[i];
  }
  return fields;
}

}  // namespace

std::string profiling_recipe(std::string_view program) {
  return fmt::format(
      "ncu --kernel-name regex:run_kernel --launch-count 1 --metrics \\\n"
      "gpu__time_duration.sum,sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active,\\\n"
      "smsp__issue_active.avg.pct_of_peak_sustained_active,\\\n"
      "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio,\\\n"
      "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio,\\\n"
      "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed,\\\n"
      "dram__throughput.avg.pct_of_peak_sustained_elapsed \\\n"
      "{} ladder gemm --on cuda --size 4096 --policy async-3",
      program);
}

profile read_profile(std::string_view printed) {
  profile p;
  std::vector<std::string> head;
  std::string launch;
  while (!printed.empty()) {
    const std::string_view line = printed.substr(0, printed.find('\n'));
    printed.remove_prefix(std::min(printed.size(), line.size() + 1));
    constexpr std::string_view error = "==ERROR== ";
    if (line.starts_with(error) && p.why_not.empty()) p.why_not = line.substr(error.size());
    if (!line.starts_with('"')) continue;
    const std::vector<std::string> fields = fields_of(line);
    if (head.empty()) {
      head = fields;
      continue;
    }
    const auto field = [&](std::string_view name) {
      const auto at = static_cast<std::size_t>(std::ranges::find(head, name) - head.begin());
      return at < fields.size() ? fields[at] : std::string();
    };
    if (launch.empty()) launch = field("ID");
    if (field("ID") == launch && !field("Metric Name").empty())
      p.figures.push_back({field("Metric Name"), field("Metric Unit"), field("Metric Value")});
  }
  if (!p.figures.empty())
    p.why_not.clear();
  else if (p.why_not.empty())
    p.why_not = "ncu printed no table of metrics";
  return p;
}

profile take_profile(const std::string& program, int seconds) {
  if (std::system("command -v ncu > /dev/null 2>&1") != 0) return {};
  std::string recipe = profiling_recipe(quoted_for_shell(program));
  recipe.insert(recipe.find(" --kernel-name"), " --csv");
  const std::string text = output_of_shell(fmt::format("timeout {} {} --quiet 2>&1", seconds, recipe)).text;
  return read_profile(text);
}

}  // namespace antiphase::tool
