// SPDX-License-Identifier: Apache-2.0
// The program `antiphase`: reads the arguments, runs one subcommand, turns errors into exit codes.
#include <fmt/format.h>

#include <antiphase/version.hpp>

#include "tool/files/interrupt.hpp"
#include "tool/measure/provenance.hpp"
#include "tool/program/command.hpp"
#include "tool/program/text/console.hpp"

namespace {

using namespace antiphase;

constexpr const char* about =
    "Double-buffered matrix products, attention and scans: the same kernels on a GPU, or thread by thread on "
    "a "
    "simulated one where there is none; and a checker that finds races in CUDA kernels without a GPU.";

constexpr const char* examples =
    "Results go to standard output or the --output file, messages to standard error. An output file appears "
    "complete or not at "
    "all.\n"
    "\n"
    "Examples:\n"
    "  antiphase demo                               everything, on real data\n"
    "  antiphase info                               what can run here\n"
    "  antiphase gemm A.npy B.npy --output C.npy    C = A * B in FP32\n"
    "  antiphase scan X.npy -o Y.npy --axis 0       prefix sums down the columns\n"
    "  antiphase ladder gemm --size 1024            every step, to the fastest\n"
    "  antiphase bench gemm --size 1024,4096        speed and accuracy compared with cuBLAS\n"
    "  antiphase trace --stages 1,2,3 -o t.svg      loads and computation overlapping\n"
    "  antiphase check my.cu                        races, missing waits; needs no GPU\n"
    "  antiphase new my_kernel                      a folder for your own kernel, with all it needs\n"
    "  antiphase count my.cu                        bank conflicts, coalescing by line; needs no GPU\n"
    "  antiphase tune -o tuning.json                better choices on this GPU\n"
    "  antiphase run python3 train.py               a program's cuBLAS products, faster\n"
    "  antiphase help bench gemm                    help for a command\n"
    "\n"
    "Exit codes\n"
    "  0    fine\n"
    "  1    failed while running\n"
    "  2    wrong usage\n"
    "  3    bad input file, or one that does not exist\n"
    "  4    no suitable device\n"
    "  5    verification failed, or something found by check\n"
    "  126  the program of run cannot be executed\n"
    "  127  the program of run does not exist\n"
    "  129  the terminal was closed (SIGHUP)\n"
    "  130  interrupted (SIGINT, Ctrl-C)\n"
    "  143  terminated (SIGTERM). In all three cases, bench, ladder and check print what they have "
    "measured so far; in JSON "
    "it says \"partial\": true";

std::string version() {
  const std::string_view commit = tool::built_from();
  return fmt::format("antiphase {}{}\n", build_info().version,
                     commit.empty() ? "" : fmt::format(" ({})", commit));
}

void run(int argc, char** argv) {
  tool::program program{about, examples, version};
  tool::add_commands(program.commands());
  program.run(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  tool::install_signal_handlers();
  return tool::exit_code_of([&] { run(argc, argv); });
}
