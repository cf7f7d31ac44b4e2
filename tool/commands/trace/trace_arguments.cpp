// SPDX-License-Identifier: Apache-2.0
// Arguments of the subcommand trace.
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>

#include "tool/commands/trace/trace.hpp"
#include "tool/program/command.hpp"
#include "tool/program/place.hpp"
#include "tool/program/profiles.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* examples =
    "Without a GPU it runs the CPU executor and models the times, in ticks: those of an H200, or --as.\n\n"
    "Runs a product of random matrices, a scan of a random array, or attention on random operands, with a "
    "recording twin of the kernel and "
    "writes what one block did and "
    "when: loads in "
    "flight, waits, computation. On the CPU executor the clock is that of a model of a GPU "
    "(docs/learn/timelines.md): "
    "times are not measured, and the same in every run.\n"
    "The output's name says the format: .html is a page to zoom into, with what the figures say; .svg a "
    "picture; .json what was recorded, which --read draws again; --format for other names.\n"
    "\n"
    "Of a program in plain CUDA it draws a block of each kernel of its run, timed by the same model: buffers "
    "are "
    "parts of shared memory that are filled and read alternately; where there are none, loads to registers.\n"
    "\n"
    "Examples:\n"
    "  antiphase trace my.cu -I include --output my.html -- input.txt\n"
    "      a program in plain CUDA, compiled with g++ and run once, without a GPU; --as A100 for another\n"
    "  antiphase trace gemm --compare stages=1,2,3,4 --output overlap.html\n"
    "      the asynchronous kernel with one to four buffers, side by side\n"
    "  antiphase trace gemm --policy fp16 --m 4096 --n 4096 --k 4096 --record 64 --output split.html\n"
    "  antiphase trace gemm --compare policy=fp16,tf32 --m 512 --n 256 --output three.html\n"
    "  antiphase trace scan --compare stages=1,2,3,8 --size 1572864 --data memory -o scan.html\n"
    "  antiphase trace gemm --policy async-2 --without-waits --output why.html\n"
    "      with a switch that takes its waits away, and what then goes wrong\n"
    "  antiphase trace attention --compare policy=double-buffered,antiphase --output attention.html\n"
    "      two buffers; then two warpgroups that take turns at the Tensor Cores\n"
    "  antiphase trace scan --policy one-wave --block 7 --output wave.html\n"
    "  antiphase trace gemm --policy fp16 --m 4096 --n 4096 --k 4096 --overhead 50 --output split.json\n"
    "      the same, and how much longer the kernel takes because it is recorded\n"
    "  antiphase trace gemm --compare stages=1,2,3 --as A100 --on cpu --output ampere.html\n"
    "      modelled for another GPU\n"
    "  antiphase trace gemm --policy double-buffered --output trace.json\n"
    "  antiphase trace gemm --policy warp-tile --block 5 -o - --format svg > t.svg";

}  // namespace

