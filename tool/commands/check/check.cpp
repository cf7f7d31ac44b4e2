// SPDX-License-Identifier: Apache-2.0
// The subcommand check: the library's kernels under the checker.
#include "tool/commands/check/check.hpp"

#include <memory>

namespace antiphase::tool {
namespace {

constexpr const char* examples =
    "Runs kernels thread by thread, without a GPU, under many schedules, and reports every race, missing wait, access outside "
    "memory, deadlock and misused barrier, with the lines of the kernel on both sides. Shapes are small and odd; results are "
    "verified too.\n"
    "A schedule is --order (who runs next: random, forward, reversed, starved: one warp waits, priority: few changes at drawn "
    "moments), --landing (when asynchronous copies land: early, late or mixed) and --resident (how many blocks run at a time; of a "
    "kernel with residency::together always all). Each may be a list with commas; what is left away alternates. The report gives, "
    "for each finding, a command that runs its schedule again.\n"
    "Exit code 5: something was found. How to check a kernel of one's own: docs/checking.md.\n"
    "\n"
    "Examples:\n"
    "  antiphase check\n"
    "      every kernel of the library, 20 schedules each\n"
    "  antiphase check gemm --schedules 200\n"
    "      all kernels of products\n"
    "  antiphase check gemm/async-2 scan/items --landing late --json\n"
    "  antiphase check gemm/async-2 --order starved --landing early --schedules 1";

}  // namespace

void add_check(arguments program) {
  arguments command = program.add_subcommand("check", "Search the kernels for races, missing waits and bad accesses; needs no GPU");
  const auto r = std::make_shared<check_request>();
  command.add_option("kernel", r->kernels, "all (default), gemm, scan, or names as --list gives them").type_name("KERNEL");
  struct setting {
    const char* name;
    const char* about;
    const char* type;
    const char* otherwise = "";
  };
  for (const setting& s :
       {setting{"--schedules", "Runs per kernel (default: 20)", "N"},
        {"--seed", "Of the first run; the others count on from it (default: 1)", "N"},
        {"--order", "Who runs next: all (default), or random, forward, reversed, starved, priority, script", "NAMES", "--policy"},
        {"--landing", "When copies land: all (default), or early, late, mixed", "NAMES"},
        {"--resident", "Blocks that run at a time: all (default: 1 and 3), or numbers", "NUMBERS"},
        {"--workers", "Runs at a time (default: 0, one per core)", "N"},
        {"--exhaustive", "Instead of --schedules: every schedule there is, up to N; for tiny kernels", "N"},
        {"--script", "With --order script: the decisions, as reports give them", "TEXT"}})
    command
        .add_option(
            s.name, [r, name = s.name](const std::string& value) { r->settings.emplace_back(name, value); }, s.about)
        .type_name(s.type)
        .otherwise(s.otherwise);
  command.add_flag("--list", r->list, "Only list the kernels");
  add_common_options(command, r->common);
  command.footer(examples);
  command.runs([r] { run_check(*r); });
}

}  // namespace antiphase::tool
