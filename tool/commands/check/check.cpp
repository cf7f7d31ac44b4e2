// SPDX-License-Identifier: Apache-2.0
// The subcommand check: runs the library's kernels under the checker.
#include "tool/commands/check/check.hpp"
#include "tool/commands/check/check_filters.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "tool/base/errors.hpp"
#include "tool/files/file_handle.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* examples =
    "Without a GPU all is the same: it never uses one.\n\n"
    "Runs plain CUDA programs, or the library's kernels, thread by thread, without a GPU, under many "
    "schedules, and reports every race, "
    "missing wait, access outside "
    "memory, deadlock and misused barrier, with the lines of the kernel on both sides.\n"
    "A program is compiled with g++, unchanged, and its main runs once per schedule; no CUDA toolkit is "
    "needed. What it prints in the "
    "first run goes to standard error. Of the library's kernels, shapes are small and odd, and results are "
    "verified.\n"
    "A schedule is --order (who runs next: random, forward, reversed, starved: one warp waits, priority: few "
    "changes at drawn "
    "moments), --landing (when asynchronous copies land: early, late or mixed) and --resident (how many "
    "blocks run at a time; of a "
    "kernel with residency::together always all). Each may be a list with commas; what is "
    "omitted alternates. The report gives, "
    "for each finding, a command that runs its schedule again.\n"
    "A pedantic finding breaks a rule that GPUs do not need, as where threads store the same value: it "
    "is "
    "reported, and counts with --strict only.\n"
    "Tools of compute-sanitizer find some of these too: {}.\n"
    "Memory that is never freed is pedantic too; with --leaks it is an error.\n"
    "Exit code 5: an error was found; 4: a run was stopped, so the program is not known to be correct; 3: a "
    "file is "
    "not there, the program does not compile, or uses what --dialect does not list; 2: it launched no "
    "kernel. "
    "docs/check/checking.md has "
    "details.\n"
    "\n"
    "Examples:\n"
    "  antiphase check my.cu -I include -D N=1000 -- input.txt\n"
    "      a program, with options for the compiler and an argument of its own\n"
    "  antiphase check $(NVCCFLAGS) my.cu\n"
    "      in a Makefile: nvcc's options are taken where they matter here, else passed over\n"
    "  antiphase check model.py -D batch_size=2\n"
    "      the CUDA kernels of a Python program, with a smaller constant: torch's load_inline, CuPy, PyCUDA\n"
    "  antiphase check my.cu --trace bug.html\n"
    "      the same, and what the threads of each finding did and when, as a page\n"
    "  antiphase check\n"
    "      every kernel of the library, 20 schedules each\n"
    "  antiphase check gemm --schedules 200\n"
    "      all kernels of products\n"
    "  antiphase check gemm/async-2 scan/items --landing late --json\n"
    "  antiphase check gemm/async-2 --order starved --landing early --schedules 1";

}  // namespace

bool is_source(const std::string& name) {
  for (const char* end : {".cu", ".ptx", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".inl", ".c", ".cpp", ".cc",
                          ".cxx", ".py", ".o", ".a", ".so"})
    if (name.ends_with(end)) return true;
  return false;
}

namespace {

void require_file(const std::string& name, const char* whose) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(name, ignored)) return;
  throw bad_input(
      std::filesystem::is_directory(name, ignored)
          ? fmt::format("'{}'{}{} is a directory: expected a file", name, whose, *whose != 0 ? "," : "")
          : fmt::format("there is no file '{}'{}", name, whose));
}

}  // namespace

plain_program program_of(const program_request& r) {
  plain_program p;
  const auto end = std::find_if_not(r.kernels.begin(), r.kernels.end(), is_source);
  p.sources.assign(r.kernels.begin(), end);
  p.arguments.assign(end, r.kernels.end());
  p.arguments.insert(p.arguments.end(), r.arguments.begin(), r.arguments.end());
  p.compiler_options = r.compiler_options;
  if (r.nvcc) p.nvcc = r.architecture;
  p.driver = r.driver.empty() ? r.launch : r.driver;
  if (!r.driver.empty() && !r.launch.empty())
    throw bad_request("--kernels and --launch both say what is launched: expected one of them");
  if (!r.launch.empty() && !r.launch.ends_with(".json"))
    throw bad_request(fmt::format("--launch '{}': expected a file that ends with .json", r.launch));
  for (const std::string& s : p.sources) require_file(s, "");
  const bool is_python =
      std::ranges::any_of(p.sources, [](const std::string& s) { return s.ends_with(".py"); });
  if (!p.driver.empty() && !is_python)
    require_file(p.driver, r.launch.empty() ? ", which --kernels names" : ", which --launch names");
  if (const char* const object = std::getenv("ANTIPHASE_CHECK_OBJECT")) {  // for capture.py
    p.object = object;
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // and no longer than that runs
  }
  if (!r.blocks.empty()) p.most_accesses = 0;
  if (r.blocks == "all") {
    p.most_threads = 0;
  } else if (!r.blocks.empty()) {
    const auto [stop, failed] =
        std::from_chars(r.blocks.data(), r.blocks.data() + r.blocks.size(), p.most_threads);
    if (failed != std::errc{} || stop != r.blocks.data() + r.blocks.size() || p.most_threads == 0)
      throw bad_request(
          fmt::format("--blocks '{}': expected all, or a number of threads from 1 on", r.blocks));
  }
  return p;
}