void add_trace(arguments program) {
  arguments command =
      program.add_subcommand("trace", "Record when a running kernel loads and when it computes");
  const auto r = std::make_shared<trace_request>();
  command
      .add_option(
          "KERNEL", r->program.kernels,
          "What to record: gemm (default), scan, attention, or a program (.cu files, then its arguments)")
      .type_name("gemm|scan|attention|PROGRAM")
      .offers(trace_families());

  constexpr long long most = 1 << 16;
  const std::tuple<const char*, std::optional<std::int64_t>*, const char*> extents[] = {
      {"--m", &r->m, "Rows of the product, or queries of attention, 1 to 65536 (default: 128)"},
      {"--n", &r->n, "Columns of the product (default: 128), or keys (1024)"},
      {"--k", &r->k, "Columns of A (default: 512), or numbers in a row of Q, 33 to 128 (64)"}};
  for (const auto& [option, value, what] : extents)
    command.add_option(option, *value, what).check(integer_between(1, most)).type_name("N");
  command.add_option("--size", r->size, "Elements of the array that is scanned, 1 to 2^30")
      .shows_default()
      .check(integer_between(1, 1 << 30))
      .type_name("N");
  command
      .add_option("--rows", r->rows,
                  "Rows of equal length that the array consists of, each scanned by itself")
      .shows_default()
      .check(integer_between(1, 1 << 30))
      .type_name("N");
  command.add_option("--by-key", r->segment, "Sums by 32-bit keys, of which each stands for so many elements")
      .check(integer_between(1, 1 << 30))
      .type_name("N");
  command
      .add_option("--policy", r->policies,
                  "Kernels, separated by commas: steps of the GEMM ladder, tensor-core-tma, fp16, tf32 or "
                  "fp64 among them; or "
                  "single-pass, single-pass-async, one-wave; or tiled, double-buffered, roles, antiphase of "
                  "attention")
      .several()
      .type_name("NAMES")
      .offers(recorded_policies())
      .otherwise("--step")
      .otherwise("--steps");
  command
      .add_option(
          "--stages", r->stages,
          "The asynchronous kernel with so many buffers, 1 to 4, separated by commas (default: 1,2,3)")
      .several()
      .check(integer_between(1, 4))
      .type_name("NUMBERS");
  command
      .add_option("--compare", r->compare,
                  "Side by side: stages=1,2,3 of --policy async (1 to 4), tensor-core (2 to 4) or "
                  "single-pass (1 to 3, 8), kernels that "
                  "differ in their buffers alone; or policy=NAME,NAME, any that can be recorded")
      .check(not_empty())
      .type_name("WHAT=LIST");
  command
      .add_option("--read", r->files,
                  "Draw timelines that your own programs or trace --json recorded (docs/learn/timelines.md) "
                  "instead, separated "
                  "by commas; h200: steps of the ladder on an H200")
      .several()
      .check(not_empty())
      .type_name("FILES");
  command.add_option("--block", r->block, "Which block of the grid")
      .shows_default()
      .check(integer_between(0, std::numeric_limits<unsigned>::max()))
      .type_name("N");
  command
      .add_option("--record", r->recorded, "Room for so many steps along K, or tiles of a scan, 1 to 65536")
      .shows_default()
      .check(integer_between(1, most))
      .type_name("N");
  command
      .add_option(
          "--overhead", r->cost_runs,
          "Also measure what recording costs: run kernel and twin so often each, alternately, and print "
          "both times (medians)")
      .check(integer_between(1, 10000))
      .type_name("RUNS");
  command.add_flag("--without-waits", r->without_waits,
                   "On the page, a switch that takes away the kernel's waits for data, its waits for a free "
                   "slot or its barriers: then a schedule plays that breaks it, as the checker finds it");
  command
      .add_option(
          "--as", r->profile,
          fmt::format("Machine whose times are modelled, on the CPU executor: {}, or a file that info "
                      "--measure wrote (default: NVIDIA H200)",
                      profile_names()))
      .check(not_empty())
      .type_name("NAME");
  command
      .add_option(
          "--blocks", r->blocks,
          "Blocks that share a multiprocessor of it: auto, as many as the launch puts there, or a number")
      .shows_default()
      .check(not_empty())
      .type_name("auto|N");
  command
      .add_option("--data", r->data,
                  "What is loaded comes from its L2 cache or its memory: cache, memory (default: by size)")
      .check(not_empty())
      .type_name("WHERE")
      .offers({"cache", "memory"});
  command.add_option("-o,--output", r->output, "Where to draw the timeline (default: only its figures)")
      .check(not_empty())
      .type_name("FILE");
  command
      .add_option("--format", r->format,
                  "html, svg or json (which --read draws again), where the output's name does not say")
      .check(not_empty())
      .type_name("FORMAT")
      .offers({"html", "svg", "json"});
  add_compiler_options(command, {r, &r->program}, " o ");
  command
      .add_option("--seconds", r->program.seconds,
                  "A program's run that takes longer is stopped, and not drawn (default: 60)")
      .check(integer_from(1))
      .type_name("S");
  add_place_options(command, r->place);
  add_common_options(command, r->common);
  command.footer(examples);
  command.runs([r] {
    if (!r->program.kernels.empty()) r->kernel = r->program.kernels.front();
    run_trace(*r);
  });
}

}  // namespace antiphase::tool
