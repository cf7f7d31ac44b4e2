// The subcommand check: the library's kernels under the checker.
#include "tool/check.hpp"

#include <memory>

namespace antiphase::tool {
namespace {

constexpr const char* examples =
    "Runs kernels thread by thread, without a GPU, under many schedules, and reports every race, missing wait, access outside memory,\n"
    "deadlock and misused barrier, with the lines of the kernel on both sides. Shapes are small and odd; results are verified too.\n"
    "Schedules: --policy random, forward, reversed, starved (one warp waits), priority (few changes at drawn moments); --landing says\n"
    "when asynchronous copies land: early, late or mixed; --resident, how many blocks run at a time. Each may be a list with commas;\n"
    "what is left away alternates. The report gives, for each finding, a command that runs its schedule again.\n"
    "Exit code 5: something was found. How to check a kernel of one's own: docs/checking.md.\n"
    "\n"
    "Examples:\n"
    "  antiphase check                                          every kernel, 20 schedules each\n"
    "  antiphase check gemm --schedules 200                     all steps of the ladder of products\n"
    "  antiphase check gemm/async-2 scan/items --landing late --json\n"
    "  antiphase check gemm/async-2 --seed 7 --policy starved --landing early --resident 3 --schedules 1";

}  // namespace

void add_check(arguments program) {
  arguments command = program.add_subcommand("check", "Search the kernels for races, missing waits and bad accesses; needs no GPU");
  const auto r = std::make_shared<check_request>();
  command.add_option("kernel", r->kernels, "all (default), gemm, scan, or names as --list gives them").type_name("KERNEL");
  struct setting {
    const char* name;
    const char* about;
    const char* type;
  };
  for (const setting& s : {setting{"--schedules", "Runs per kernel (default: 20)", "N"},
                           {"--seed", "Of the first run; the others count on from it (default: 1)", "N"},
                           {"--policy", "Who runs next: all (default), or random, forward, reversed, starved, priority, script", "NAMES"},
                           {"--landing", "When copies land: all (default), or early, late, mixed", "NAMES"},
                           {"--resident", "Blocks that run at a time: all (default: 1 and 3), or numbers", "NUMBERS"},
                           {"--workers", "Runs at a time (default: 0, one per core)", "N"},
                           {"--exhaustive", "Instead of --schedules: every schedule there is, up to N; for tiny kernels", "N"},
                           {"--script", "With --policy script: the decisions, as reports give them", "TEXT"}})
    command
        .add_option(
            s.name, [r, name = s.name](const std::string& value) { r->settings.emplace_back(name, value); }, s.about)
        .type_name(s.type);
  command.add_flag("--list", r->list, "Only list the kernels");
  add_common_options(command, r->common);
  command.footer(examples);
  command.runs([r] { run_check(*r); });
}

}  // namespace antiphase::tool