void add_compiler_options(arguments command, const std::shared_ptr<program_request>& r, std::string own) {
  struct compiler_option {
    const char *letter, *about, *type;
  };
  for (const auto& [name, about, type] :
       {compiler_option{"-I", "Look for a program's headers there too; these five as often as needed",
                        "FOLDER"},
        {"-D", "Define a macro of a program", "NAME=VALUE"},
        {"-U", "Undefine one", "NAME"},
        {"-L", "Look for libraries of a program there too", "FOLDER"},
        {"-l", "Link a library to a program", "NAME"}}) {
    const std::string letter = name;
    command
        .add_option(
            name, [r, letter](const std::string& value) { r->compiler_options.push_back(letter + value); },
            about)
        .repeated()
        .type_name(type);
  }
  for (const auto& [option, about] :
       {std::pair{"--std", "The program's C++, as nvcc takes it: with c++17, concept and requires are names"},
        {"--pre-include", "A file to include before each source; as often as it is needed"}})
    command
        .add_option(
            option,
            [r, name = std::string(option)](const std::string& value) {
              r->compiler_options.push_back((name == "--std" ? "-std=" : "--pre-include=") + value);
            },
            about)
        .repeated()
        .type_name("...");
  command.takes_rest(r->arguments);
  command.rewrites([r, own = std::move(own)](const std::vector<std::string>& words) {
    return without_nvcc_options(words, r->said, own);
  });
  command.add_flag("--nvcc", r->nvcc,
                   "Compile kernels by the CUDA toolkit's nvcc, with its own headers (CUB, Thrust, "
                   "cooperative groups); the host's code by g++, as without it");
  command.add_option("--arch", r->architecture, "With --nvcc: for this architecture (default: sm_90a)")
      .type_name("sm_NN");
  command
      .add_option("--kernels", r->driver,
                  "A source with a main that launches the kernels of the others, whose own main and host "
                  "functions for Python are left out")
      .type_name("DRIVER");
  command
      .add_option(
          "--launch", r->launch,
          "A description in JSON of one launch, in place of a driver: kernel, grid, block, cluster, shared, "
          "arguments (docs/check/ptx.md)")
      .check(not_empty())
      .type_name("FILE.json");
}

void add_program_options(arguments command, const std::shared_ptr<program_request>& r, const char* of_seconds,
                         std::string own) {
  add_compiler_options(command, r, std::move(own));
  command
      .add_option("--blocks", r->blocks,
                  "Of a program's large launches: all, or how many threads are enough (default: 65536); "
                  "blocks are drawn anew in each run")
      .type_name("all|N");
  command.add_option("--seconds", r->seconds, of_seconds).check(integer_from(1)).type_name("S");
  add_common_options(command, r->common);
}

std::vector<std::string> tools_and_kinds() {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const finding_kind_row& k : finding_kinds) add(k.sanitizer_tool);
  for (const finding_kind_row& k : finding_kinds) add(id(k.kind));
  return names;
}

std::string kinds_by_tool() {
  std::string all;
  for (const std::string& tool : tools_and_kinds()) {
    std::string names;
    for (const finding_kind_row& k : finding_kinds)
      if (k.sanitizer_tool == tool) names += (names.empty() ? "" : ", ") + std::string(k.name);
    if (!names.empty()) all += fmt::format("{}{} for {}", all.empty() ? "" : "; ", tool, names);
  }
  return all;
}

