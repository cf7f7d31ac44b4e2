// SPDX-License-Identifier: Apache-2.0
// The subcommand count: what the lines of kernels ask memory for.
#include <antiphase/core/error.hpp>
#include <memory>

#include "tool/commands/check/check.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* examples =
    "Without a GPU all is the same: it never uses one.\n\n"
    "Runs a plain CUDA program as antiphase check does, once, and counts what each line of its kernels asks "
    "memory for, from the addresses. A request is one instruction of a warp; lanes are those that take part. "
    "A request to shared memory takes wavefronts, of 32 banks of 4 bytes: more than the ideal are bank "
    "conflicts. A request to global memory moves sectors of 32 bytes: more than the ideal means that it is "
    "not coalesced. Lines are counted as g++ -O1 compiles them, without what stays in registers; a cache is "
    "not modelled, so sectors may come from it.\n"
    "Of large launches some blocks run (--blocks), and these are counted.\n"
    "docs/check/plain_cuda.md tells more.\n"
    "\n"
    "Examples:\n"
    "  antiphase count transpose.cu\n"
    "  antiphase count transpose.cu --output transpose.svg\n"
    "  antiphase count my.cu -I include -D N=1000 --blocks all --json -- input.txt\n"
    "  antiphase count gemm/padded\n"
    "      a kernel of the library, on the shapes that antiphase check runs";

}  // namespace

void add_count(arguments program) {
  arguments command = program.add_subcommand(
      "count", "Bank conflicts, coalescing and bytes of each line of CUDA kernels (.cu); needs no GPU");
  const auto r = std::make_shared<program_request>();
  command
      .add_option(
          "kernel", r->kernels,
          "A program (.cu files, then its arguments), or kernels of the library as check --list gives "
          "them")
      .required()
      .type_name("PROGRAM|KERNEL");
  command
      .add_option("-o,--output", r->picture, "Draw the requests of all lines (SVG) instead of printing them")
      .type_name("FILE")
      .otherwise("--out");
  add_program_options(command, r,
                      "A program's run that takes longer is stopped, and not counted (default: 60)", " o ");
  command.footer(examples);
  command.runs([r] { run_count(*r); });
}

}  // namespace antiphase::tool
