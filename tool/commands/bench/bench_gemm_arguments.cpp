// SPDX-License-Identifier: Apache-2.0
// Arguments of the subcommand bench gemm.
#include <antiphase/core/names.hpp>
#include <memory>

#include "tool/commands/bench/bench_gemm.hpp"
#include "tool/measure/products/distributions.hpp"
#include "tool/program/text/names.hpp"

namespace antiphase::tool {
namespace {

constexpr const char* explanation =
    "Without a GPU products are verified on the CPU executor, not timed; what takes long is announced. "
    "Lists (--suite, --random and others) of more than 10^10 multiply-adds need one.\n\n"
    "All shapes x layouts x data, each with every precision; who is timed for one product is timed in one "
    "go, in random order.\n"
    "\n"
    "Columns\n"
    "  time, TFLOP/s  median (--protocol) of all launches of a call, those that prepare included, with the "
    "workspace handed in; "
    "allocating: the same with memory allocated in the order of the stream; "
    "host: what a call takes of the host's time, until its work has been queued\n"
    "  cuBLAS         how many times as fast as cuBLAS in FP32 (pedantic math); roofline: share of what the "
    "device can do, see below\n"
    "  norm           error relative to FP64 in the Frobenius norm, over a sample: a row and a column of "
    "each 128, at least 64 of "
    "either\n"
    "  component      the largest error of an output in units of u |A||B|, u = 2^-24; allowed: what the "
    "kernel guarantees, see "
    "antiphase gemm --explain; not counted is what denormal results may be off by besides\n"
    "  bias           the mean error in these units; negative: results are too small\n"
    "  recomputed     outputs that no certificate covered, so that they were computed again in FP64\n"
    "  verified       no error is above what is allowed, and all of C is finite\n"
    "Roofline of an H200: strict 65.3 TFLOP/s of FFMA; fp32 273, a third of the 818 that FP16 Tensor Cores "
    "sustain on random data.\n"
    "\n"
    "Examples:\n"
    "  antiphase bench gemm\n"
    "      a size that suits the place: 4096 on a GPU, 256 on the CPU\n"
    "  antiphase bench gemm --size 1024,4096 --layout nn,nt,tn,tt\n"
    "  antiphase bench gemm --m 4096,4095 --n 256,4097 --k 7168,1003\n"
    "  antiphase bench gemm --data all --precision fp32 --json\n"
    "\n"
    "Lists\n"
    "  --random, --suite, --map and --serving measure many products, each in half a second or less, in "
    "precision fp32 on normal data: "
    "graphs of many "
    "runs "
    "that take turns, ours, cublasSgemm in its default math and the first algorithm of cublasLt's "
    "heuristics, of which the faster counts. "
    "The "
    "roofline is the largest of the bytes at 4.2 TB/s, the operations at 273 TFLOP/s, and 2.2 us for a "
    "launch. "
    "Of each result a sample is "
    "compared "
    "with FP64.\n"
    "  antiphase bench gemm --random 1 200              extents log-uniform in 1...16384, 30 % of them odd, "
    "all layouts\n"
    "  antiphase bench gemm --random 1 50 --largest 512\n"
    "  antiphase bench gemm --suite                     48 shapes of models, factorisations, graphs, ..., "
    "batches among them\n"
    "  antiphase bench gemm --suite mine.json --policy fp16\n"
    "  antiphase bench gemm --map 256 --json            for a map of M x N\n"
    "  antiphase bench gemm --serving                   1 to 512 tokens; also with reproducible = "
    "batch_invariant, and what that costs";

}  // namespace

void add_bench_gemm(arguments bench) {
  arguments command =
      bench.add_subcommand("gemm", "Matrix products: time, accuracy, and cuBLAS next to them");
  const auto r = std::make_shared<bench_gemm_request>();
  const auto many = [&](const char* option, auto& values, const char* text) {
    return command.add_option(option, values, text).several().type_name("NAMES");
  };
  many("--size", r->sizes, "M, N and K at once; several, separated by commas")
      .check(integer_from(0))
      .type_name("NUMBERS");
  many("--m", r->m, "Rows of A and C; with --n and --k as often as there are products")
      .check(integer_from(0))
      .type_name("NUMBERS");
  many("--n", r->n, "Columns of B and C").check(integer_from(0)).type_name("NUMBERS");
  many("--k", r->k, "Columns of A, rows of B").check(integer_from(0)).type_name("NUMBERS");
  many("--layout", r->layouts, "Some of nn (default), nt, tn, tt: A and B row-major, n, or transposed, t")
      .offers({"nn", "nt", "tn", "tt"});
  many("--data", r->data,
       "What A and B are made of: all, or some by name (default normal; a wrong name lists them)")
      .offers(names_of(distributions()));
  many("--precision", r->precisions, "fp32, strict or both (default)").offers({"fp32", "strict", "both"});
  command
      .add_option("--policy", r->policy,
                  "Who computes products of precision fp32 (default auto: the fastest, by prediction)")
      .type_name("NAME")
      .offers(policies_of_gemm());
  add_list_options(command, r->list);
  command.add_option("--against", r->against, "cublas (default) or none")
      .type_name("NAME")
      .offers({"cublas", "none"});
  add_bench_options(command, *r);
  command.footer(explanation);
  command.runs([r] { run_bench_gemm(*r); });
}

}  // namespace antiphase::tool