void add_check(arguments program) {
  arguments command = program.add_subcommand("check",
                                             "Find races, missing waits and bad accesses in a CUDA program "
                                             "(.cu, .ptx, .py), or in our kernels; needs no GPU");
  const auto r = std::make_shared<check_request>();
  command
      .add_option("kernel", r->kernels,
                  "A program (.cu files, then its arguments; .ptx; or .py), or kernels of the library: all "
                  "(default), "
                  "gemm, scan, or as --list gives them")
      .type_name("PROGRAM|KERNEL");
  struct setting {
    const char* name;
    const char* about;
    const char* type;
    const char* otherwise = "";
    std::vector<std::string> offered = {};
  };
  for (const setting& s :
       {setting{"--schedules", "Runs per kernel (default: 20)", "N"},
        {"--seed", "Of the first run; the others count on from it (default: 1)", "N"},
        {"--order",
         "Who runs next: all (default), or random, forward, reversed, starved, priority, script",
         "NAMES",
         "--policy",
         {"all", "random", "forward", "reversed", "starved", "priority", "script"}},
        {"--landing",
         "When copies land: all (default), or early, late, mixed",
         "NAMES",
         "",
         {"all", "early", "late", "mixed"}},
        {"--resident", "Blocks that run at a time: all (default: 1 and 3), or numbers", "NUMBERS"},
        {"--workers", "Runs at a time (default: 0, one per core)", "N"},
        {"--exhaustive", "Instead of --schedules: every schedule there is, up to N; for tiny kernels", "N"},
        {"--script", "With --order script: the decisions, as reports give them", "TEXT"},
        {"--without",
         "Leave a kind of wait out of the kernels, to see what it is for: data, slot (that a ring's slot is "
         "free) or barrier",
         "WAIT",
         "",
         {"none", "data", "slot", "barrier"}}})
    command
        .add_option(
            s.name, [r, name = s.name](const std::string& value) { r->settings.emplace_back(name, value); },
            s.about)
        .type_name(s.type)
        .offers(s.offered)
        .otherwise(s.otherwise);
  add_program_options(command, r,
                      "A program's run that takes longer is stopped and not checked; after two of them the "
                      "rest is not tried (default: 20)");
  command
      .add_option("--trace", r->trace,
                  "Draw the schedules that show what was found: .html is a page to zoom into, .svg a "
                  "picture, .json in the Trace Event Format")
      .check(not_empty())
      .type_name("FILE");
  command
      .add_option("--sarif", r->sarif,
                  "Write what was found in a program as SARIF, for editors and code hosts")
      .type_name("FILE");
  command.add_flag("--lines", r->lines,
                   "Report what was found in a program as compilers do: file:line:column: error: ...");
  command
      .add_option(
          "--tool", r->tool,
          "Only what this tool of compute-sanitizer is for: memcheck, racecheck, initcheck, synccheck; "
          "or kinds of findings, such as deadlock")
      .check(not_empty())
      .type_name("NAMES")
      .offers(tools_and_kinds());
  command
      .add_option(
          "--suppress", r->suppress,
          "Leave out what this file names, a line each: kind, place (a.cu, a.cu:12 or kernel:NAME), reason")
      .check(not_empty())
      .type_name("FILE");
  command.add_option("--baseline", r->baseline, "Leave out what was known when this file was written")
      .check(not_empty())
      .type_name("FILE");
  command.add_option("--write-baseline", r->write_baseline, "Write what is found, as known from now on")
      .check(not_empty())
      .type_name("FILE");
  command.add_flag(
      "--fix", r->fix,
      "Find one added barrier, wait or fence, or another count, that removes what was found in a "
      "program; within --seconds, shown as a diff");
  command.add_flag(
      "--needless", r->needless,
      "Find barriers, waits and fences that a program without findings does not need, each alone");
  command.add_flag("--leaks", r->leaks, "Count memory that is never freed as an error, not as pedantic");
  command.add_flag("--strict", r->strict, "Count pedantic findings too: exit code 5");
  command.add_flag("--dialect", r->dialect, "Only list what plain CUDA may use here");
  command.add_flag("--list", r->list, "Only list the kernels");
  command.footer(fmt::format(examples, kinds_by_tool()).c_str());
  command.runs([r] {
    if (r->dialect) return show_dialect(*r);
    if (!r->kernels.empty() && is_source(r->kernels.front())) {
      if (r->list) throw bad_request("--list lists the library's kernels: expected no source with it");
      return run_check_plain(*r);
    }
    if (!r->sarif.empty() || !r->driver.empty() || !r->launch.empty() || r->lines || r->fix || r->needless ||
        !r->blocks.empty() || !r->compiler_options.empty())
      throw bad_request(
          "--sarif, --lines, --fix, --needless, --kernels, --launch, --blocks and options of the compiler "
          "are for "
          "programs in plain CUDA: "
          "expected a .cu file before "
          "them");
    if (!r->arguments.empty())
      throw bad_request(fmt::format(
          "the words after --, from {} on, are arguments of a program: expected its .cu file before",
          tool::quoted(r->arguments.front())));
    run_check(*r);
  });
}

}  // namespace antiphase::tool
