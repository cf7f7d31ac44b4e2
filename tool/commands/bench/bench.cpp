// SPDX-License-Identifier: Apache-2.0
// The subcommand bench: times of the public calls, next to those of alternative libraries.
#include "tool/commands/bench/bench.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* examples =
    "Without a GPU products and scans are verified on the CPU executor, not timed; what takes long is "
    "announced.\n\n"
    "Every result is verified, and a wrong one gives exit code 5. On the CPU executor, which simulates a "
    "GPU, nothing is timed.\n"
    "\n"
    "Examples:\n"
    "  antiphase bench gemm --size 1024,4096\n"
    "  antiphase bench scan --size 65536,268435456 --type f4,i1\n"
    "  antiphase bench linear --invariant           do other rows change a row's bits?\n"
    "  antiphase bench overlap                      what buffers gain, by how much is computed\n"
    "  antiphase bench gemm --help                  what is measured";

}  // namespace

void add_bench(arguments program) {
  arguments command = program.add_subcommand(
      "bench", "Measure speed and accuracy of the public calls compared with cuBLAS, CUB and a copy");
  command.require_subcommand();
  command.footer(examples);
  add_bench_gemm(command);
  add_bench_scan(command);
  add_bench_linear(command);
  add_bench_overlap(command);
}

void add_bench_options(arguments command, bench_options& options) {
  command.add_option("--repeats", options.repeats, "Samples of each time (default 9)")
      .check(integer_between(1, 1000))
      .type_name("N");
  add_measuring_options(command, options);
}

}  // namespace antiphase::tool
